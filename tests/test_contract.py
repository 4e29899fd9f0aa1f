"""The contract suite: which tests belong to it, and that those which say so keep to it."""

from pathlib import Path

import pytest

from tests import contract

MODULES = sorted(path.stem for path in contract.FOLDER.glob("test_*.py"))
HEADER = """
import pytest
import ltr
from ltr import load
from ltr.errors import DataError
from ltr.samples.groups import Axis as select

"""
OUTSIDE = {
    "public names": "def test_x(cli):\n    load(cli), ltr.fit, DataError",
    "an inner name that another test uses": "def test_y():\n    select()\n\ndef test_x():\n    load()",
    "a name of its own that is like an inner one": "def test_x():\n    groups = 'ltr.features'",
}
INSIDE = {
    "its own lines": "def test_x():\n    select()",
    "an import inside": "def test_x():\n    from ltr.samples.grouping import read_groups",
    "a module by its path": "def test_x():\n    ltr.samples",
    "a function of its module": "def help():\n    select()\n\ndef test_x():\n    help()",
    "a value of its module": "VALUE = select\n\ndef test_x():\n    VALUE",
    "a fixture": "@pytest.fixture\ndef rows():\n    return select\n\ndef test_x(rows): ...",
    "a fixture of all tests": "@pytest.fixture(autouse=True)\ndef rows():\n    select()\n\ndef test_x(): ...",
    "a fixture of conftest": "def test_x(two): ...",
    "its parameters": "@pytest.mark.parametrize('what', [select])\ndef test_x(what): ...",
    "a helper": "from tests.builders import column_of\n\ndef test_x():\n    column_of()",
    "a helper that imports for itself": "from tests.stored import anything\n\ndef test_x():\n    anything()",
    "a name that is patched": "def test_x(monkeypatch):\n    monkeypatch.setattr('ltr.samples.grouping.select', None)",
    "the sources": "from tests.parsed import nodes\n\ndef test_x():\n    nodes()",
    "code in a text": "CODE = '''\nfrom ltr.samples.groups import Axis as select\n'''\n\ndef test_x():\n    CODE",
}


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A function that puts a module of tests beside the helpers, for tests/contract.py alone."""
    for path in contract.FOLDER.glob("*.py"):
        (tmp_path / path.name).symlink_to(path)
    monkeypatch.setattr(contract, "FOLDER", tmp_path)

    def put(source):
        Path(tmp_path, "test_put.py").write_text(HEADER + source, encoding="utf-8")
        return "test_put"

    caches = (contract._tree, contract._definitions, contract._uses, contract.tests, contract.contract_tests)
    for cached in caches:
        cached.cache_clear()
    yield put
    for cached in caches:
        cached.cache_clear()


@pytest.mark.parametrize("source", OUTSIDE.values(), ids=OUTSIDE)
def test_what_speaks_through_public_names_alone_is_a_contract_test(module, source):
    assert "test_x" in contract.contract_tests(module(source))


@pytest.mark.parametrize("source", INSIDE.values(), ids=INSIDE)
def test_what_reaches_an_inner_module_is_none(module, source):
    assert contract.contract_tests(module(source)) == set()


def test_a_module_that_says_it_is_of_the_suite_keeps_to_it():
    told = [module for module in MODULES if contract.promises(module)]
    broken = {f"{module}::{name}": contract.inner(module, name) for module in told for name in contract.tests(module)}
    assert {name: found for name, found in broken.items() if found} == {}


def test_a_module_of_contract_tests_alone_says_so():
    """So nobody takes a test out of the suite without taking the mark away as well."""
    alone = [module for module in MODULES if set(contract.tests(module)) == contract.contract_tests(module)]
    assert [module for module in alone if contract.tests(module) and not contract.promises(module)] == []
