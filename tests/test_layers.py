"""The map of the house: a module imports from lower lines, and on its own line only from packages to its right."""

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

import pytest

import ltr
from ltr.lazy import offered
from tests.parsed import nodes

ROOT = Path(ltr.__file__).parent
CONTRIBUTING = (ROOT.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
LAYERS = [
    ["cli"],
    ["rerankers", "experiments"],
    ["report"],
    ["flow", "choose", "folds", "read", "leaderboard", "comparison"],
    ["audit", "results"],
    ["serving"],
    ["steps", "columns", "preconditions", "doubts"],
    ["runs", "featurized", "records", "progress"],
    ["config"],
    ["features"],
    ["encoders", "importers"],
    ["splits", "samples", "catalogues", "training", "evaluation"],
    ["engine", "hashes", "tables", "temporary", "jsonl", "files", "journal", "disk"],
    ["registry", "plugins", "states", "sums", "arrays", "paths", "extras", "memory", "signals"]
    + ["logs", "streams", "errors", "lazy"],
]
DOORS = {  # packages that others enter by `__init__`, and how many names each may offer
    "files": 15,
    "featurized": 18,
    "runs": 17,
    "engine": 12,
    "tables": 15,
    "encoders": 18,
    "features": 34,
    "importers": 16,
    "config": 18,
    "cli": 7,
    "report": 15,
    "evaluation": 54,
    "results": 18,
    "training": 53,
    "audit": 6,
    "samples": 45,
    "catalogues": 18,
    "rerankers": 12,
    "serving": 13,
}
DATA_SIDE, NUMBER_SIDE = {"splits", "samples", "catalogues", "importers"}, {"training", "evaluation"}
PLACE = {name: (line, column) for line, names in enumerate(LAYERS) for column, name in enumerate(names)}
MODULES = [path for path in sorted(ROOT.rglob("*.py")) if path.parent != ROOT or not path.stem.startswith("__")]


def unit(path):
    """The name in the map that a file belongs to: its package, or its own."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def imported(path):
    """Units that a file imports, wherever the import stands."""
    return set(_imported(path))


def _imported(path):
    for node in nodes(path):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [node.module] if node.module != "ltr" else [f"ltr.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("ltr.") and name != "ltr.__version__")


def test_imports_point_down_or_right():
    assert [
        f"{path.relative_to(ROOT)} imports {other}"
        for path in MODULES
        for other in sorted(imported(path) - {unit(path)})
        if not (PLACE[other][0] > PLACE[unit(path)][0] or _is_right(PLACE[other], PLACE[unit(path)]))
    ] == []


def _is_right(other, own):
    return other[0] == own[0] and other[1] > own[1]


def test_the_data_side_and_the_number_side_never_meet():
    sides = ((DATA_SIDE, NUMBER_SIDE), (NUMBER_SIDE, DATA_SIDE))
    assert [
        f"{path.relative_to(ROOT)} imports {', '.join(sorted(imported(path) & other))}"
        for path in MODULES
        for own, other in sides
        if unit(path) in own and imported(path) & other
    ] == []


def test_packages_are_entered_by_their_door():
    assert [
        f"{path.relative_to(ROOT)} imports {alias.name} of {node.module}"
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, ast.ImportFrom) and node.module.count(".") > 1
        if node.module.split(".")[1] in DOORS and unit(path) != node.module.split(".")[1]
        for alias in node.names
    ] == []


@pytest.mark.parametrize("package", DOORS)
def test_a_door_is_narrow_and_every_name_is_behind_it(package):
    door = import_module(f"ltr.{package}")
    homes = offered(f"ltr.{package}")
    assert 0 < len(homes) <= DOORS[package]
    assert {name: getattr(door, name) for name in homes} == {
        name: getattr(import_module(module), name) for name, module in homes.items()
    }
    with pytest.raises(AttributeError, match=f"module 'ltr.{package}' has no attribute 'nothing'"):
        door.nothing  # noqa: B018


def test_only_the_front_door_knows_everybody():
    assert imported(ROOT / "__main__.py") == {"cli"}


def test_the_drawing_for_contributors_is_the_map():
    drawing = CONTRIBUTING.partition("## The map")[2].partition("```text\n")[2].partition("```")[0]
    lines = [re.split(r"\s{2,}", line)[0] for line in drawing.splitlines()]
    assert [re.split(" [→│] ", line) for line in lines] == LAYERS


def test_every_file_that_contributors_are_sent_to_is_there():
    table = CONTRIBUTING.partition("| file in `ltr/` |")[2].partition("\n## ")[0]
    names = re.findall(r"`((?!scripts)[\w/]+(?:\.py|/))`", table)
    assert len(names) > 20
    assert [name for name in names if not (ROOT / name).exists()] == []
