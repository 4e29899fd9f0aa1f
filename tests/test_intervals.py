from dataclasses import replace

import numpy as np
import pytest

from ltr.evaluation.bootstrap import bootstrap_mean
from ltr.evaluation.evaluate import evaluate
from ltr.evaluation.intervals import intervals, resampled_units
from ltr.evaluation.ranking import rank


def evaluation(queries=200, seed=0, metrics=("ndcg@3",)):
    """Queries of four candidates with one right one; a query in ten has none."""
    draw = np.random.default_rng(seed)
    labels = np.zeros((queries, 4))
    labels[np.arange(queries), draw.integers(4, size=queries)] = draw.random(queries) < 0.9
    return evaluate(rank(draw.random(4 * queries), np.arange(0, 4 * queries + 1, 4)), labels.ravel(), metrics)


def test_every_mean_lies_in_its_interval():
    result = evaluation()
    found = intervals(result)
    assert list(found) == list(result.means)
    for name, interval in found.items():
        assert interval.low < result.means[name] == interval.mean < interval.high


def test_only_counted_queries_are_resampled():
    result = evaluation()
    assert intervals(result)["mrr"].units == result.num_queries < 200


def test_one_metric_by_itself_has_the_interval_that_it_has_beside_others():
    values = evaluation().values["mrr"]
    alone = bootstrap_mean(values[~np.isnan(values)], np.random.default_rng(0))
    assert alone == intervals(evaluation())["mrr"] == intervals(evaluation(metrics=["map", "dcg@2"]))["mrr"]


def test_clusters_that_agree_widen_the_interval():
    result = evaluation(400)
    alike = {name: np.repeat(values[:40], 10) for name, values in result.values.items()}
    repeated = replace(result, values=alike)
    by_query, by_trace = intervals(repeated)["mrr"], intervals(repeated, np.repeat(np.arange(40), 10))["mrr"]
    assert (by_trace.high - by_trace.low) / (by_query.high - by_query.low) == pytest.approx(np.sqrt(10), rel=0.2)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    assert intervals(evaluation(), seed=4) == intervals(evaluation(), seed=4) != intervals(evaluation(), seed=5)


def test_without_a_query_that_counts_there_is_no_interval():
    assert intervals(evaluate(rank([1.0, 2.0], [0, 2]), [0, 0])) == {}


def test_traces_are_units_only_where_one_holds_several_queries():
    assert resampled_units(np.array([3, 1, 2])) is None
    assert resampled_units(np.array([3, 1, 3])).tolist() == [3, 1, 3]


def test_a_hundred_thousand_queries_are_resampled_in_a_blink():
    import time

    result = evaluation(100_000, metrics=())
    start = time.process_time()
    intervals(result)
    assert time.process_time() - start < 2
