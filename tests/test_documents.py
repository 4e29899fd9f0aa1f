"""The documents are kept true: their Python runs, their commands run, and both print what stands under them."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PYTHON = re.compile(r"```python\n(.*?)```\n(?:\s*```text\n(.*?)```)?", re.DOTALL)
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
TIMING = re.compile(r"\(\d+\.\d s\)")
BLOCKS = [
    pytest.param(code, shown, id=f"{name}-{number}")
    for name in ("README.md", "CONTRIBUTING.md")
    for number, (code, shown) in enumerate(PYTHON.findall((ROOT / name).read_text(encoding="utf-8")))
]


def environment():
    """What a command finds: the ltr of these tests first on the path, nothing to do with a terminal."""
    scripts = Path(sys.executable).parent
    return {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
        "PYTHONPATH": str(ROOT),
    }


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A place with our configs and data, and the runs that the README's first command makes."""
    place = tmp_path_factory.mktemp("checkout")
    for name in ("configs", "data"):
        shutil.copytree(ROOT / name, place / name)
    run = [sys.executable, "-m", "ltr", "run", "configs/tools.yaml", "configs/graphs.yaml", "-q"]
    subprocess.run(run, cwd=place, env=environment(), check=True, capture_output=True)
    return place


@pytest.mark.parametrize("code, shown", BLOCKS)
def test_a_python_block_runs_and_prints_what_is_shown(code, shown, checkout):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=checkout, env=environment(), check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == shown


def commands():
    """Each command of the README's console blocks with the output that stands under it."""
    for block in CONSOLE.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = entry.partition("\n")
            yield command, shown


def test_the_commands_print_what_is_shown(checkout, tmp_path):
    place = tmp_path / "readme"
    shutil.copytree(checkout, place)
    shutil.rmtree(place / "runs")
    for command, shown in commands():
        done = subprocess.run(
            ["bash", "-c", command], capture_output=True, text=True, cwd=place, env=environment(), check=False
        )
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert TIMING.sub("(0.0 s)", done.stdout) == TIMING.sub("(0.0 s)", shown), command


def test_there_are_blocks_to_run():
    assert len(BLOCKS) >= 2
    assert len(list(commands())) >= 4
