import pickle

import pytest

from ltr.config import Document
from ltr.config.text import parse, path_text, value_text
from ltr.errors import ConfigError, Place, Problem

TEXT = "train:\n  l2: 0.1\nfeatures: [a, {name: b}]\n"


def test_a_value_that_is_not_there_is_placed_at_what_is_around_it():
    document = parse(TEXT, "c.yaml")
    assert str(document.place(("train", "epochs"))) == "c.yaml:1:1"
    assert str(document.place(("features", 1, "k"))) == "c.yaml:3:15"
    assert str(Document.of({}, "c.yaml").place(("train",))) == "c.yaml:1:1"


def test_replacing_a_value_leaves_the_old_document_as_it_was():
    document = parse(TEXT, "c.yaml")
    changed = document.replace("train.l2", 5, "--l2")
    assert document.value["train"] == {"l2": 0.1}
    assert changed.value == {"train": {"l2": 5}, "features": ["a", {"name": "b"}]}
    assert str(changed.place(("train", "l2"))) == "--l2"
    assert str(changed.place(("train",))) == "c.yaml:1:1"


def test_replacing_a_mapping_forgets_the_places_inside_it():
    changed = parse(TEXT, "c.yaml").replace("train", {"l2": 1}, "--set train")
    assert str(changed.place(("train", "l2"))) == "--set train"


def test_mappings_on_the_way_are_made_also_from_an_empty_key():
    document = parse("train:\n", "c.yaml").replace("train.l2", 1, "--l2").replace("a.b.c", 2, "--c")
    assert document.value == {"train": {"l2": 1}, "a": {"b": {"c": 2}}}
    assert str(document.place(("a",))) == "--c"


@pytest.mark.parametrize("path", ["features[1].name", "features.1.name"])
def test_list_entries_are_reached_by_number(path):
    changed = parse(TEXT, "c.yaml").replace(path, "c", "--x")
    assert changed.value["features"] == ["a", {"name": "c"}]
    assert str(changed.place(("features", 1, "name"))) == "--x"


@pytest.mark.parametrize(
    "path, message",
    [
        ("train.l2.x", "--x: train.l2 is 0.1, not a mapping"),
        ("features[2]", "--x: features has 2 entries, numbered from 0"),
        ("features.name", "--x: features has 2 entries, numbered from 0"),
        ("train..l2", "--x: train..l2: a path is keys joined by dots, such as train.l2"),
        ("", "--x: a path is keys joined by dots, such as train.l2"),
    ],
)
def test_a_path_that_leads_nowhere_is_refused(path, message):
    with pytest.raises(ConfigError) as error:
        parse(TEXT, "c.yaml").replace(path, 1, "--x")
    assert str(error.value) == message


def test_keys_and_values_in_messages_are_short_and_printable():
    assert path_text(("a" * 99, "x\x1b[0m", "")) == f"{'a' * 60}....'x\\x1b[0m'.''"
    assert value_text("\x1b") == "'\\x1b'"
    assert len(value_text(10**299)) == 63


def test_a_config_error_keeps_all_problems_and_can_travel_between_processes():
    problems = tuple(Problem(Place("c.yaml", line, 1), "a", "wrong") for line in range(1, 53))
    error = pickle.loads(pickle.dumps(ConfigError(problems)))
    assert error.problems == problems
    assert str(error).splitlines()[-2:] == ["c.yaml:50:1: a: wrong", "and 2 more"]
