"""A misspelt key of a sample is reported with the key that may be meant."""

import pytest

from ltr import audit_samples, read_groups
from ltr.errors import SampleError
from ltr.samples.schema import misspelt_keys
from tests.builders import tool_lines, write_lines

LINE = {"trace_id": "t1", "node_id": "n1", "query": "rain?", "tool": "weather", "label": 1}


def renamed(line, key, other):
    return {other if name == key else name: value for name, value in line.items()}


def test_a_label_misspelt_on_every_line_is_a_warning_that_names_label(tmp_path):
    lines = [renamed(line, "label", "lable") for line in tool_lines(traces=3)]
    report = audit_samples(write_lines(tmp_path / "s.jsonl", lines))
    finding = next(finding for finding in report.findings if finding.code == "misspelt-key")
    assert finding.message == "lable: unknown key, which is ignored; is label meant?"
    assert (finding.severity, finding.count) == ("warning", len(lines))
    assert finding.where[0].endswith("s.jsonl:1")


@pytest.mark.parametrize(
    "key, other", [("label", "lable"), ("trace_id", "traceid"), ("query", "qury"), ("tool", "tool_name")]
)
def test_an_error_about_a_missing_key_names_the_key_that_stands_in_its_place(tmp_path, key, other):
    path = write_lines(tmp_path / "s.jsonl", [renamed(LINE, key, other)])
    with pytest.raises(SampleError, match=f"found '{other}': is {key} meant"):
        read_groups(path)


def test_a_missing_key_of_a_candidate_in_a_list_is_named_too(tmp_path):
    line = {"trace_id": "t1", "node_id": "n1", "query": "rain?", "candidates": [{"tool": "weather", "lable": 1}]}
    with pytest.raises(SampleError, match=r"candidates\[0\].label: missing; .*found 'lable': is label meant"):
        read_groups(write_lines(tmp_path / "s.jsonl", [line]))


def test_an_unknown_key_beside_the_known_one_is_the_users_own():
    assert misspelt_keys(b'{"label": 1, "labels": 2}') == {}


def test_keys_inside_a_tree_are_not_keys_of_the_line():
    assert misspelt_keys(b'{"candidate_id": "g", "tree": {"nodes": [{"id": "a", "tools": []}]}}') == {}


def test_text_that_looks_like_a_key_is_none():
    assert misspelt_keys(rb'{"query": "what is \"lable\": 1?"}') == {}


def test_a_description_without_its_prefix_is_reported():
    assert misspelt_keys(b'{"tool": "a", "description": "Weather"}') == {"description": "tool_description"}
