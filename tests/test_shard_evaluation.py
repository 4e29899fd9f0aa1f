"""A router measured shard by shard: the numbers of the same groups in memory."""

import json
from dataclasses import replace
from functools import reduce
from operator import add

import msgspec
import numpy as np
import pytest

from ltr import RunConfig, evaluate, measure, rank, run
from ltr.errors import UsageError
from ltr.evaluation import MEASURES, Probability, candidate_probabilities, named
from ltr.evaluation.probabilities import CandidateCounts
from ltr.featurized import load_columns, new_columns, open_columns
from ltr.featurized.columns import save_columns
from ltr.results import Wanted, evaluate_router, measure_and_keep
from ltr.results.queries import rescued, wrong
from tests.builders import tool_lines
from tests.made import DataConfig, EvaluateConfig, written

CANDIDATES = (
    "auc",
    "roc",
    "logloss",
    "ece",
    "reliability",
    "accuracy",
    "confusion",
    "f2",
    "ece_first",
    "gauc",
    "ndcg@3",
)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run of the samples, and their columns in twelve parts."""
    folder = tmp_path_factory.mktemp("shards")
    path = written(folder / "raw.jsonl", tool_lines(seed=3, traces=30, groups=3, candidates=5))
    config = RunConfig(data=DataConfig(train=str(path)))
    result = run(config)
    groups = result.train
    with new_columns(folder / "columns", result.router.features) as writer:
        for first in range(0, 30, 3):
            chosen = np.flatnonzero((groups.candidates.traces >= first) & (groups.candidates.traces < first + 3))
            rows = slice(groups.offsets[chosen[0]], groups.offsets[chosen[-1] + 1])
            writer.add(groups.select(chosen), result.measured.phi[rows])
    save_columns(folder / "whole.npz", groups, result.measured.phi, result.router.features)
    return result, folder


def in_memory(made, config, **wanted):
    """The same groups with the same columns, at once."""
    result, folder = made
    return evaluate_router(result.router, load_columns(folder / "whole.npz")[0], config, Wanted(**wanted))


def in_shards(made, config, **wanted):
    """The groups, shard by shard."""
    result, folder = made
    return evaluate_router(result.router, open_columns(folder / "columns"), config, Wanted(**wanted))


def kept(made, measure, out):
    """What is measured, and kept in the directory."""
    keep = lambda keep_in: measure(made, RunConfig(), explain=True, by_tool=True, keep_in=keep_in)  # noqa: E731
    return measure_and_keep(keep, out)


def close(found, expected):
    """Whether numbers, in whatever they are nested, agree to the last digits."""
    if isinstance(expected, dict):
        assert set(found) == set(expected)
        for key, value in expected.items():
            close(found[key], value)
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            close(one, other)
    else:
        assert found == (pytest.approx(expected, rel=1e-12, abs=1e-15) if isinstance(expected, float) else expected)


@pytest.mark.parametrize("ties", ["expected", "worst", "trec"])
def test_metrics_of_queries_are_those_in_memory(made, ties):
    config = RunConfig(evaluate=EvaluateConfig(metrics=("ndcg@3", "map", "err"), ties=ties))
    found, expected = in_shards(made, config), in_memory(made, config)
    assert len(open_columns(made[1] / "columns")) == 10
    close(msgspec.to_builtins(found.record), msgspec.to_builtins(expected.record))
    assert found.evaluation.values["ndcg@3"].tobytes() == expected.evaluation.values["ndcg@3"].tobytes()
    assert found.evaluation.means == expected.evaluation.means


def test_measures_over_candidates_are_sums_and_auc_keeps_its_bound(made):
    config = RunConfig(evaluate=EvaluateConfig(metrics=CANDIDATES, rel_threshold=1.0))
    found, expected = in_shards(made, config), in_memory(made, config)
    for name, mean in expected.evaluation.means.items():
        if name != "auc":
            assert found.evaluation.means[name] == pytest.approx(mean, rel=1e-12), name
    bound = found.evaluation.error_bounds
    assert set(bound) == {"auc", "roc"}
    assert abs(found.evaluation.means["auc"] - expected.evaluation.means["auc"]) <= bound["auc"] + 1e-15
    close(found.evaluation.curves["reliability"], expected.evaluation.curves["reliability"])
    assert found.record.error_bounds == bound
    for name, baseline in expected.baselines.items():
        assert found.baselines[name].means["ece"] == pytest.approx(baseline.means["ece"], rel=1e-12)


def test_what_is_kept_of_shards_is_what_is_kept_of_the_same_groups(made, tmp_path):
    found, expected = kept(made, in_shards, tmp_path / "shards"), kept(made, in_memory, tmp_path / "whole")
    assert sorted(path.name for path in (tmp_path / "shards").iterdir()) == [
        "by_tool.jsonl",
        "metrics.json",
        "per_query.jsonl",
    ]
    for name in ("per_query.jsonl", "by_tool.jsonl"):
        assert (tmp_path / "shards" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()
    close(*(json.loads((tmp_path / name / "metrics.json").read_text()) for name in ("shards", "whole")))
    assert found.by_tool() == expected.by_tool()


@pytest.mark.parametrize("field", ["tool", "node_id", "query"])
def test_each_value_of_a_field_is_measured_as_in_memory(made, field):
    config = RunConfig(evaluate=EvaluateConfig(group_by=field))
    found, expected = (measure(made, config).record.breakdown for measure in (in_shards, in_memory))
    close(msgspec.to_builtins(found), msgspec.to_builtins(expected))


def test_what_explains_most_is_that_of_all_shards(made):
    found, expected = (measure(made, RunConfig(), explain=True) for measure in (in_shards, in_memory))
    for explain in (wrong, rescued):
        assert explain(found, made[0].router) == explain(expected, made[0].router)


def test_each_query_is_ranked_on_the_whole_catalogue_where_that_is_asked_for(made):
    config = RunConfig(evaluate=EvaluateConfig(catalogue=True))
    found, expected = in_shards(made, config), in_memory(made, config)
    close(msgspec.to_builtins(found.record), msgspec.to_builtins(expected.record))
    raw = evaluate_router(made[0].router, made[0].train, config)
    close(found.evaluation.means["mrr@catalogue"], raw.evaluation.means["mrr@catalogue"])
    assert "mrr@catalogue" not in in_shards(made, RunConfig()).evaluation.means


def test_ready_numbers_of_others_have_no_texts_to_rank_the_catalogue_by(made):
    groups = open_columns(made[1] / "columns")[0]
    foreign = replace(groups, candidates=replace(groups.candidates, fit=""))
    with pytest.raises(UsageError, match="needs texts; the samples bear ready features that ltr did not compute"):
        evaluate_router(made[0].router, foreign, RunConfig(evaluate=EvaluateConfig(catalogue=True)))


def test_what_needs_all_groups_at_once_is_refused_by_name(made):
    @measure("mean_p", "the mean p", kind=type(named("auc")))
    def mean_p(candidates):
        """Mean of p."""
        return float(candidates.probability.mean())

    config = RunConfig(evaluate=EvaluateConfig(metrics=("mean_p",)))
    try:
        with pytest.raises(UsageError, match="metric 'mean_p' takes all candidates at once"):
            in_shards(made, config)
    finally:
        MEASURES._own.pop("mean_p")


@pytest.mark.parametrize("seed", range(25))
@pytest.mark.parametrize("meaning", list(Probability))
def test_the_bins_say_how_far_auc_and_roc_can_be_from_the_exact_ones(seed, meaning):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 8, 60)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    spread = 10.0 ** rng.uniform(-4, 2)
    scores = np.round(rng.normal(size=offsets[-1]) * spread, int(rng.integers(1, 6)))
    scores = rng.random(offsets[-1]) if meaning is Probability.GIVEN else scores
    labels = (rng.random(offsets[-1]) < 0.3).astype(float)
    exact = evaluate(rank(scores, offsets), labels, ["auc", "roc"], probability=meaning)
    parts = []
    for first, last in zip(range(0, 60, 7), [*range(7, 60, 7), 60], strict=True):
        rows = slice(offsets[first], offsets[last])
        ranking, right = rank(scores[rows], offsets[first : last + 1] - offsets[first]), labels[rows] > 0
        counted = np.logical_or.reduceat(right, ranking.offsets[:-1])
        parts.append(CandidateCounts.of(candidate_probabilities(ranking, right, counted, 0.5, meaning)))
    counts = reduce(add, parts)
    auc, bounds = named("auc").of(counts)["auc"], counts.error_bounds
    assert abs(auc - exact.means["auc"]) <= bounds["auc"] + 1e-12
    assert bounds["auc"] <= (0.01 if meaning is Probability.GIVEN else 0.5)  # scores of one bin may all be alike
    curve, true = named("roc").of(counts), exact.curves["roc"]
    columns = ("false_positive_rate", "true_positive_rate")
    at = np.array([curve[name] for name in columns])
    for miss, hit in zip(*(true[name] for name in columns), strict=True):  # each corner lies near the coarse curve
        low, high = (np.interp(miss + shift, at[0], at[1]) for shift in (-bounds["roc"], bounds["roc"]))
        assert low - bounds["roc"] - 1e-12 <= hit <= high + bounds["roc"] + 1e-12


@pytest.mark.parametrize("label", [0.0, 1.0])
def test_candidates_that_are_all_right_or_all_wrong_have_no_auc_and_no_bound_of_it(label):
    ranking = rank([3.0, 2.0, 1.0], [0, 3])
    right = np.full(3, label) > 0
    counts = CandidateCounts.of(candidate_probabilities(ranking, right, np.ones(1, dtype=bool), 0.5))
    assert counts.error_bounds == {}
    assert named("auc").of(counts)["auc"] is None


def test_no_query_fills_no_bin_of_the_first_choices():
    nothing = candidate_probabilities(rank([1.0], [0, 1]), np.zeros(1, dtype=bool), np.zeros(1, dtype=bool), 0.5)
    assert not nothing.first_calibration.any()
    assert not CandidateCounts.of(nothing).first_calibration.any()
