"""What metrics.json says of an evaluated ranking, in the flat view, by hand."""

import json

import msgspec
import pytest

from ltr import RunConfig, read_groups
from ltr.results import evaluate_router
from tests.by_hand import ROUTER, TIE, WRONG, evaluated
from tests.made import written
from tests.stored import flat_metrics


def test_the_metrics_name_their_rules_and_counts(tmp_path):
    lone, hopeless = [("a", 1, 1, 0)], [("a", 0, 1, 0), ("b", 0, 0, 0)]
    flat = flat_metrics(evaluated(tmp_path, [WRONG, lone, hopeless, TIE], metrics=("hit@2",)))
    assert list(flat)[:5] == ["top1_accuracy", "top3_accuracy", "mrr", "num_queries", "hit@2"]
    assert flat["mrr"] == pytest.approx((1 / 3 + 1 + (1 + 1 / 2 + 1 / 3) / 3) / 3)
    counts = {key: value for key, value in flat.items() if key.startswith("num_")}
    assert counts == {
        "num_queries": 3,
        "num_groups": 4,
        "num_candidates": 4 + 1 + 2 + 3,
        "num_drawn": 0,
        "num_tied": 1,
        "num_no_relevant": 1,
        "num_none": 0,
        "num_one_candidate": 1,
    }
    rules = {key: flat[key] for key in ("split", "ties", "gain", "rel_threshold", "no_relevant")}
    assert rules == {"split": "given", "ties": "expected", "gain": "label", "rel_threshold": 1.0, "no_relevant": "skip"}


def test_random_order_is_the_exact_expectation(tmp_path):
    flat = flat_metrics(evaluated(tmp_path, [WRONG, TIE]))
    assert flat["random.top1_accuracy"] == pytest.approx((1 / 4 + 1 / 3) / 2)
    assert flat["random.mrr"] == pytest.approx(((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4 + (1 + 1 / 2 + 1 / 3) / 3) / 2)
    assert flat["untrained.mrr"] == pytest.approx((1 / 3 + (1 + 1 / 2 + 1 / 3) / 3) / 2)
    assert flat["oracle.mrr"] == 1.0


def test_the_lead_over_the_best_feature_resamples_whole_traces(tmp_path):
    rows = [
        {"trace_id": trace, "node_id": node, "query": "q", "tool": tool, "label": label, "features": [1 - label, x2]}
        for trace in range(8)
        for node in range(6)
        for tool, label, x2 in (("a", 1, trace % 2), ("b", 0, 0))
    ]  # Top-1 is 1 in every other trace, that of x1 alone 0
    groups = read_groups(written(tmp_path / "s.jsonl", rows))
    interval = evaluate_router(ROUTER, groups, RunConfig()).record.over_best_feature
    deviation = (0.5 * 0.5 / 8) ** 0.5
    assert interval.mean == 0.5
    assert interval.high - interval.low == pytest.approx(2 * 1.96 * deviation, rel=0.2)


def test_one_trace_of_several_queries_has_no_interval(tmp_path):
    flat = json.loads(msgspec.json.encode(flat_metrics(evaluated(tmp_path, [WRONG, WRONG]))))
    assert (flat["interval_unit"], flat["interval_num_units"]) == ("trace", 1)
    ends = [flat[f"{name}{end}"] for name in ("top1_accuracy", "mrr", "over_best_feature") for end in (".low", ".high")]
    assert ends == [None] * 6
    assert flat["over_best_feature"] == 0.0


def test_the_best_feature_is_named_beside_its_numbers(tmp_path):
    flat = flat_metrics(evaluated(tmp_path, [WRONG]))
    assert (flat["best_feature"], flat["best_feature.sign"]) == ("x1", 1)
    assert "best_feature" not in flat_metrics(evaluated(tmp_path, [WRONG], baselines=False))
