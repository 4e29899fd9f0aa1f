"""Plug-ins from outside: installed packages announce them, --code names them, nothing else runs a stranger's code."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ltr.errors import LtrWarning, UsageError
from ltr.plugins import OURS, load_code, unforeseen_errors
from ltr.registry import Registry
from tests import warm
from tests.builders import tool_lines, write_lines

ROOT = Path(__file__).parent.parent
LENGTH = '''
import numpy as np
from ltr import feature

@feature("tool.length", "struct")
def length(candidates, state, context):
    """Characters of the tool's name."""
    return np.array([float(len(name)) for name in candidates.name_texts])[candidates.names]
'''
COLOURS = "from tests.test_plugins import colours\ncolours.register({!r})(lambda: {!r})\n"
colours: Registry[object] = Registry("unused")  # each test puts its own here


def package(
    folder: Path, name: str, code: str, *, kind: str = "colour", version: str = "1.2", module: str = ""
) -> Path:
    """A package as an installer leaves it: a module, and a .dist-info that announces it."""
    module = module or name.replace("-", "_")
    (folder / f"{module}.py").write_text(code, encoding="utf-8")
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[ltr.{kind}s]\nmine = {module}\n", encoding="utf-8")
    return folder


@pytest.fixture
def registry(monkeypatch, tmp_path):
    """An empty registry of colours, tmp_path being a folder of installed packages."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("LTR_LOAD_PLUGINS", raising=False)
    monkeypatch.setattr("tests.test_plugins.colours", Registry("colour"))
    before = set(sys.modules)
    yield colours
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_package_that_announces_a_plug_in_is_found_at_the_first_look(registry, tmp_path):
    package(tmp_path, "ltr-blue", COLOURS.format("blue", "b"))
    assert "ltr_blue" not in sys.modules
    assert registry.names() == ("blue",)
    assert str(registry.source("blue")) == "ltr-blue 1.2"


def test_adding_is_no_look(registry, tmp_path):
    package(tmp_path, "ltr-blue", COLOURS.format("blue", "b"))
    registry.add("red", print)
    assert "ltr_blue" not in sys.modules


@pytest.mark.parametrize(
    "chosen, names", [("", ()), (" ", ()), ("LTR.Red", ("red",)), ("other, ltr_blue", ("blue",)), ("other", ())]
)
def test_a_variable_says_which_packages_are_loaded(registry, tmp_path, monkeypatch, chosen, names):
    package(tmp_path, "ltr-blue", COLOURS.format("blue", "b"))
    package(tmp_path, "ltr-red", COLOURS.format("red", "r"))
    monkeypatch.setenv("LTR_LOAD_PLUGINS", chosen)
    assert registry.names() == names


@pytest.mark.parametrize(
    "code, cause",
    [
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("raise ValueError('two\\nlines')", "ValueError: two lines"),
        ("def", "SyntaxError: invalid syntax (ltr_broken.py, line 1)"),
    ],
)
def test_a_package_that_cannot_be_loaded_costs_one_warning(registry, tmp_path, code, cause):
    package(tmp_path, "ltr-broken", code)
    package(tmp_path, "ltr-red", COLOURS.format("red", "r"))
    with pytest.warns(LtrWarning) as warned:
        assert registry.names() == ("red",)
    assert [str(each.message) for each in warned] == [
        f"the plug-in ltr_broken of ltr-broken 1.2 cannot be loaded: {cause}"
    ]


def test_a_package_under_a_taken_name_is_refused_and_its_other_plug_ins_stay(registry, tmp_path):
    package(tmp_path, "ltr-a", COLOURS.format("red", "first"))
    package(tmp_path, "ltr-b", COLOURS.format("red", "second") + COLOURS.format("blue", "b"))
    with pytest.warns(
        LtrWarning, match=r"colour 'red' is registered twice, by ltr-a 1.2 and by ltr-b 1.2; the first is kept"
    ):
        assert registry.names() == ("blue", "red")
    assert registry["red"]() == "first"


def test_what_ltr_defines_is_ours_whoever_imports_it_first(registry, tmp_path):
    package(tmp_path, "ltr-red", "import ltr.splits\nfrom tests.test_plugins import colours\n"
            "colours.add('red', ltr.splits.split_off)")  # fmt: skip
    assert registry.source("red") == OURS


def test_a_file_of_code_registers_and_is_named_as_source(registry, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(COLOURS.format("red", "r"), encoding="utf-8")
    load_code(str(file))
    assert registry.source("red").name == str(file)
    assert registry.source("red").version.startswith("sha256:")


@pytest.mark.parametrize(
    "code, problem",
    [
        ("\n1 / 0", ":2: cannot be loaded: ZeroDivisionError: division by zero"),
        ("x = 1\nx = (", ":2: cannot be loaded: SyntaxError: '(' was never closed"),
        ("from tests.test_plugins import colours\ncolours.add('a', print)\ncolours.add('a', print)",
         ":3: cannot be loaded: colour 'a' is registered twice"),
    ],
)  # fmt: skip
def test_a_file_of_code_that_fails_is_an_error_that_names_the_line(registry, tmp_path, code, problem):
    file = tmp_path / "mine.py"
    file.write_text(code, encoding="utf-8")
    with pytest.raises(UsageError) as caught:
        load_code(str(file))
    assert str(caught.value).startswith(f"{file}{problem}")


def test_a_file_of_code_that_is_not_there_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match=r"mine.py: no such file; a Python file that registers plug-ins is needed"):
        load_code(str(tmp_path / "mine.py"))


def ltr(*arguments, path=None, cwd=None, **environment):
    """A command of its own process, with a folder of installed packages if one is given, which Python finds anew."""
    known = {name: value for name, value in os.environ.items() if name != "LTR_LOAD_PLUGINS"} | environment
    if path is None:
        done = warm.command(*arguments, cwd=cwd, environment=known)
        return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())
    known["PYTHONPATH"] = os.pathsep.join(map(str, [path, ROOT]))
    command = [sys.executable, "-m", "ltr", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=path, env=known)


def listed(done):
    """Name, family, version, source and title of each feature."""
    return [tuple(row.values())[:5] for row in json.loads(done.stdout)]


def test_the_command_line_lists_plug_ins_with_family_version_source_and_title(tmp_path):
    package(tmp_path, "ltr-length", LENGTH, kind="feature")
    done = ltr("list", "features", "--format", "json", path=tmp_path)
    assert ("tool.length", "struct", "1.2", "ltr-length", "tool.length") in listed(done)
    assert ("tool.rel", "rel", OURS.version, "ltr", "query and tool text are alike") in listed(done)
    assert "tool.length" not in ltr("list", "features", path=tmp_path, LTR_LOAD_PLUGINS="").stdout


SILENT = """
from functools import partial

from ltr import feature, reranker
from ltr.encoders import ENCODERS
from ltr.importers import EXPORTERS
from ltr.importers import importer
from ltr.training import TRAINERS

class Base:
    '''A base class says nothing of the classes that inherit from it.'''

class Silent(Base):
    def __call__(self, *arguments):
        return None

feature("tool.silent", "rel")(lambda candidates, state, context: None)
reranker("silent")(lambda setting: None)
ENCODERS.add("silent", Silent)
TRAINERS.add("silent", partial(lambda *arguments: None))
importer("silent")(Silent())
EXPORTERS.add("silent", lambda exported, out: [])
"""


@pytest.mark.parametrize("kind", ["features", "encoders", "trainers", "rerankers", "importers", "exporters"])
def test_a_plug_in_without_a_docstring_is_listed_without_a_description(tmp_path, kind):
    (tmp_path / "mine.py").write_text(SILENT, encoding="utf-8")
    done = ltr("list", kind, "--code", "mine.py", "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    (silent,) = [each for each in json.loads(done.stdout) if each["name"].endswith("silent")]
    assert silent["value" if kind == "features" else "what"] == ""


def test_help_loads_no_plug_in_and_a_broken_one_stops_no_command(tmp_path):
    package(tmp_path, "ltr-broken", "import no_such_module", kind="feature")
    helped = ltr("--help", path=tmp_path)
    assert (helped.returncode, helped.stderr) == (0, "")
    done = ltr("list", "features", path=tmp_path)
    assert done.returncode == 0
    assert done.stderr == (
        "warning: the plug-in ltr_broken of ltr-broken 1.2 cannot be loaded: "
        "ModuleNotFoundError: No module named 'no_such_module'\n"
    )


def test_a_feature_of_a_file_trains_and_ranks_and_is_missed_by_name(tmp_path):
    code, samples = tmp_path / "mine.py", write_lines(tmp_path / "s.jsonl", tool_lines())
    code.write_text(LENGTH, encoding="utf-8")
    features = "features=[tool.rel, tool.length]"
    done = ltr("train", samples, "-o", "run", "--set", features, "--code", "mine.py", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert warm.command("evaluate", "run", samples, "--code", code, cwd=tmp_path).returncode == 0
    assert warm.command("rank", "run", "find hotels", "--code", code, cwd=tmp_path).returncode == 0
    missed = warm.command("evaluate", "run", samples, cwd=tmp_path)
    said = missed.stderr.decode()
    assert missed.returncode == 3
    assert said.startswith("error: run/model.json: not a usable model: the feature 'tool.length' (of mine.py ")
    assert said.endswith("is not loaded: install the package that brings it, or name its file with --code\n")
    assert said.count("\n") == 1


TERMINATES = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize(
    "code", [TERMINATES, LENGTH.replace("return", f"{TERMINATES}; return")], ids=["file", "column"]
)
def test_a_signal_while_a_plug_in_is_at_work_is_no_failure_of_the_plug_in(tmp_path, code):
    samples = write_lines(tmp_path / "s.jsonl", tool_lines())
    (tmp_path / "mine.py").write_text(code, encoding="utf-8")
    done = ltr("train", samples, "-o", "run", "--set", "features=[tool.length]", "--code", "mine.py", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (143, "", "")


STOP = "class Stop(BaseException): pass\n"


@pytest.mark.parametrize("where, code", [("file", 2), ("column", 1)])
def test_a_plug_in_that_raises_what_is_no_exception_is_one_line(tmp_path, where, code):
    done = trained_with(tmp_path, where, "raise Stop('enough')")
    assert done.returncode == code
    assert re.fullmatch(r"error: mine\.py:\d+: .*: Stop: enough\n", done.stderr)


@pytest.mark.parametrize("where", ["file", "column"])
@pytest.mark.parametrize(
    "change, said",
    [
        ("sys.setrecursionlimit(60)", "lowered the recursion limit to 60"),
        ("os.chdir('elsewhere')", "changed the working directory"),
    ],
)
def test_what_a_plug_in_changes_of_the_process_is_undone_and_said(tmp_path, where, change, said):
    (tmp_path / "elsewhere").mkdir()
    done = trained_with(tmp_path, where, change)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines()[0] == f"warning: mine.py: the plug-in {said}, which was undone"
    assert (tmp_path / "run" / "model.json").exists()
    assert list((tmp_path / "elsewhere").iterdir()) == []


def trained_with(home, where, statement):
    """A training with a column of a file, which has the statement at its top or in the column's function."""
    code = LENGTH if where == "file" else LENGTH.replace("return", f"{statement}; return")
    top = statement if where == "file" else ""
    (home / "mine.py").write_text(f"import os, sys\n{STOP}{top}\n{code}", encoding="utf-8")
    samples = write_lines(home / "s.jsonl", tool_lines()).name
    return ltr("train", samples, "-o", "run", "--set", "features=[tool.length]", "--code", "mine.py", "-q", cwd=home)


def test_plug_ins_of_every_kind_work_together(tmp_path):
    encoder = """
import sys; sys.path.insert(0, {root!r})
from ltr.encoders import ENCODERS
from tests.builders import LetterEncoder

@ENCODERS.register("letters")
class Letters(LetterEncoder):
    '''Letter counts.'''
    name = "letters"
"""
    package(tmp_path, "ltr-letters", encoder.format(root=str(ROOT)), kind="encoder")
    package(
        tmp_path,
        "ltr-first",
        "from ltr.evaluation import measure\n"
        "@measure('first@k', 'every query counts')\ndef first(blocks, k): return (blocks.sizes > 0) * 1.0\n",
        kind="metric",
    )
    package(
        tmp_path,
        "ltr-again",
        "from ltr.training import TRAINERS\nTRAINERS.register('again')"
        "(lambda *everything: TRAINERS['newton'](*everything))\n",
        kind="trainer",
    )
    samples = write_lines(tmp_path / "s.jsonl", tool_lines())
    plugged = ["--encoder", "letters", "--trainer", "again", "--metrics", "first@2", "--format", "json"]
    done = ltr("train", samples, "-o", "run", *plugged, path=tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["first@2"] == 1.0


def test_no_config_can_name_code(tmp_path):
    (tmp_path / "c.yaml").write_text("code: mine.py\n", encoding="utf-8")
    done = ltr("config", "check", "c.yaml", cwd=tmp_path)
    assert (done.returncode, "code: unknown key" in done.stderr) == (2, True)


def test_a_syntax_error_of_another_file_is_not_blamed_on_a_plug_in(tmp_path):
    (tmp_path / "harmless.py").write_text("")
    load_code(str(tmp_path / "harmless.py"))
    with pytest.raises(SyntaxError), unforeseen_errors():
        compile("(", "other.py", "exec")
