import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from ltr import evaluate, rank
from ltr.arrays import LARGEST
from ltr.errors import DataError, LtrError, UsageError
from ltr.evaluation import bootstrap_difference, intervals, resampled_units
from ltr.evaluation.bootstrap import bootstrap_mean, bootstrap_means


def rng():
    return np.random.default_rng(7)


def test_the_interval_is_that_of_the_plain_resampling_loop():
    values = np.random.default_rng(1).normal(size=40)
    found = bootstrap_mean(values, rng(), resamples=500)
    drawn = rng().spawn(1)[0].integers(40, size=(500, 40))
    by_hand = np.quantile([values[each].mean() for each in drawn], [0.025, 0.975])
    assert [found.low, found.high] == pytest.approx(by_hand, abs=1e-12)
    assert found.mean == values.mean()


def test_the_interval_agrees_with_scipy_up_to_chance():
    from scipy.stats import bootstrap

    values = np.random.default_rng(2).exponential(size=300)
    found = bootstrap_mean(values, rng(), resamples=9999)
    theirs = bootstrap((values,), np.mean, method="percentile", rng=rng()).confidence_interval
    assert [found.low, found.high] == pytest.approx([theirs.low, theirs.high], abs=0.01)


def test_clusters_are_drawn_whole():
    # two clusters of unequal size: the draws are 11, 12 = 21, 22
    values, clusters = np.array([1.0, 1.0, 1.0, 0.0]), np.array([5, 5, 5, 9])
    found = bootstrap_mean(values, rng(), clusters=clusters)
    assert (found.low, found.mean, found.high, found.units) == (0, 3 / 4, 1, 2)


def test_clusters_of_equal_rows_widen_the_interval():
    values = np.random.default_rng(3).normal(size=50)
    by_row, by_cluster = (
        bootstrap_mean(np.repeat(values, 10), rng(), clusters=clusters)
        for clusters in (None, np.repeat(np.arange(50), 10))
    )
    ratio = (by_cluster.high - by_cluster.low) / (by_row.high - by_row.low)
    assert ratio == pytest.approx(np.sqrt(10), rel=0.1)


def test_clusters_of_one_row_are_rows():
    values = np.random.default_rng(4).normal(size=30)
    assert bootstrap_mean(values, rng(), clusters=np.arange(30)) == bootstrap_mean(values, rng())


@pytest.mark.parametrize("values, clusters", [([0.5], None), ([0.0, 1.0, 0.5], [7, 7, 7])])
def test_one_unit_has_a_mean_and_no_interval(values, clusters):
    found = bootstrap_mean(values, rng(), clusters=clusters)
    assert (found.mean, found.low, found.high, found.units) == (0.5, None, None, 1)


def test_a_difference_is_paired():
    noise = np.random.default_rng(5).normal(size=100) * 50
    found = bootstrap_difference(noise + 1, noise, rng())
    assert (found.low, found.mean, found.high) == pytest.approx((1, 1, 1))


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    values = np.random.default_rng(6).normal(size=30)
    assert bootstrap_mean(values, rng()) == bootstrap_mean(values, rng())
    assert bootstrap_mean(values, rng()) != bootstrap_mean(values, np.random.default_rng(8))


def test_many_rows_are_drawn_in_parts():
    tracemalloc.start()
    found = bootstrap_mean(np.tile([0.0, 1.0], 300_000), rng(), resamples=100)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6  # all draws at once are 480 MB
    assert found.high - found.low == pytest.approx(2 * 1.96 * 0.5 / np.sqrt(600_000), rel=0.4)


def test_lists_are_values_too():
    assert bootstrap_mean([1.0, 2.0], rng()) == bootstrap_mean(np.array([1.0, 2.0]), rng())


@pytest.mark.parametrize(
    "values, options, message",
    [
        ([1.0], {"resamples": 0}, "resamples is 0; a whole number of at least 1 is needed"),
        ([1.0], {"level": 2}, "level is 2; it must be between 0 and 1"),
        ([1.0, 2.0], {"clusters": [1]}, "one cluster a value is needed \\(2,\\), found shape \\(1,\\)"),
        ([[1.0], [2.0]], {}, "values to resample must have one axis, found shape \\(2, 1\\)"),
        ([1e308, 1e308], {}, "values to resample must be finite, from -1e\\+300 to 1e\\+300"),
    ],
)
def test_what_cannot_be_resampled_is_refused(values, options, message):
    with pytest.raises(LtrError, match=message):
        bootstrap_mean(values, rng(), **options)


def test_nothing_or_nonsense_cannot_be_resampled():
    with pytest.raises(DataError, match="no values to resample"):
        bootstrap_mean(np.array([]), rng())
    with pytest.raises(DataError, match="values to resample must be finite"):
        bootstrap_mean(np.array([np.nan]), rng())
    with pytest.raises(DataError, match="cannot be paired"):
        bootstrap_difference(np.zeros(2), np.zeros(3), rng())


