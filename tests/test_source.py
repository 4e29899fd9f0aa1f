"""Rules of the house that only the source can show."""

import ast
import tomllib
from pathlib import Path

import pytest

import ltr
from tests.parsed import nodes

ROOT = Path(ltr.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))
ORDERING = {"argsort", "lexsort", "partition", "argpartition", "sort", "nlargest", "nsmallest"}
ORDERING_OF_LISTS = {"sorted", "heapq"}  # refused where scores are known
NUMBER_SIDE = {"training", "evaluation"}
ORDERS = {
    "evaluation/ranking.py",
    "arrays.py",  # codes with their places
    "evaluation/significance.py",  # p values
    "training/kernels.py",  # files of the cache
    "training/estimator.py",  # names of columns, in a message
    "splits.py",  # traces by time, or by a hash of their id
    "training/newton.py",  # penalties, the largest first
    "samples/grouping.py",  # rows by group and name
    "samples/groups.py",  # columns of a file
    "choose.py",  # traces by a hash of their id
    "steps/abstain.py",  # answers of none behind others
    "samples/scan.py",  # traces by their first line
    "tables/merging.py",  # keys
    "steps/none.py",  # groups and rows by a hash
    "steps/negatives.py",  # tools by a hash, drawn ones by name
    "features/vectors.py",  # tools by nearness to a query, rows by query
    "encoders/vectors.py",  # rows that are added up, by owner; pairs of texts by the first; entries by column
    "features/words.py",  # rows by query, words by place
    "features/graphs.py",  # stored queries by nearness, and edges by code
    "features/equations.py",  # queries by digests and by their place in the answers of their tools
    "features/ridge.py",  # rows by their query
    "features/likeness.py",  # grams by their query
    "serving/catalogue.py",  # tools of a large catalogue by nearness to a query, to cut it
    "featurized/samples.py",  # rows by their line
    "importers/trec.py",  # hashes of what must not stand twice
    "importers/rankings.py",  # rows by their topic
}
FORBIDDEN_MODULES = {"pickle", "joblib", "shelve", "marshal", "dill", "cloudpickle"}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "__import__"}


def called(node):
    """Name of the function of a call: sort for both sort() and values.sort()."""
    return getattr(node.func, "attr", getattr(node.func, "id", "")) if isinstance(node, ast.Call) else ""


def is_text_partition(node):
    """Whether a call splits a text, as in name.partition("@")."""
    separator = node.args[0] if called(node) == "partition" and node.args else None
    return isinstance(separator, ast.Constant) and isinstance(separator.value, str)


def mentioned(of_file):
    """Every name a file reads or imports, called or handed on: all but the partition of texts."""
    of_texts = {node.func for node in of_file if is_text_partition(node)}
    for node in of_file:
        if isinstance(node, ast.Attribute) and node not in of_texts:
            yield node.attr
        if isinstance(node, ast.Name):
            yield node.id
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.name for alias in node.names)
            yield getattr(node, "module", None)


def orderings(path, of_file):
    """What a file with these nodes orders with."""
    unit = path.relative_to(ROOT).parts[0].removesuffix(".py")
    refused = ORDERING | (ORDERING_OF_LISTS if unit in NUMBER_SIDE else set())
    return set(mentioned(of_file)) & refused


def imported(node):
    """Top-level names of the packages a node imports."""
    if isinstance(node, ast.Import):
        return {alias.name.split(".")[0] for alias in node.names}
    return {(node.module or "").split(".")[0]} if isinstance(node, ast.ImportFrom) else set()


def test_only_ranking_orders_scores():
    orders = {
        str(path.relative_to(ROOT)): names
        for path in FILES
        if (names := orderings(path, nodes(path))) and str(path.relative_to(ROOT)) not in ORDERS
    }
    assert orders == {}


@pytest.mark.parametrize(
    "source",
    [
        "order = np.argsort(scores)",
        "orders = map(np.argsort, parts)",
        "from numpy import lexsort as listed",
        "scores.partition(3)",
        "import heapq",
        "from heapq import merge",
        "best = sorted(scores)",
    ],
)
def test_an_ordering_is_seen_however_it_is_written(source):
    assert orderings(ROOT / "evaluation" / "metrics" / "ranked.py", [*ast.walk(ast.parse(source))])


def test_the_partition_of_a_text_orders_nothing():
    source = "name, _, k = text.partition('@')"
    assert not orderings(ROOT / "evaluation" / "metrics" / "ranked.py", [*ast.walk(ast.parse(source))])


def test_nothing_is_unpickled_or_evaluated():
    assert [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in FILES
        for node in nodes(path)
        if imported(node) & FORBIDDEN_MODULES
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and called(node) in FORBIDDEN_CALLS)
        if ast.unparse(node) != "exec('')"  # it runs nothing, and Python forgets a Ctrl-C inside an earlier text
    ] == []


def test_only_the_command_line_prints():
    printing = [path for path in FILES if any(called(node) == "print" for node in nodes(path))]
    assert [path for path in printing if "cli" not in path.parts] == []


def test_the_extra_all_brings_every_extra_that_the_package_or_its_tests_use():
    project = tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (brought,) = project["optional-dependencies"]["all"]
    assert set(brought.removeprefix("ltr-router[").removesuffix("]").split(",")) == {"fast", "static", "embed", "test"}


def test_an_install_line_is_written_in_one_place():
    texts = {path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8") for path in FILES}
    assert [path for path, text in texts.items() if "pip install" in text] == ["extras.py"]


def test_no_module_bears_a_public_name():
    """Importing the module would put it where the public name was."""
    modules = {path.stem for path in ROOT.iterdir() if path.stem != "__init__"}
    assert modules.isdisjoint(ltr.__all__)
