"""Rules of the house that only the source can show."""

import ast
from pathlib import Path

import pytest

import ltr

ROOT = Path(ltr.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
ORDERING = {"argsort", "lexsort", "partition", "argpartition", "sort", "nlargest", "nsmallest"}
ORDERS = {
    "ranking.py",
    "groups.py",  # rows by group and name, where no score is known
    "columns.py",  # codes by first appearance
    "encoders/vectors.py",  # pairs of texts by the first
    "artifacts/columns.py",  # rows by their line
    "importers/trec.py",  # hashes of what must not stand twice
    "importers/ranked.py",  # rows by their topic
}
FORBIDDEN_MODULES = {"pickle", "joblib", "shelve", "marshal", "dill", "cloudpickle"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}


def nodes(path):
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def called(node):
    """Name of the function of a call: sort for both sort() and values.sort()."""
    return getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""


def is_text_partition(node):
    """Whether a call splits a text, as in name.partition("@")."""
    return called(node) == "partition" and bool(node.args) and isinstance(node.args[0], ast.Constant)


def imported(node):
    """Top-level names of the packages a node imports."""
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    return {(node.module or "").split(".")[0]} if isinstance(node, ast.ImportFrom) else set()


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_ranking_orders_scores(path):
    found = {called(node) for node in nodes(path) if not is_text_partition(node)} & ORDERING
    assert str(path.relative_to(ROOT)) in ORDERS or not found, f"{path} orders with {found}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_unpickled_or_evaluated(path):
    for node in nodes(path):
        assert not imported(node) & FORBIDDEN_MODULES
        is_builtin = isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
        assert not (is_builtin and called(node) in FORBIDDEN_CALLS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_the_command_line_prints(path):
    assert "cli" in path.parts or not any(called(node) == "print" for node in nodes(path))
