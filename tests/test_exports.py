import pkgutil
import subprocess
import sys
from importlib import import_module
from types import ModuleType

import pytest

import ltr


@pytest.mark.parametrize("name", ltr.__all__)
def test_every_exported_name_resolves(name):
    assert getattr(ltr, name) is not None


def test_no_exported_name_becomes_a_module_once_the_modules_are_loaded():
    # only a direct child can take the place of a name of the package
    for module in pkgutil.iter_modules(ltr.__path__):
        if module.name != "__main__":  # it runs the command line
            import_module(f"ltr.{module.name}")
    for _ in ("first use", "second use"):
        assert [name for name in ltr.__all__ if isinstance(getattr(ltr, name), ModuleType)] == []


def test_intervals_can_be_asked_for_twice():
    result = ltr.evaluate(ltr.rank([2.0, 1.0, 2.0, 1.0], [0, 2, 4]), [1, 0, 0, 1])
    assert ltr.intervals(result) == ltr.intervals(result)


def test_the_list_of_names_is_the_list_of_homes():
    assert sorted(name for names in ltr._HOMES.values() for name in names) == sorted(set(ltr.__all__) - {"__version__"})


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
