"""The arithmetic of a bench, by hand and by the specification's worked numbers."""

import numpy as np
import pytest

from ltr import evaluate, rank
from ltr.rerankers.figures import FrontPoint, balanced, cost, is_on_front, latency, throughput


@pytest.mark.parametrize(
    "labels, expected", [([3, 0, 1, 2], [1, 0.735007, 0.915893]), ([3, 1, 0, 2], [1, 0.762502, 0.943388])]
)
def test_ndcg_of_the_specifications_documents_in_input_order(labels, expected):
    names = ["ndcg@1", "ndcg@3", "ndcg@5"]
    result = evaluate(rank([4.0, 3.0, 2.0, 1.0], [0, 4]), labels, names)
    assert [result.means[name] for name in names] == pytest.approx(expected, abs=5e-7)


@pytest.mark.parametrize("seconds, printed", [(0.015, 266.67), (0.055, 72.73), (0.104, 38.46)])
def test_throughput_is_documents_over_seconds_where_the_specification_prints_ten_times_as_many(seconds, printed):
    assert throughput(4 * 10, [seconds * 1000] * 10) == pytest.approx(4 / seconds)
    assert round(4 / seconds, 2) == printed


def test_throughput_of_no_time_is_not_known():
    assert throughput(4, [0.0]) is None


def test_cost_of_four_documents_at_a_ten_thousandth():
    found = cost(10, 40, None, 0.0001)
    assert found.per_query == pytest.approx(0.0004)
    assert found.total == pytest.approx(10 * 0.0004)
    assert found.per_document == pytest.approx(0.0001)


def test_cost_adds_what_a_query_costs_to_what_its_documents_cost():
    assert cost(2, 10, 0.5, 0.1).total == pytest.approx(2 * 0.5 + 10 * 0.1)


def test_cost_without_a_price_is_none_and_of_a_price_of_zero_is_zero():
    assert cost(2, 10, None, None) is None
    assert cost(2, 10, 0.0, None).total == 0


def test_latency_is_mean_population_deviation_and_linear_percentiles():
    found = latency([1.0, 2.0, 3.0, 10.0])
    assert found.mean_ms == 4
    assert found.std_ms == pytest.approx(np.sqrt((9 + 4 + 1 + 36) / 4))
    assert found.p50_ms == 2.5
    assert found.p95_ms == pytest.approx(3 + 0.85 * 7)  # at place 0.95 * 3 = 2.85 of 0..3
    assert found.n == 4


@pytest.mark.parametrize(
    "n, too_few",
    [
        (1, ["p50_ms", "p95_ms", "p99_ms"]),
        (2, ["p95_ms", "p99_ms"]),
        (19, ["p95_ms", "p99_ms"]),
        (20, ["p99_ms"]),
        (99, ["p99_ms"]),
        (100, []),
    ],
)
def test_a_percentile_of_fewer_than_one_over_its_tail_is_flagged(n, too_few):
    assert latency([1.0] * n).too_few == too_few


def test_balance_is_quality_over_weighted_seconds_and_undefined_for_zero():
    assert balanced(0.9, 300.0, 2.0) == pytest.approx(0.9 / (0.3 * 2))
    assert balanced(0.9, 0.0, 2.0) is None
    assert balanced(0.9, 300.0, 0.0) is None
    assert balanced(0.9, 300.0, 5e-324) is None
    assert balanced(0.9, 300.0, 1e-310) is None


def test_the_front_holds_whoever_nobody_beats():
    quick, good, dear, slow = (
        FrontPoint(0.5, 1.0),
        FrontPoint(0.9, 50.0),
        FrontPoint(0.9, 40.0, 1.0),
        FrontPoint(0.5, 2.0),
    )
    assert is_on_front([quick, good, dear, slow]) == [True, True, True, False]


def test_equals_are_both_on_the_front_and_who_takes_no_part_beats_nobody():
    assert is_on_front([FrontPoint(0.5, 1.0), FrontPoint(0.5, 1.0), None]) == [True, True, False]


@pytest.mark.parametrize("seed", range(5))
def test_the_front_is_what_a_naive_search_finds(seed):
    drawn = np.random.default_rng(seed).integers(0, 4, size=(12, 3)).tolist()
    points = [FrontPoint(*each) for each in drawn]
    expected = [
        not any(q >= a and lat <= b and c <= d and (q, lat, c) != (a, b, d) for q, lat, c in drawn) for a, b, d in drawn
    ]
    assert is_on_front(points) == expected
