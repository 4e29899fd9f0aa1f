"""The documents are kept true: their Python runs, their commands run, and both print what stands under them."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

import ltr
from ltr import errors, read_groups, read_tools
from ltr.cli import EXIT_CODES
from ltr.features import FEATURES
from ltr.importers import IMPORTERS
from tests import warm

ROOT = Path(__file__).parent.parent
PYTHON = re.compile(r"```python\n(.*?)```\n(?:\s*```text\n(.*?)```)?", re.DOTALL)
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
JSON = re.compile(r"```json\n(.*?)```", re.DOTALL)
TABLE = re.compile(r"<!-- \$ (.*?) -->\n\n(.*?)\n\n<!-- taken at \w+ -->", re.DOTALL)
LINK = re.compile(r"\[[^]]*\]\(([^)\s]+)\)")
TIMING = re.compile(r"\(\d+\.\d s\)")
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").glob("*.md"))]
TEXTS = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in DOCUMENTS}
BLOCKS = {
    name: [block for block in PYTHON.findall(text) if "mlflow" not in block[0]]  # tests/test_recipes.py runs that one
    for name, text in TEXTS.items()
}

BLOCK_AFTER_BLOCK = """
import sys
for code in sys.argv[1:]:
    exec(compile(code, "a block", "exec"), {"__name__": "__main__"})
    print("\\f", end="")
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """What a command finds: an `ltr` and a Python that run this checkout, nothing to do with a terminal."""
    folder = tmp_path_factory.mktemp("bin")
    for name, arguments in (("ltr", "-m ltr"), ("python3", "")):
        shim = folder / name
        shim.write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n', encoding="utf-8")
        shim.chmod(0o755)
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "NO_COLOR": "1", "COLUMNS": "80"}


@pytest.fixture(scope="module")
def checkout(tmp_path_factory, environment):
    """A place with our configs and data in which all commands of the documents have run, and how each ended."""
    place = tmp_path_factory.mktemp("checkout")
    for name in ("configs", "data"):
        shutil.copytree(ROOT / name, place / name)
    ended = {}
    return place, [piped(command, ended, cwd=place, environment=environment) for command, _ in commands()]


def piped(command, ended, **where):
    """What a command ended in. One that several documents show runs once, whatever they pipe it into."""
    first, *pipe = command.split(" | ", 1) if command.startswith("ltr ") else [command]
    if first not in ended:
        ended[first] = ran(first, **where)
    done = ended[first]
    return ran(pipe[0], **where, stdin=done.stdout) if pipe and done.returncode == 0 else done


def ran(command, *, cwd, environment, stdin=None):
    """What a command ended in; a shell runs those that need one."""
    words = shlex.split(command)
    if words[0] != "ltr" or set(command) & set("|>;&$*"):
        words, options = ["bash", "-c", command], {"cwd": cwd, "env": environment, "input": stdin}
        return subprocess.run(words, capture_output=True, text=True, check=False, **options)
    done = warm.command(*words[1:], cwd=cwd, environment=environment)
    return SimpleNamespace(returncode=done.returncode, stdout=done.stdout.decode(), stderr=done.stderr.decode())


def commands():
    """Each command of the console blocks with the output that stands under it, the README's first."""
    for text in TEXTS.values():
        for block in CONSOLE.findall(text):
            for entry in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
                command, _, shown = entry.partition("\n")
                yield command, shown


def test_the_commands_print_what_is_shown(checkout):
    _, ended = checkout
    for (command, shown), done in zip(commands(), ended, strict=True):
        assert done.returncode == 0, f"{command}\n{done.stderr}"
        assert TIMING.sub("(0.0 s)", done.stdout) == TIMING.sub("(0.0 s)", shown), command


def test_the_tables_of_our_data_are_what_the_study_prints(environment):
    """To the last digit, under the kernels of every processor; tables that need other data name their commit."""
    tables = TABLE.findall((ROOT / "data" / "README.md").read_text(encoding="utf-8"))
    printed = ran("scripts/study measure-data", cwd=ROOT, environment=environment)
    assert printed.returncode == 0, printed.stderr
    assert len(tables) == 2
    for command, shown in tables:
        study, _, part = command.partition(" | ")
        assert study == "scripts/study measure-data"
        assert ran(part, cwd=ROOT, environment=environment, stdin=printed.stdout).stdout.strip("\n") == shown


