import subprocess
import sys

import pytest

import ltr


@pytest.mark.parametrize("name", ltr.__all__)
def test_every_exported_name_resolves(name):
    assert getattr(ltr, name) is not None


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
