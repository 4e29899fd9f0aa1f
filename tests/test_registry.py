import pkgutil
import subprocess
import sys
from importlib import import_module

import pytest

import ltr.encoders
import ltr.features
import ltr.importers
import ltr.rerankers
from ltr.encoders import ENCODERS
from ltr.errors import UnknownNameError, UsageError
from ltr.features import FEATURES
from ltr.importers import EXPORTERS, IMPORTERS
from ltr.plugins import OURS
from ltr.registry import Registry
from ltr.rerankers import RERANKERS


@pytest.fixture
def colours():
    registry = Registry("colour")
    registry.add("red", 1)
    registry.add("blue", 2)
    return registry


def test_a_name_gives_what_was_registered_under_it(colours):
    assert colours["red"] == 1
    assert "red" in colours
    assert "green" not in colours


def test_names_are_sorted_whatever_the_order_of_registration(colours):
    assert colours.names() == ("blue", "red")


def test_a_second_plug_in_under_one_name_is_refused(colours):
    with pytest.raises(UsageError, match="colour 'red' is registered twice, by python and by python"):
        colours.add("red", 3)


def test_an_unknown_name_lists_the_known_ones_and_suggests_the_nearest(colours):
    with pytest.raises(UnknownNameError) as caught:
        colours["bleu"]
    assert str(caught.value) == "unknown colour 'bleu'; did you mean blue?; known: blue, red"


def test_a_decorator_registers_and_returns_the_function(colours):
    @colours.register("green")
    def green():
        return "g"

    assert colours["green"] is green


def test_the_table_of_each_registry_names_the_plug_ins_of_its_modules_and_no_others():
    for package in (ltr.encoders, ltr.features, ltr.importers, ltr.rerankers):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            import_module(module.name)
    for registry in (FEATURES, ENCODERS, RERANKERS, IMPORTERS, EXPORTERS):
        registered = {name for name in registry._own if registry._sources[name] == OURS}
        assert registered == set(registry._homes), registry.kind


def test_a_plug_in_of_ours_is_imported_when_it_is_looked_up_and_its_neighbours_are_not():
    code = (
        "import sys; from ltr.features import FEATURES; FEATURES['tool.talk'];"
        "print(*sorted(name for name in sys.modules if name.startswith('ltr.features.')))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "ltr.features.words" in shown
    assert "ltr.features.letters" not in shown


def test_a_plug_in_from_outside_does_not_replace_one_of_ours_that_nobody_has_looked_up():
    registry = Registry("colour", {"ltr.registry": ("red",)})
    with pytest.raises(UsageError, match="colour 'red' is registered twice, by ltr 0.1.0 and by python"):
        registry.add("red", 1)
