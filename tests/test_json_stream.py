import gzip
import json
import tracemalloc
from pathlib import Path

import pytest

from ltr.errors import SampleError
from ltr.files import reading
from ltr.jsonl import JsonValue, json_values
from tests.chats import call, exchange, said, user
from tests.made import tool_rows


def values(directory, text):
    (directory / "log.json").write_text(text, encoding="utf-8")
    return list(json_values(directory / "log.json"))


def test_lines_of_objects_are_values_and_a_broken_line_is_left_to_its_reader(tmp_path):
    text = '{"a": 1}\n\n{"a": \n[1]\n'
    assert values(tmp_path, text) == [JsonValue(1, b'{"a": 1}'), JsonValue(3, b'{"a": '), JsonValue(4, b"[1]")]


def test_an_array_around_the_values_is_taken_off(tmp_path):
    expected = [JsonValue(1, b'{"a": "]}"}'), JsonValue(2, b'[{"b": 2}]')]
    assert values(tmp_path, '[{"a": "]}"},\n[{"b": 2}]]\n') == expected


def test_a_document_over_many_lines_is_one_value_and_its_line_is_that_of_its_first_bracket(tmp_path):
    text = json.dumps({"traces": [{"x": '"\\'}]}, indent=1)
    assert values(tmp_path, "\n" + text + "\n" + text) == [
        JsonValue(2, text.encode()),
        JsonValue(2 + text.count("\n") + 1, text.encode()),
    ]


def test_what_lies_between_the_values_of_an_array_is_a_value_too(tmp_path):
    assert values(tmp_path, '[1, {"a": 2}, "x"]') == [
        JsonValue(1, b"1"),
        JsonValue(1, b'{"a": 2}'),
        JsonValue(1, b'"x"'),
    ]


@pytest.mark.parametrize("text", ['[{"a": 1}, {"b": ', '{\n"a": 1}\n{"b": '])
def test_a_file_that_ends_inside_a_value_says_so(tmp_path, text):
    first, last = values(tmp_path, text)
    assert (json.loads(first.content), first.is_whole) == ({"a": 1}, True)
    assert (last.content.strip(), last.is_whole) == (b'{"b":', False)


def test_an_array_that_is_not_closed_says_so(tmp_path):
    assert values(tmp_path, '[{"a": 1},') == [JsonValue(1, b'{"a": 1}'), JsonValue(1, b"", is_whole=False)]


def test_values_may_lie_across_the_blocks_of_reading(tmp_path, monkeypatch):
    rows = [{"text": 'q"uo\\te\n[{', "n": [n, {"m": []}]} for n in range(30)]
    for size in (1, 2, 3, 7, 40):
        monkeypatch.setattr(reading, "BLOCK", size)
        for indent in (None, 1):
            found = [json.loads(value.content) for value in values(tmp_path, json.dumps(rows, indent=indent))]
            assert found == rows


def test_a_value_beyond_the_limit_is_refused_with_its_line(tmp_path, monkeypatch):
    monkeypatch.setenv("LTR_LARGEST_LINE", "1")
    with pytest.raises(SampleError, match="log.json:2: the JSON value is longer than 1 MiB"):
        values(tmp_path, '[\n{"a": "' + "x" * (3 << 20) + '"}]')


@pytest.mark.parametrize("text", ["", "  \n", "[]", "[ ]\n"])
def test_a_file_without_values_has_none(tmp_path, text):
    assert values(tmp_path, text) == []


BLANKS, LINES = " " * (1 << 20), (" " * 1023 + "\n") * 1024
FORMS = {"lines": ("", "", "\n"), "an array": ("", "[", ",\n"), "inside an array": ("[", "", ",\n")}


def packed(form, rows, white):
    """A file with white space before its first value."""
    before, behind, between = FORMS[form]
    with gzip.open("s.jsonl.gz", "wt", compresslevel=1) as file:
        file.write(before)
        file.writelines(white)
        file.write(behind + between.join(map(json.dumps, rows)) + ("" if form == "lines" else "]"))
    return "s.jsonl.gz"


def peak_of(work):
    """The most memory, in MiB, that Python held while the work was done."""
    tracemalloc.start()
    work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (1 << 20)


@pytest.mark.parametrize("form", FORMS)
def test_100_mb_of_white_space_before_the_first_value_take_no_memory(cli, form):
    path = packed(form, tool_rows(range(3)), [BLANKS] * 100)
    assert peak_of(lambda: cli.good("validate", path, "--format", "json")) < 80
    assert json.loads(cli.out)["counts"]["candidates"] == 30
    path = packed(form, [exchange([user("rain?")], said(call("weather")))], [BLANKS] * 100)
    assert peak_of(lambda: cli.good("import", path, "-o", "out.jsonl")) < 80
    assert len(Path("out.jsonl").read_text().splitlines()) == 1


@pytest.mark.parametrize("form", FORMS)
def test_lines_are_counted_from_the_first_of_the_file_whatever_white_space_it_begins_with(cli, form):
    good, *_ = tool_rows(range(1))
    path = packed(form, [good, good | {"tool": 7}], [LINES] * 3)
    code, message = cli.refused("train", path, "-o", "run")
    assert (code, message.partition(" ")[0]) == (3, f"{path}:{3 * 1024 + 2}:")
