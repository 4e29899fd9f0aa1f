"""Which tests speak to ltr through its command line and its public names alone, found by reading their sources.

A test is one of the contract suite if nothing that it uses names an inner module of ltr: not its own lines, not the
functions, fixtures and values of its module that it reaches, nor the helpers in this folder. Such a test holds whatever
becomes of the modules. Two parts of the harness know the inside, only to be quick: tests/warm.py, and what
tests/conftest.py starts for every test.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import ltr

FOLDER = Path(__file__).parent
HARNESS = {("warm", name) for name in ("command", "Started", "build_once")} | {("conftest", "warm_workers")}
SOURCES = "parsed"  # who reads sources looks at the modules as well
PUBLIC = {*ltr.__all__, "__all__", "__file__", "__main__", "errors"}  # the entry point, and what users may catch
CODE_IN_A_TEXT = re.compile(r"^\s*(?:from|import) ltr\.(\w+)", re.MULTILINE)
NAME_IN_A_TEXT = re.compile(r"ltr\.(\w+)\.[\w.]+")  # of what is patched


def inner(module: str, name: str) -> set[str]:
    """Return the inner names of ltr that a top-level name of a test module reaches; none for a contract test."""
    reached, waiting, found = set(HARNESS), [(module, name), *_always(module)], set()
    while waiting:
        if (place := waiting.pop()) in reached:
            continue
        reached.add(place)
        names, others = _uses(*place)
        found |= names
        waiting += others
    return found


@cache
def tests(module: str) -> tuple[str, ...]:
    """Return the names of the test functions of a module."""
    return tuple(name for name in _definitions(module) if name.startswith("test_"))


@cache
def contract_tests(module: str) -> frozenset[str]:
    """Return the names of the contract tests of a module."""
    return frozenset(name for name in tests(module) if not inner(module, name))


def promises(module: str) -> bool:
    """Return whether the module says that all of its tests are of the contract suite."""
    marks = _definitions(module).get("pytestmark", [])
    return any("mark.contract" in ast.unparse(mark) for mark in marks)


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse((FOLDER / f"{module}.py").read_bytes())


@cache
def _definitions(module: str) -> dict[str, list[ast.stmt]]:
    """Return the top-level statements that bind each name of a module."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in _tree(module).body:
        for name in _bound(statement):
            found.setdefault(name, []).append(statement)
    return found


def _bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]


def _always(module: str) -> list[tuple[str, str]]:
    """Return what every test of a module uses: its marks, and fixtures that nobody asks for."""
    fixtures = [
        name
        for name, statements in _definitions(module).items()
        for statement in statements
        if isinstance(statement, ast.FunctionDef) and "autouse" in "".join(map(ast.unparse, statement.decorator_list))
    ]
    return [(module, name) for name in ("pytestmark", *fixtures)]


@cache
def _uses(module: str, name: str) -> tuple[set[str], list[tuple[str, str]]]:
    """Return the inner names in what defines a name, and the names of this folder that it uses."""
    statements = _definitions(module).get(name)
    if statements is None:  # of Python, of pytest, or a fixture of all tests
        is_fixture = module != "conftest" and name in _definitions("conftest")
        return set(), [("conftest", name)] if is_fixture else []
    found: set[str] = set()
    used: list[tuple[str, str]] = []
    for node in (node for statement in statements for node in ast.walk(statement)):
        match node:
            case ast.Import() | ast.ImportFrom():
                names, others = _imported(node, name if node in statements else None)
                found |= names
                used += others
            case ast.Name() | ast.arg():
                used.append((module, node.id if isinstance(node, ast.Name) else node.arg))
            case ast.Attribute(value=ast.Name(id="ltr"), attr=attribute) if attribute not in PUBLIC:
                found.add(f"ltr.{attribute}")
            case ast.Constant(value=str(text)):
                found |= {f"ltr.{part}" for part in CODE_IN_A_TEXT.findall(text) if part not in PUBLIC}
                if (patched := NAME_IN_A_TEXT.fullmatch(text)) and patched[1] not in PUBLIC:
                    found.add(text)
    return found, used


def _imported(node: ast.Import | ast.ImportFrom, name: str | None) -> tuple[set[str], list[tuple[str, str]]]:
    """Return the inner names among what is imported, of one name or all, and what comes from this folder."""
    aliases = [alias for alias in node.names if name in (None, (alias.asname or alias.name).partition(".")[0])]
    paths = [alias.name if isinstance(node, ast.Import) else f"{node.module}.{alias.name}" for alias in aliases]
    found: set[str] = set()
    used: list[tuple[str, str]] = []
    for path in paths:
        package, _, rest = path.partition(".")
        if package == "ltr" and rest and rest.partition(".")[0] not in PUBLIC:
            found.add(path)
        if rest.partition(".")[0] == SOURCES:
            found.add("the sources of ltr")
        elif package == "tests":
            used += _of_folder(*rest.partition(".")[::2])
    return found, used


def _of_folder(module: str, name: str) -> list[tuple[str, str]]:
    """Return what an import of a helper reaches: the name, or all of a module, and what a helper imports for itself."""
    if not (FOLDER / f"{module}.py").is_file():
        return []
    imports = [
        bound
        for statement in _tree(module).body
        if isinstance(statement, ast.Import | ast.ImportFrom) and not module.startswith("test_")
        for bound in _bound(statement)
    ]
    names = [name, *imports] if name else list(_definitions(module))
    return [] if module == "warm" else [(module, each) for each in names]
