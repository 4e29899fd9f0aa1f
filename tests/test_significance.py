import itertools

import numpy as np
import pytest
from scipy import stats

from ltr.errors import DataError
from ltr.evaluation import Paired, differences, holm
from ltr.evaluation.significance import effect_size, paired_t_p, permutation_p, unit_sums


def rng(seed=0):
    return np.random.default_rng(seed)


def enumerated_p(units):
    """Share of all sign patterns whose sum is at least as far from 0, one by one."""
    observed = abs(sum(units))
    sums = [
        abs(sum(s * d for s, d in zip(signs, units, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(units))
    ]
    return sum(each >= observed - 1e-9 for each in sums) / len(sums)


def holm_by_loop(values):
    """Reject the smallest while p <= level / remaining; the adjusted p is the least level that rejects."""
    ordered = sorted(values)
    return [min(1.0, max((len(values) - j) * ordered[j] for j in range(ordered.index(value) + 1))) for value in values]


@pytest.mark.parametrize("seed", range(20))
def test_up_to_twelve_units_are_enumerated(seed):
    draw = rng(seed)
    units = draw.choice([-1.0, -0.5, 0.0, 1 / 3, 0.5, 1.0], size=int(draw.integers(1, 13)))
    assert permutation_p(units, rng()) == pytest.approx(enumerated_p(units.tolist()), abs=1e-15)


@pytest.mark.parametrize("values", [[-1.0, -0.5, 0.5, 1.0], None], ids=["few distinct", "all distinct"])
def test_more_units_are_drawn_and_come_near_the_enumeration(values):
    draw = rng(5)
    units = (draw.choice(values, size=60) if values else draw.normal(size=14)) + 0.2
    exact = (
        enumerated_p(units.tolist())
        if not values
        else stats.permutation_test(
            (units,), np.mean, permutation_type="samples", n_resamples=20_000, rng=rng(1)
        ).pvalue
    )
    assert permutation_p(units, rng(3), permutations=20_000) == pytest.approx(exact, abs=0.012)


def test_a_drawn_p_is_b_plus_one_over_m_plus_one_and_never_zero():
    assert permutation_p(np.ones(1000), rng(), permutations=99) == 1 / 100


def test_drawn_signs_come_near_all_signs_and_the_first_unit_is_flipped_as_well():
    units = np.append(5.0, 0.01 * np.arange(1, 14) * (-1) ** np.arange(13))
    assert permutation_p(units, rng(), permutations=2_000) == pytest.approx(enumerated_p(units.tolist()), abs=0.05)


def test_the_same_seed_gives_the_same_p():
    units = rng(1).normal(size=50)
    assert permutation_p(units, rng(7)) == permutation_p(units, rng(7))


def test_units_without_a_difference_leave_the_rest_to_be_enumerated():
    assert permutation_p(np.concatenate([np.zeros(5000), np.ones(3)]), rng()) == 2 / 8


@pytest.mark.parametrize("size", [1, 2, 40])
def test_identical_runs_give_one_and_never_nan(size):
    values = rng(2).random(size)
    paired = differences(values, values)
    assert (permutation_p(paired, rng()), paired_t_p(paired), effect_size(paired)) == (1.0, 1.0, 0.0)


def test_rounding_is_not_a_difference():
    assert permutation_p(differences(np.array([0.1 + 0.2]), np.array([0.3])), rng()) == 1.0


def test_without_clusters_each_difference_is_a_unit():
    assert unit_sums(np.array([0.5, -1.0])).tolist() == [0.5, -1.0]


def test_thirteen_units_are_drawn():
    assert permutation_p(np.ones(13), rng(), permutations=99) == 1 / 100


def test_what_is_a_rounding_of_1_is_none_of_less_than_1():
    assert differences(np.array([0.5 + 1.5e-12]), np.array([0.5]))[0] > 0


def test_wins_are_above_zero_and_losses_below():
    paired = Paired.of(np.array([1.0, 1.0, 2.0, -1.0, 0.0]), np.zeros(5), seed=0)
    assert (paired.wins, paired.ties, paired.losses) == (3, 1, 1)


def test_without_a_difference_there_is_no_unit():
    assert unit_sums(np.empty(0), np.empty(0, dtype=int)).tolist() == []


def test_a_cluster_is_flipped_as_a_whole():
    paired, clusters = np.array([1.0, 1.0, 1.0, 1.0]), np.array([4, 9, 4, 4])
    assert permutation_p(unit_sums(paired, clusters), rng()) == enumerated_p([3.0, 1.0]) == 0.5


@pytest.mark.parametrize("size", [2, 5, 300])
def test_the_paired_t_is_scipys(size):
    ours, theirs = rng(3).random(size), rng(4).random(size)
    expected = stats.ttest_rel(ours, theirs).pvalue
    assert paired_t_p(differences(ours, theirs)) == pytest.approx(expected, rel=1e-12)


def test_the_paired_t_of_one_unit_is_unknown():
    assert paired_t_p(np.array([0.5])) is None


def test_the_paired_t_of_one_constant_difference_is_zero():
    assert paired_t_p(np.full(10, 0.1)) == 0.0
    assert paired_t_p(np.array([0.1 + 0.2, 0.3] * 5) * 1e6) == 0.0  # constant but for rounding


@pytest.mark.parametrize("seed", range(10))
def test_holm_is_the_step_down_procedure(seed):
    values = rng(seed).random(7).tolist()
    assert holm(values) == pytest.approx(holm_by_loop(values), abs=1e-15)


def test_holm_of_nothing_is_nothing_and_of_one_is_itself():
    assert (holm([]), holm([0.2])) == ([], [0.2])


def test_holm_never_passes_one():
    assert holm([0.6, 0.9]) == [1.0, 1.0]


def test_the_effect_size_is_the_mean_over_the_deviation_of_the_differences():
    paired = np.array([0.0, 0.5, 1.0])
    assert effect_size(paired) == 0.5 / 0.5


def test_the_effect_size_of_one_constant_difference_is_not_a_number_to_print():
    assert effect_size(np.full(4, 0.25)) is None
    assert effect_size(np.array([0.1 + 0.2, 0.3] * 5) * 1e6) is None  # constant but for rounding
    assert effect_size(np.array([0.5])) is None
    assert effect_size(np.array([0.0, 1.0])) == pytest.approx(0.5**0.5, rel=1e-12)


def test_wins_ties_and_losses_are_counted_by_query():
    counted = Paired.of(np.array([1.0, 0.5, 0.5, 0.2]), np.array([0.5, 0.5, 1.0, 0.1]), seed=0)
    assert (counted.wins, counted.ties, counted.losses) == (2, 1, 1)


def test_values_that_cannot_be_paired_are_refused():
    with pytest.raises(DataError, match="cannot be paired"):
        differences(np.zeros(2), np.zeros(3))


def test_values_that_are_not_finite_are_refused():
    with pytest.raises(DataError, match="finite"):
        differences(np.array([np.nan]), np.zeros(1))


def test_what_large_values_differ_by_in_rounding_is_no_difference():
    large = np.array([1e6, 3e9])
    assert differences(large, np.nextafter(large, np.inf)).tolist() == [0, 0]
    assert differences(large, large + 0.5).tolist() == [-0.5, -0.5]
