"""The map of the house: a module imports from lower lines, and on its own line only names to its right."""

import ast
from pathlib import Path

import pytest

import ltr

ROOT = Path(ltr.__file__).parent
LAYERS = [
    ["cli"],
    [
        "batch",
        "leaderboard",
        "runs",
        "resuming",
        "featurizing",
        "bench",
        "report",
        "compare",
        "pairing",
        "exchange",
        "starter",
    ],
    [
        "examples",
        "explanations",
        "routing",
        "kept",
        "records",
        "pipeline",
        "basis",
        "loading",
        "doubts",
        "measured",
        "choices",
        "folds",
        "parts",
        "estimator",
    ],
    ["rerankers", "validate"],
    ["sweeps", "config", "sources", "artifacts"],
    ["features"],
    ["encoders", "cache"],
    ["importers", "exporters"],
    [
        "offers",
        "splits",
        "truth",
        "groups",
        "catalogues",
        "graphs",
        "samples",
        "columns",
        "schema",
        "jsonlines",
        "baselines",
        "intervals",
        "lists",
        "train",
        "metrics",
        "significance",
        "statistics",
        "model",
        "bends",
        "places",
        "ranking",
        "spread",
        "listwise",
        "targets",
        "compiled",
    ],
    ["workers", "registry", "plugins", "configtext", "files", "telling", "arrays", "errors"],
]
DATA_SIDE = {"offers", "splits", "truth", "groups", "catalogues", "graphs", "samples", "columns", "schema", "jsonlines"}
NUMBER_SIDE = {
    "baselines",
    "intervals",
    "lists",
    "train",
    "metrics",
    "significance",
    "statistics",
    "model",
    "places",
    "ranking",
    "spread",
    "listwise",
    "targets",
    "compiled",
}
PLACE = {name: (line, column) for line, names in enumerate(LAYERS) for column, name in enumerate(names)}
MODULES = sorted(
    path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).parts[0] not in ("__init__.py", "__main__.py")
)


def unit(path):
    """The name in the table a file belongs to: its package or its own."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """Units a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            names = [node.module] if node.module != "ltr" else [f"ltr.{alias.name}" for alias in node.names]
        yield from (name.split(".")[1] for name in names if name.startswith("ltr.") and name != "ltr.__version__")


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down_or_right(path):
    for other in set(imported(path)) - {unit(path)}:
        (line, column), (their_line, their_column) = PLACE[unit(path)], PLACE[other]
        assert their_line > line or (their_line == line and their_column > column), f"{path} imports {other}"


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_data_side_and_the_number_side_never_meet(path):
    for side, other in ((DATA_SIDE, NUMBER_SIDE), (NUMBER_SIDE, DATA_SIDE)):
        assert unit(path) not in side or not set(imported(path)) & other


def test_only_the_front_door_knows_everybody():
    assert set(imported(ROOT / "__main__.py")) == {"cli"}
