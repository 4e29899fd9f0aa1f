import pytest

from ltr.errors import UnknownNameError, UsageError
from ltr.registry import Registry


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
