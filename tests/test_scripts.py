"""The scripts a contributor meets first."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """scripts/environment.py for a checkout of its own, whose installing only notes what it was asked."""
    spec = importlib.util.spec_from_file_location("environment", SCRIPTS / "environment.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in ("pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_text("")
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(sys.executable)
    for name, value in {"ROOT": tmp_path, "STAMP": tmp_path / ".venv" / "stamp", "PYTHON": python}.items():
        monkeypatch.setattr(module, name, value)
    module.installs = []
    monkeypatch.setattr(module, "make", lambda: None)
    monkeypatch.setattr(module, "install", module.installs.append)
    return module


def test_an_environment_that_fits_is_used_as_it_is(environment):
    environment.ready("test")
    environment.ready("test")
    assert environment.installs == [["test"]]


@pytest.mark.parametrize("text", ["rubbish", "[]", "null", '{"extras": 3}', '{"sources": "x", "extras": 3}'])
def test_a_note_that_cannot_be_read_is_written_again(environment, text):
    environment.STAMP.write_text(text)
    environment.ready("test")
    assert environment.installs == [["test"]]
    assert json.loads(environment.STAMP.read_text())["extras"] == ["test"]


def test_an_environment_without_its_python_is_made_again(environment):
    environment.ready("test")
    environment.PYTHON.unlink()
    environment.ready("test")
    assert environment.installs == [["test"], ["test"]]


def test_a_copied_checkout_is_installed_for_itself(environment, tmp_path):
    before = environment.digest()
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in ("pyproject.toml", "constraints.txt"):
        (copy / name).write_text("")
    environment.ROOT = copy
    assert environment.digest() != before


@pytest.mark.parametrize(
    "arguments, code, said",
    [
        (["--help"], 0, "--groups"),
        (["bogus"], 2, "unknown part 'bogus'; known: training, evaluation, accuracy"),
        (["--groups"], 2, "expected one argument"),
        (["--groups=5"], 2, "--groups is 5; it must be at least 100"),
        (["evaluation", "--groups=200"], 0, "evaluation: 200 queries"),
        (["training", "--groups=100"], 0, "our own tools: 842 queries"),
    ],
)
def test_bench_says_what_it_takes(arguments, code, said):
    ran = subprocess.run([sys.executable, SCRIPTS / "bench", *arguments], capture_output=True, text=True, check=False)
    assert ran.returncode == code
    assert said in ran.stdout + ran.stderr


@pytest.fixture
def frozen(tmp_path):
    """A function that writes a frozen set of one file, a log and one metric, and gives its directory."""

    def write(name, *, page="a page", mrr=0.5, seconds=1):
        folder = tmp_path / name
        for place, text in {"pages/run.html": page, "runs/tools/log.jsonl": f'{{"seconds":{seconds}}}'}.items():
            path = folder / "made" / place
            path.parent.mkdir(parents=True)
            path.write_text(text)
        (folder / "numbers.json").write_text(json.dumps({"evaluate/ctr/mrr": mrr}))
        return folder

    return write


def compared(*folders):
    words = [sys.executable, SCRIPTS / "golden", "compare", *folders]
    return subprocess.run(words, capture_output=True, text=True, check=False)


def test_golden_reports_a_changed_byte_and_a_changed_number_apart(frozen):
    done = compared(frozen("old"), frozen("new", page="a pagE", mrr=0.5 + 2**-53))
    assert done.returncode == 1
    assert done.stdout == (
        "files: 1 of 2 differ\n"
        "  made/pages: 1\n"
        "    made/pages/run.html\n"
        "metrics and weights: 1 of 1 differ\n"
        "  evaluate/ctr/mrr: 0.5 -> 0.5000000000000001\n"
    )


def test_golden_leaves_out_what_differs_by_nature(frozen):
    done = compared(frozen("old"), frozen("new", seconds=2))
    assert done.returncode == 0
    assert done.stdout == "files: 0 of 2 differ\nmetrics and weights: all 1 are equal to the last digit\n"


def test_golden_says_which_set_lacks_a_file_or_a_number(frozen):
    old, new = frozen("old"), frozen("new")
    (old / "made/pages/run.html").unlink()
    (new / "numbers.json").write_text("{}")
    done = compared(old, new)
    assert "made/pages/run.html (only in NEW)" in done.stdout
    assert "evaluate/ctr/mrr: 0.5 -> missing in NEW" in done.stdout
