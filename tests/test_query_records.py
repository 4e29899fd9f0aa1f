"""What the record of a query says, by hand."""

from math import exp

import msgspec
import pytest

from ltr.results.queries import query_records
from tests.by_hand import ROUTER, TIE, WRONG, evaluated


def first(tmp_path, group, *, explain=False, **rules):
    """The record of one group, as it is written."""
    record = next(query_records(evaluated(tmp_path, [group], **rules), ROUTER, explain=explain))
    return msgspec.to_builtins(record)


def test_a_record_says_what_was_right_what_came_first_and_where_the_right_one_stood(tmp_path):
    record = first(tmp_path, WRONG)
    assert record == {
        "trace_id": "t",
        "node_id": "0",
        "query": "q0",
        "true_candidate": "b",
        "predicted_candidate": "c",
        "top3_candidates": ["c", "a", "b"],
        "top3_scores": [2.0, 1.0, 0.0],
        "rank": 3,
        "is_top1_correct": False,
        "is_top3_correct": True,
        "top1": 0.0,
        "top3": 1.0,
        "reciprocal_rank": 1 / 3,
        "tied": 0,
        "num_candidates": 4,
        "num_positives": 1,
        "probability": pytest.approx(1 / (exp(1) + 1 + exp(2) + exp(-1))),
    }


def test_an_explained_record_adds_w_times_phi_of_the_first_and_the_right(tmp_path):
    record = first(tmp_path, WRONG, explain=True)
    assert record["contributions"] == {"predicted": {"x1": 0.0, "x2": 2.0}, "true": {"x1": 0.0, "x2": 0.0}}


def test_without_a_right_candidate_there_is_neither_rank_nor_value(tmp_path):
    record = first(tmp_path, [("a", 0, 1, 0), ("b", 0, 0, 0)], explain=True)
    for key in ("true_candidate", "rank", "top1", "top3", "reciprocal_rank", "probability"):
        assert record[key] is None
    assert (record["predicted_candidate"], record["is_top1_correct"], record["num_positives"]) == ("a", False, 0)
    assert record["contributions"]["true"] is None


def test_counted_as_zero_a_query_without_a_right_candidate_has_values_of_zero(tmp_path):
    record = first(tmp_path, [("a", 0, 1, 0), ("b", 0, 0, 0)], no_relevant="zero")
    assert (record["rank"], record["top1"], record["reciprocal_rank"]) == (None, 0.0, 0.0)


@pytest.mark.parametrize(
    "ties, rank, top1, predicted",
    [
        ("expected", 3, 1 / 3, "a"),
        ("file", 1, 1.0, "b"),
        ("worst", 3, 0.0, "a"),
        ("best", 1, 1.0, "a"),
        ("trec", 2, 0.0, "c"),
    ],
)
def test_ties_fall_by_the_rule_and_are_listed_by_name(tmp_path, ties, rank, top1, predicted):
    record = first(tmp_path, TIE, ties=ties)
    assert (record["rank"], record["top1"], record["predicted_candidate"]) == (rank, pytest.approx(top1), predicted)
    assert record["tied"] == 2


def test_of_several_right_candidates_the_best_ranked_is_the_true_one(tmp_path):
    record = first(tmp_path, [("a", 0, 3, 0), ("b", 1, 1, 0), ("c", 1, 2, 0)])
    assert (record["true_candidate"], record["rank"], record["num_positives"]) == ("c", 2, 2)


def test_a_label_counts_as_right_from_the_threshold(tmp_path):
    record = first(tmp_path, [("a", 1, 3, 0), ("b", 2, 1, 0)], rel_threshold=2.0)
    assert (record["true_candidate"], record["rank"]) == ("b", 2)