@pytest.mark.parametrize("name", [name for name, blocks in BLOCKS.items() if blocks])
def test_the_python_of_a_document_runs_and_prints_what_is_shown(name, checkout, environment):
    place, _ = checkout
    done = subprocess.run(  # no fork: a module that ltr loads elsewhere would stand in for a missing import
        [sys.executable, "-c", BLOCK_AFTER_BLOCK, *(code for code, _ in BLOCKS[name])],
        capture_output=True,
        text=True,
        cwd=place,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\f") == [*(shown for _, shown in BLOCKS[name]), ""]


def test_a_block_that_lacks_an_import_fails():
    code = "import ltr; ltr.features.protocol"
    done = subprocess.run([sys.executable, "-c", BLOCK_AFTER_BLOCK, code], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1].startswith("AttributeError: ")


def test_there_are_blocks_to_run():
    assert sum(map(len, BLOCKS.values())) >= 10
    assert len(list(commands())) >= 4


def test_every_link_names_a_file_that_is_there():
    documents = [*DOCUMENTS, ROOT / "data" / "README.md", *sorted((ROOT / "docs" / "notes").glob("*.md"))]
    assert [
        f"{path.relative_to(ROOT)}: {link}"
        for path in documents
        for link in LINK.findall(path.read_text(encoding="utf-8"))
        if not link.startswith(("http", "#")) and not (path.parent / link.partition("#")[0]).exists()
    ] == []


@pytest.mark.parametrize("name", ["README.md", "docs/data.md"])
def test_samples_and_catalogues_that_are_shown_can_be_read(name, tmp_path):
    blocks = JSON.findall(TEXTS[name])
    for number, block in enumerate(blocks):
        path = tmp_path / f"{number}.jsonl"
        path.write_text(block, encoding="utf-8")
        assert read_tools(path) if block.startswith('{"tools"') else len(read_groups(path).labels) > 0
    assert len(blocks) >= 2


def test_every_public_name_is_shown_in_use():
    code = "\n".join(code for text in TEXTS.values() for code, _ in PYTHON.findall(text))
    names = sorted(set(ltr.__all__) - {"__version__"})
    assert [name for name in names if not re.search(rf"\bltr\.{name}\b", code)] == []


def test_the_page_of_data_names_every_format_and_the_page_of_importing_shows_each():
    for name in (name for name in IMPORTERS.names() if IMPORTERS.source(name).name == "ltr"):
        assert f"| `ltr import {name}" in TEXTS["docs/data.md"], name
        assert re.search(rf"^## .*`{name}`", TEXTS["docs/importing.md"], re.MULTILINE), name


def test_the_table_of_features_has_each_with_whether_it_learns():
    rows = re.findall(r"^\| `((?:tool|graph)\.\w+)` \|[^|]+\| (yes|no) \|", TEXTS["docs/features.md"], re.MULTILINE)
    assert dict(rows) == {name: "yes" if FEATURES[name].learner else "no" for name in FEATURES.names()}


def test_the_readme_fits_three_screens():
    assert len(TEXTS["README.md"].splitlines()) <= 150


def test_the_reference_is_what_the_docstrings_say():
    page = runpy.run_path(str(ROOT / "scripts" / "reference.py"))["page"]()
    assert TEXTS["docs/reference.md"] == page, "scripts/readme writes docs/reference.md anew"


def test_a_version_of_the_changelog_fits_a_screen():
    versions = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert [version.partition("\n")[0] for version in versions if len(version.strip().splitlines()) > 40] == []


def test_the_table_of_exit_codes_has_each_with_its_exception():
    rows = re.findall(r"^\| (\d+) \| [^|]+ \| (`\w+`.*) \|$", TEXTS["docs/README.md"], re.MULTILINE)
    shown = {getattr(errors, name): int(code) for code, names in rows for name in re.findall(r"`(\w+)`", names)}
    of_class = {kind: next((EXIT_CODES[base] for base in kind.__mro__ if base in EXIT_CODES), 1) for kind in shown}
    assert shown == of_class
    assert set(EXIT_CODES) <= set(shown)


def test_no_document_recommends_an_agent_that_binds_tools_and_cannot_call_them():
    assert [name for name, text in TEXTS.items() if "bigtool" in text] == []
