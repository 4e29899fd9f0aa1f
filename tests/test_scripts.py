"""The scripts a contributor meets first."""

import functools
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.contract

SCRIPTS = Path(__file__).resolve().parent.parent / "scripts"
CONTRIBUTING = SCRIPTS.parent / "CONTRIBUTING.md"
FAMILIES = {"bench": "benchmarks", "study": "studies", "stress": "stresses"}


def environment_of(scripts):
    """The module environment.py of a checkout."""
    spec = importlib.util.spec_from_file_location("environment", scripts / "environment.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def environment(tmp_path, monkeypatch):
    """scripts/environment.py for a checkout of its own, whose installing only notes what it was asked."""
    module = environment_of(SCRIPTS)
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


@pytest.mark.skipif(sys.platform == "win32", reason="LC_ALL")
def test_an_environment_works_with_lc_all_c_in_a_path_that_is_not_ascii(tmp_path):
    """Scripts and pip stand in for themselves: a pip that writes what an editable installation is, and no more."""
    home = tmp_path / "pfad-ä-文"
    shutil.copytree(SCRIPTS, home / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(SCRIPTS.parent / name, home)
    (home / "ltr").mkdir()
    (home / "ltr" / "__init__.py").write_text("")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home / ".venv"], check=True)
    (packages,) = (home / ".venv").glob("lib/python*/site-packages")
    (packages / "pip.py").write_text(PIP, encoding="utf-8")
    code = "import environment; environment.run([environment.ready(), '-c', 'import ltr; print(ltr.__file__)'])"
    variables = {name: value for name, value in os.environ.items() if name not in ("LANG", "PYTHONPATH", "PYTHONUTF8")}
    variables["LC_ALL"] = "C"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, cwd=home / "scripts", env=variables, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    assert done.stdout.decode().endswith("ltr/__init__.py\n"), done.stderr.decode()


PIP = """
import os, sys
from pathlib import Path

if "install" in sys.argv:
    link = Path(__file__).with_name("_editable_impl_ltr_router.pth")
    link.write_bytes(os.fsencode(sys.argv[-1]))
"""


def test_a_part_goes_on_in_the_environment_of_the_checkout_where_this_python_lacks_packages(tmp_path):
    shutil.copytree(SCRIPTS, tmp_path / "scripts", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "constraints.txt"):
        shutil.copy(SCRIPTS.parent / name, tmp_path)
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    copied = environment_of(tmp_path / "scripts")
    copied.STAMP.write_text(json.dumps({"sources": copied.digest(), "extras": []}))
    words = [
        sys.executable,
        "-S",
        tmp_path / "scripts" / "bench",
        "evaluation",
        "--help",
    ]  # -S: no package can be imported
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "--groups" in ran.stdout


def command(*words):
    """A script, run by this Python."""
    return subprocess.run([sys.executable, SCRIPTS / words[0], *words[1:]], capture_output=True, text=True, check=False)


@functools.cache
def listing(family):
    """What a family says of its parts."""
    listed = command(family)
    assert listed.returncode == 0
    return listed.stdout


@pytest.mark.parametrize("family, folder", FAMILIES.items())
def test_a_family_lists_its_parts_with_a_line_each(family, folder):
    for part, line in parts(listing(family)):
        source = (SCRIPTS / folder / f"{part.replace('-', '_')}.py").read_text(encoding="utf-8")
        assert source.partition("\n")[0].removesuffix('"""') == f'"""{line}.'


@pytest.mark.parametrize("family", FAMILIES)
def test_the_contributors_table_has_every_part(family):
    rows = re.findall(rf"^\| `scripts/{family} ([\w-]+)", CONTRIBUTING.read_text(encoding="utf-8"), re.MULTILINE)
    assert rows == [part for part, _ in parts(listing(family))]


