"""Leaks of the label through ids, types and positions."""

import pytest

from ltr.audit.leaks import id_words
from tests.audits import CLEAN, changed, findings_of
from tests.builders import graph_lines


@pytest.mark.parametrize("seed", range(20))
def test_labels_by_lot_give_no_leak(tmp_path, seed):
    lines = list(graph_lines(seed=seed, traces=30))
    assert not {code for code in findings_of(tmp_path, lines) if code.startswith("leak")}


@pytest.mark.parametrize("kind, name", [("tool", "tool"), ("graph", "candidate_id")])
@pytest.mark.parametrize("mark", ["{}_ground_truth", "groundTruth-{}"])
def test_an_id_that_carries_the_label_is_found_with_its_word(tmp_path, kind, name, mark):
    lines = changed(CLEAN[kind], **{name: lambda line: mark.format(line[name]) if line["label"] else line[name]})
    finding = findings_of(tmp_path, lines)["leak-id"]
    groups = len(lines) // 4
    assert "'ground', 'truth'" in finding.message
    assert f"right {groups} times of {groups}, by chance {groups / 4:.0f}" in finding.message
    assert finding.count == groups


def test_an_id_that_marks_the_wrong_candidates_is_found(tmp_path):
    lines = changed(CLEAN["graph"], candidate_id=lambda line: line["candidate_id"] + "_fake" * (1 - line["label"]))
    assert "ids without the word 'fake'" in findings_of(tmp_path, lines)["leak-id"].message


def test_a_third_of_the_ids_is_enough(tmp_path):
    lines = changed(
        CLEAN["graph"],
        candidate_id=lambda line: (
            line["candidate_id"] + "_gold" * (line["label"] * (int(line["trace_id"][1:]) % 3 == 0))
        ),
    )
    assert "'gold'" in findings_of(tmp_path, lines)["leak-id"].message


def popular(share):
    """Samples whose right tool is the same in so many of ten traces, and never offered where it is wrong."""
    return changed(
        CLEAN["tool"],
        tool=lambda line: "web_surfer" if line["label"] and int(line["trace_id"][1:]) % 10 < share else line["tool"],
    )


def test_a_tool_that_is_right_whenever_it_is_offered_is_history_and_no_leak(tmp_path):
    assert "leak-id" not in findings_of(tmp_path, popular(6))


def test_a_tool_that_is_the_answer_to_everything_is_a_leak(tmp_path):
    assert "'web'" in findings_of(tmp_path, popular(10))["leak-id"].message


def test_a_type_that_carries_the_label_is_found(tmp_path):
    lines = changed(
        CLEAN["graph"], candidate_type=lambda line: "ground_truth" if line["label"] else line["candidate_type"]
    )
    assert "the type reveals the label" in findings_of(tmp_path, lines)["leak-type"].message


@pytest.mark.parametrize("sign, place", [(1, "last"), (-1, "first")])
def test_the_right_candidate_always_at_one_end_is_found(tmp_path, sign, place):
    lines = sorted(CLEAN["tool"], key=lambda line: (line["trace_id"], line["node_id"], sign * line["label"]))
    finding = findings_of(tmp_path, lines)["leak-position"]
    assert f"stands {place} in 120 of 120 groups, by chance in 30:" in finding.message


def test_an_id_falls_into_words_at_case_and_digits():
    assert id_words("getHTTPData2-日本_x") == ["get", "http", "data", "2", "日本", "x", "gethttpdata2-日本_x"]