def test_few_values_many_times_over_are_counted_and_give_the_interval_of_the_drawn():
    few = np.random.default_rng(9).integers(0, 4, size=4000) / 4
    many = few + np.arange(4000) * 1e-12  # the same values to the eye, each one different
    counted, drawn = bootstrap_mean(few, rng()), bootstrap_mean(many, rng())
    assert (counted.low, counted.high) == pytest.approx((drawn.low, drawn.high), abs=0.001)
    assert counted.high - counted.low == pytest.approx(2 * 1.96 * few.std() / np.sqrt(4000), rel=0.05)


def test_a_column_has_the_interval_it_has_alone():
    draw = np.random.default_rng(10)
    columns = np.column_stack([draw.integers(2, size=500), draw.random(500), draw.random(500)])
    clusters = draw.integers(60, size=500)
    for given in (None, clusters):
        for column, beside in zip(columns.T, bootstrap_means(columns.T, rng(), clusters=given), strict=True):
            alone = bootstrap_mean(column, rng(), clusters=given)
            assert (alone.low, alone.high) == pytest.approx((beside.low, beside.high), abs=1e-13)


def test_clusters_of_any_numbers_give_the_interval_of_their_codes():
    values, codes = (
        np.random.default_rng(12).integers(5, size=600) / 4,
        np.random.default_rng(13).integers(90, size=600),
    )
    of_codes = bootstrap_mean(values, rng(), clusters=codes)
    for same in (
        codes * 7 + 3,
        codes - 50,
        codes.astype(str),
        codes.astype(np.uint8),
        np.where(codes > 40, codes + 5, codes),
    ):
        order = np.unique(same, return_inverse=True)[1]
        assert bootstrap_mean(values, rng(), clusters=same) == bootstrap_mean(values, rng(), clusters=order)
    assert bootstrap_mean(values, rng(), clusters=codes * 1000 - 1) == of_codes


def test_resampling_takes_little_memory_beside_the_values():
    values = np.random.default_rng(14).integers(400, size=4000) / 7
    tracemalloc.start()
    try:
        bootstrap_mean(values, rng())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 16 << 20  # how often each of the 400 is drawn, 10,000 times, takes six times as much


def test_one_generator_does_not_draw_the_same_twice():
    values, once = np.random.default_rng(11).random(50), rng()
    assert bootstrap_mean(values, once) != bootstrap_mean(values, once)


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


def test_the_seed_decides_the_intervals_of_an_evaluation():
    assert intervals(evaluation(), seed=4) == intervals(evaluation(), seed=4) != intervals(evaluation(), seed=5)


def test_without_a_query_that_counts_there_is_no_interval():
    assert intervals(evaluate(rank([1.0, 2.0], [0, 2]), [0, 0])) == {}


def test_traces_are_units_only_where_one_holds_several_queries():
    assert resampled_units(np.array([3, 1, 2])) is None
    assert resampled_units(np.array([3, 1, 3])).tolist() == [3, 1, 3]


def test_a_hundred_thousand_queries_have_a_narrow_interval():
    result = evaluation(100_000, metrics=())
    found = intervals(result)["mrr"]
    assert found.units == result.num_queries > 80_000
    assert 0.001 < found.high - found.low < 0.006


@pytest.mark.parametrize("level", [0, 1, 1.5])
def test_a_level_lies_between_0_and_1(level):
    with pytest.raises(UsageError, match=f"level is {level}; it must be between 0 and 1"):
        bootstrap_mean([1.0, 2.0], np.random.default_rng(0), level=level)


def test_one_resample_and_the_greatest_number_are_enough():
    found = bootstrap_mean([LARGEST, LARGEST], np.random.default_rng(0), resamples=1)
    assert (found.low, found.high) == (LARGEST, LARGEST)


@pytest.mark.parametrize("values", [np.tile([10.0, 11.0], 40), np.linspace(10, 11, 80)], ids=["two values", "many"])
def test_one_resample_is_a_mean_of_the_values(values):
    interval = bootstrap_mean(values, np.random.default_rng(0), resamples=1)
    assert interval.low == interval.high
    assert 10 < interval.low < 11


@pytest.mark.parametrize("codes", [[0, 0, 2, 3, 3], [10**15, 10**15, 10**16, 10**17, 10**17], [-5, -5, -1, 0, 0]])
def test_any_numbers_may_name_the_clusters(codes):
    values = [1.0, 2.0, 4.0, 7.0, 8.0]
    expected = bootstrap_mean(values, np.random.default_rng(0), clusters=[0, 0, 1, 2, 2])
    assert bootstrap_mean(values, np.random.default_rng(0), clusters=codes) == expected
    assert expected.units == 3
    assert resampled_units(np.array(codes)).tolist() == codes


def test_the_largest_values_have_a_mean():
    interval = bootstrap_mean([-LARGEST, LARGEST], np.random.default_rng(0))
    assert (interval.mean, interval.low, interval.high) == (0.0, -LARGEST, LARGEST)


def test_a_single_metric_has_its_interval():
    result = evaluate(rank([2.0, 1.0, 2.0, 1.0], [0, 2, 4]), [1, 0, 0, 1], ["mrr"])
    alone = replace(result, values={"mrr": result.values["mrr"]})
    assert intervals(alone)["mrr"] == intervals(result)["mrr"]
