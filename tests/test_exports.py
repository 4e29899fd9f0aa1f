import ast
import inspect
import pkgutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import ltr
from ltr.lazy import offered


def test_every_exported_name_resolves():
    assert [name for name in ltr.__all__ if getattr(ltr, name, None) is None] == []


def test_no_exported_name_becomes_a_module_once_the_modules_are_loaded():
    # only a direct child can take the place of a name of the package
    for module in pkgutil.iter_modules(ltr.__path__):
        if module.name != "__main__":  # it runs the command line
            import_module(f"ltr.{module.name}")
    for _ in ("first use", "second use"):
        assert [name for name in ltr.__all__ if isinstance(getattr(ltr, name), ModuleType)] == []


HOMES = offered("ltr")


def test_the_list_of_names_is_what_a_type_checker_sees_and_each_is_defined_there():
    assert dir(ltr) == ltr.__all__ == sorted([*HOMES, "__version__"])
    tree = ast.parse(Path(ltr.__file__).read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module != "ltr.lazy"]
    assert {alias.name: node.module for node in imports for alias in node.names if alias.asname} == HOMES
    modules = {name: getattr(ltr, name).__module__ for name in HOMES}  # a home may be the package of the module
    assert [name for name, home in HOMES.items() if not f"{modules[name]}.".startswith(f"{home}.")] == []


SIGNATURES = {
    "Router.answers": ("self", "candidates", "k", "at_least"),
    "Router.rank": ("self", "query", "tools", "k", "options"),
    "Router.arank": ("self", "query", "tools", "k", "options"),
    "Router.rank_many": ("self", "queries", "tools", "k", "options"),
    "Router.read": ("self", "samples", "data", "labels_required"),
    "Router.save": ("self", "directory"),
    "audit_run": ("directory",),
    "audit_samples": ("paths", "against", "tools", "graphs", "rows", "engine"),
    "compare": ("runs", "baseline", "metrics", "seed"),
    "encoder": ("name",),
    "evaluate": (
        "ranking",
        "labels",
        "metrics",
        "ties",
        "rel_threshold",
        "no_relevant",
        "threshold",
        "max_grade",
        "probability",
    ),
    "feature": ("name", "family", "fit", "prepare", "queries", "documents", "title", "finish"),
    "fit": ("phi", "labels", "offsets", "config", "weights", "score_offset", "prior", "valid", "on_epoch", "progress"),
    "import_samples": ("format_name", "files", "out", "options", "redact", "overwrite"),
    "init_from": ("source", "directory", "tools", "encoder", "seed", "overwrite", "on_progress"),
    "importer": ("name", "title", "looks_like"),
    "load": ("path", "tools", "graphs"),
    "load_config": ("path", "overrides"),
    "measure": ("name", "rule", "k", "kind", "range", "is_number", "less_is_better"),
    "rank": ("scores", "offsets", "keys", "listed"),
    "read_graphs": ("path",),
    "read_groups": ("samples", "tools", "graphs", "labels_required"),
    "read_tools": ("path",),
    "reranker": ("spelling", "absent", "is_reference"),
    "run": ("config", "on_progress", "resume", "shared"),
    "run_batch": ("runs", "root", "options", "metric", "on_progress", "on_end"),
    "search": ("tools", "encoder", "into"),
    "sweep": ("path", "overrides"),
    "train": (
        "samples",
        "out",
        "recommended",
        "features",
        "valid",
        "test",
        "tools",
        "graphs",
        "negatives",
        "encoder",
        "seed",
        "overwrite",
        "on_progress",
        "settings",
    ),
    "trainer": ("name",),
    "update": ("run", "outcomes", "forget", "choose", "tools", "graphs", "on_progress"),
    "write_report": ("directories", "out", "seed", "made"),
}


ROUTER = ("rank", "arank", "rank_many", "answers", "read", "save")


def test_the_signatures_of_the_public_functions_are_these():
    functions = {name for name in HOMES if inspect.isfunction(getattr(ltr, name))}
    methods = {
        f"Router.{name}": getattr(ltr.Router, name)
        for name in ("rank", "arank", "rank_many", "answers", "read", "save")
    }
    found = {name: tuple(inspect.signature(getattr(ltr, name)).parameters) for name in functions}
    assert found | {name: tuple(inspect.signature(method).parameters) for name, method in methods.items()} == SIGNATURES


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'ltr' has no attribute 'rnak'"):
        _ = ltr.rnak


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, ltr; print(sorted({'numpy', 'scipy', 'typer', 'rich', 'pydantic'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_numbers_do_not_load_scipy():
    code = (
        "import sys, ltr; ltr.fit([[1.0], [0.0]], [1, 0], [0, 2], ltr.TrainConfig(trainer='newton'));"
        "ltr.evaluate(ltr.rank([1.0, 0.0], [0, 2]), [1, 0]); print('scipy' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"