def parts(text):
    """Name and line of each part, in order."""
    return re.findall(r"^  ([\w-]+)  +(.+)$", text, re.MULTILINE)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_part_that_does_not_exist_is_refused_with_those_that_do(family):
    refused = command(family, "bogus")
    known = ", ".join(part for part, _ in parts(listing(family)))
    assert refused.returncode == 2
    assert refused.stderr == f"scripts/{family}: unknown part 'bogus'; known: {known}\n"


@pytest.mark.parametrize(
    "words, code, text",
    [
        (["training", "--help"], 0, "--groups"),
        (["evaluation", "--groups=200"], 0, "evaluation: 200 queries"),
        (["training", "--groups=100"], 0, "our own tools: 842 queries"),
        (["reading", "1000", "1", "--files", "samples"], 0, "stdlib json"),
    ],
)
def test_a_part_takes_its_own_options(words, code, text):
    ran = command("bench", *words)
    assert ran.returncode == code
    assert text in ran.stdout + ran.stderr


@pytest.mark.parametrize(
    "value, said",
    [
        ([], "expected one argument"),
        (["5"], "argument --groups: it is 5; it must be at least 100"),
        (["many"], "argument --groups: invalid whole number value: 'many'"),
    ],
)
def test_an_option_that_cannot_be_is_refused(monkeypatch, capsys, value, said):
    monkeypatch.setattr(sys, "path", [str(SCRIPTS), *sys.path])
    monkeypatch.setattr(sys, "argv", ["scripts/bench", "training", "--groups", *value])
    with pytest.raises(SystemExit) as refused:
        importlib.import_module("subcommands").run("bench", "", "benchmarks", ("training",))
    assert refused.value.code == 2
    assert said in capsys.readouterr().err


def test_the_hook_of_git_runs_a_script_that_is_there():
    (repository,) = yaml.safe_load((SCRIPTS.parent / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"]
    (hook,) = repository["hooks"]
    assert (repository["repo"], hook["language"], hook["entry"]) == ("local", "system", "scripts/check")
    assert os.access(SCRIPTS.parent / hook["entry"], os.X_OK)


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


def test_every_dependency_has_a_version_a_licence_and_a_reason():
    ran = command("study", "licences")
    assert ran.returncode == 0, ran.stdout.splitlines()[-3:]
    assert re.search(r"^\| numpy \|  \| [\d.]+ \| BSD[^|]* \| arrays \|$", ran.stdout, re.MULTILINE)


def test_every_part_can_be_loaded():
    names = [f"{FAMILIES[each]}.{part.replace('-', '_')}" for each in FAMILIES for part, _ in parts(listing(each))]
    optional = "except ModuleNotFoundError as error: assert error.name in sys.argv[2:], error"
    code = (
        "import importlib, sys\nsys.path[:0] = [sys.argv[1], sys.argv[1] + '/..']\n"
        f"for name in {names!r}:\n    try: importlib.import_module(name)\n    {optional}\n"
    )
    peers = ("sklearn", "lightgbm", "xgboost", "catboost", "scipy", "pandas", "ir_measures", "pytrec_eval", "torch")
    loaded = subprocess.run([sys.executable, "-c", code, SCRIPTS, *peers], capture_output=True, text=True, check=False)
    assert loaded.returncode == 0, loaded.stderr


def test_mutants_are_made_of_modules_that_are_there_and_found_by_tests_that_are():
    code = (
        "import sys\nsys.path[:0] = [sys.argv[1], sys.argv[1] + '/..']\n"
        "import json\nfrom stresses.mutants import TESTS\n"
        "tests = sorted({test for tests in TESTS.values() for test in tests})\n"
        "print(json.dumps([list(TESTS), tests]))"
    )
    shown = subprocess.run([sys.executable, "-c", code, SCRIPTS], capture_output=True, text=True, check=True).stdout
    modules, tests = json.loads(shown)
    assert [name for name in modules if not (SCRIPTS.parent / "ltr" / f"{name}.py").exists()] == []
    assert [name for name in tests if not (SCRIPTS.parent / "tests" / f"{name}.py").exists()] == []
