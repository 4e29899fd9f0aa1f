"""What a measured ranking says of each query, by hand."""

import json
from math import exp

import msgspec
import numpy as np
import pytest

from ltr.config.run import EvaluateConfig, RunConfig
from ltr.data.groups import read_groups
from ltr.evaluation.ranking import BestFeature
from ltr.experiments.pipeline import evaluate_router
from ltr.experiments.runs import catalogue
from ltr.results.query_records import query_records as queries
from ltr.serving.router import Router
from ltr.storage.training_record import TrainingRecord
from ltr.training.config import TrainConfig
from tests.made import written
from tests.stored import flat_metrics as metrics

BEST = TrainingRecord(best_feature=BestFeature("x1", 1))
ROUTER = Router("tool", ("x1", "x2"), np.array([1.0, 2.0]), None, TrainConfig(), BEST)


def measured(tmp_path, groups, *, ties="expected", **rules):
    """The ranking of groups of (name, label, x1, x2) by w = (1, 2)."""
    rows = [
        {"trace_id": "t", "node_id": node, "query": f"q{node}", "tool": name, "label": label, "features": [x1, x2]}
        for node, group in enumerate(groups)
        for name, label, x1, x2 in group
    ]
    config = RunConfig(evaluate=EvaluateConfig(ties=ties, **rules))
    return evaluate_router(ROUTER, read_groups(written(tmp_path / "s.jsonl", rows)), config)


def first(tmp_path, group, *, explain=False, **rules):
    """The record of one group, as it is written."""
    record = next(queries(measured(tmp_path, [group], **rules), ROUTER, explain=explain))
    return msgspec.to_builtins(record)


WRONG = [("a", 0, 1, 0), ("b", 1, 0, 0), ("c", 0, 0, 1), ("d", 0, -1, 0)]  # scores 1, 0, 2, -1


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


TIE = [("b", 1, 1, 0), ("a", 0, 1, 0), ("c", 0, 1, 0)]


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


def test_the_metrics_name_their_rules_and_counts(tmp_path):
    lone, hopeless = [("a", 1, 1, 0)], [("a", 0, 1, 0), ("b", 0, 0, 0)]
    flat = metrics(measured(tmp_path, [WRONG, lone, hopeless, TIE], metrics=("hit@2",)))
    assert list(flat)[:5] == ["top1_accuracy", "top3_accuracy", "mrr", "num_queries", "hit@2"]
    assert flat["mrr"] == pytest.approx((1 / 3 + 1 + (1 + 1 / 2 + 1 / 3) / 3) / 3)
    counts = {key: value for key, value in flat.items() if key.startswith("num_")}
    assert counts == {
        "num_queries": 3,
        "num_groups": 4,
        "num_candidates": 4 + 1 + 2 + 3,
        "num_tied": 1,
        "num_no_relevant": 1,
        "num_one_candidate": 1,
    }
    rules = {key: flat[key] for key in ("split", "ties", "gain", "rel_threshold", "no_relevant")}
    assert rules == {"split": "given", "ties": "expected", "gain": "label", "rel_threshold": 1.0, "no_relevant": "skip"}


def test_random_order_is_the_exact_expectation(tmp_path):
    flat = metrics(measured(tmp_path, [WRONG, TIE]))
    assert flat["random.top1_accuracy"] == pytest.approx((1 / 4 + 1 / 3) / 2)
    assert flat["random.mrr"] == pytest.approx(((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4 + (1 + 1 / 2 + 1 / 3) / 3) / 2)
    assert flat["untrained.mrr"] == pytest.approx((1 / 3 + (1 + 1 / 2 + 1 / 3) / 3) / 2)
    assert flat["oracle.mrr"] == 1.0


def test_a_tool_keeps_the_first_text_it_has(tmp_path):
    rows = [
        {"trace_id": trace, "node_id": 0, "query": "q", "tool": tool, "tool_description": text, "label": 1}
        for trace, tool, text in ((1, "a", "first"), (1, "b", ""), (2, "a", "second"))
    ]
    groups = read_groups(written(tmp_path / "s.jsonl", rows))
    assert list(catalogue(groups.candidates)) == [
        {"name": "a", "description": "first", "inputs": ""},
        {"name": "b", "description": "", "inputs": ""},
    ]


def test_the_gain_over_the_best_feature_resamples_whole_traces(tmp_path):
    rows = [
        {"trace_id": trace, "node_id": node, "query": "q", "tool": tool, "label": label, "features": [1 - label, x2]}
        for trace in range(8)
        for node in range(6)
        for tool, label, x2 in (("a", 1, trace % 2), ("b", 0, 0))
    ]  # Top-1 is 1 in every other trace, that of x1 alone 0
    groups = read_groups(written(tmp_path / "s.jsonl", rows))
    interval = evaluate_router(ROUTER, groups, RunConfig()).over_best_feature
    deviation = (0.5 * 0.5 / 8) ** 0.5
    assert interval.mean == 0.5
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * deviation, rel=0.2)


def test_one_trace_of_several_queries_has_no_interval(tmp_path):
    flat = json.loads(msgspec.json.encode(metrics(measured(tmp_path, [WRONG, WRONG]))))
    assert (flat["interval_unit"], flat["interval_num_units"]) == ("trace", 1)
    ends = [flat[f"{name}{end}"] for name in ("top1_accuracy", "mrr", "over_best_feature") for end in (".low", ".high")]
    assert ends == [None] * 6
    assert flat["over_best_feature"] == 0.0


def test_the_best_feature_is_named_beside_its_numbers(tmp_path):
    flat = metrics(measured(tmp_path, [WRONG]))
    assert (flat["best_feature"], flat["best_feature.sign"]) == ("x1", 1)
    assert "best_feature" not in metrics(measured(tmp_path, [WRONG], baselines=False))
