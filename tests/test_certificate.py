"""What newton claims of the optimum, against a linear program and on both sides of every limit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from ltr import TrainConfig, fit
from ltr.training import direction_text
from ltr.training.certificate import loss_falls_forever
from ltr.training.designs import trainable
from ltr.training.geometry import Geometry
from ltr.training.model import Optimum
from ltr.training.newton import EVERY, MANY, solve
from tests.oracles import random_groups

UNPENALISED = TrainConfig(trainer="newton", l2=0.0)
PAIRS_OF_50 = np.arange(0, 101, 2)
FIRST_OF_EACH_PAIR = np.tile([1.0, 0.0], 50)


def training(phi, labels, offsets, weights=None, l2=0.0):
    return fit(phi, labels, offsets, TrainConfig(trainer="newton", l2=l2), weights=weights).training


def claim(phi, labels, offsets, weights=None, l2=0.0):
    return training(phi, labels, offsets, weights, l2).optimum


def largest_fall(phi, labels, offsets):
    """The linear program: how far all losers can fall together while positives stay level and nobody rises."""
    level, losers = [], []
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        x, positive = phi[first:last], labels[first:last] > 0
        level += list(x[positive] - x[positive][0])
        losers += list(x[~positive] - x[positive][0])
    if not losers:
        return 0.0
    below = np.array(losers)
    solved = linprog(
        below.sum(axis=0), A_ub=below, b_ub=np.zeros(len(below)), A_eq=level, b_eq=np.zeros(len(level)), bounds=(-1, 1)
    )
    assert solved.status == 0
    return -solved.fun


def drawn(seed, kind):
    """Few groups whose optimum may or may not exist."""
    rng = np.random.default_rng(seed)
    phi, labels, offsets = random_groups(
        rng, int(rng.integers(1, 9)), features=int(rng.integers(1, 6)), sizes=(2, 4), positives=3, grades=3
    )
    labels[offsets[:-1]] = 1
    if kind == "flags":
        phi = rng.integers(-1, 2, phi.shape).astype(float)
    if kind == "scaled":
        phi *= 10.0 ** rng.integers(-8, 9, phi.shape[1])
    if kind == "duplicated":
        phi = np.column_stack((phi, phi.sum(axis=1), 2 * phi[:, 0]))
    if kind == "quasi":  # a mark that only right answers of some groups bear, mixed into the other columns
        mark = (labels > 0) * np.repeat(rng.random(len(offsets) - 1) < 0.5, np.diff(offsets))
        mix = np.triu(rng.integers(-1, 2, (phi.shape[1] + 1,) * 2), 1) + np.eye(phi.shape[1] + 1)
        phi = np.column_stack((phi, mark)) @ mix
    if kind == "separable":
        phi[:, 0] = (labels > 0) + 0.1 * rng.random()
    return phi, labels, offsets


@settings(max_examples=120)
@given(st.integers(0, 10**6), st.sampled_from(["plain", "flags", "scaled", "duplicated", "quasi", "separable"]))
def test_newton_claims_nothing_the_linear_program_denies(seed, kind):
    phi, labels, offsets = drawn(seed, kind)
    deviation = phi.std(axis=0)
    fall = largest_fall(phi / np.where(deviation > 0, deviation, 1), labels, offsets)
    if 1e-11 < fall < 1e-6:
        return  # the solver's own tolerance
    assert claim(phi, labels, offsets) in (Optimum.NONE if fall >= 1e-6 else Optimum.FOUND, Optimum.NOT_REACHED)


@pytest.mark.parametrize("kind", ["plain", "flags", "scaled", "duplicated", "quasi", "separable"])
def test_newton_hardly_ever_has_to_leave_it_open(kind):
    claims = [claim(*drawn(seed, kind)) for seed in range(100)]
    assert claims.count(Optimum.NOT_REACHED) <= 1


@given(st.integers(0, 10**6), st.sampled_from([0.0, 0.001, 0.1, 10.0]))
def test_found_means_a_gradient_below_1e_10(seed, l2):
    found = training(*drawn(seed, "plain"), l2=l2)
    assert found.optimum is not Optimum.FOUND or found.gradient_norm < 1e-10


@pytest.mark.parametrize("nearness", [1.0, 0.3, 0.1, 0.03, 0.01])
def test_a_curved_direction_does_not_stand_in_for_a_flat_one(nearness):
    rng = np.random.default_rng(0)
    x2, x1 = rng.normal(size=100), np.zeros(100)
    x1[0] = 1  # only this right answer bears the mark
    found = training(np.column_stack([x1, x2, x2 + nearness * rng.normal(size=100)]), FIRST_OF_EACH_PAIR, PAIRS_OF_50)
    assert found.optimum is Optimum.NONE
    assert direction_text(found.escape) == "x1"


def test_one_marked_group_among_very_many_still_has_no_optimum():
    groups = 50_000  # the gradient of one group among so many is small long before its curvature is
    column, mark = np.random.default_rng(3).normal(size=2 * groups), np.zeros(2 * groups)
    mark[0] = 1
    phi, labels = np.column_stack([column, mark]), np.tile([1.0, 0.0], groups)
    assert claim(phi, labels, np.arange(0, 2 * groups + 1, 2)) is Optimum.NONE


def test_many_groups_need_few_steps_and_end_where_they_end_from_anywhere():
    rng = np.random.default_rng(8)
    offsets = np.concatenate(([0], np.cumsum(rng.integers(2, 5, MANY * EVERY))))
    phi, labels = rng.normal(size=(offsets[-1], 2)), (rng.random(offsets[-1]) < 0.2).astype(float)
    labels[offsets[:-1]] = 1
    groups, weights = MANY * EVERY, np.random.default_rng(9).uniform(0.5, 2, MANY * EVERY)
    model = fit(phi, labels, offsets, UNPENALISED, weights=weights)
    assert model.training.optimum is Optimum.FOUND
    assert model.training.epochs <= 3
    shuffled = np.random.default_rng(10).permutation(groups)
    rows = np.concatenate([np.arange(offsets[group], offsets[group + 1]) for group in shuffled])
    moved = np.concatenate(([0], np.cumsum(np.diff(offsets)[shuffled])))
    again = fit(phi[rows], labels[rows], moved, UNPENALISED, weights=weights[shuffled])
    np.testing.assert_allclose(again.w, model.w, rtol=0, atol=1e-9)


@pytest.mark.parametrize("marked", [0, 1], ids=["seen by the first steps", "not seen by them"])
def test_what_a_part_of_many_groups_shows_is_not_claimed_of_all(marked):
    """A column by which all groups that the first steps look at are separable, but the others are not."""
    groups = MANY * EVERY
    seen = np.arange(groups) % EVERY == 0
    phi = np.zeros((2 * groups, 1))
    phi[::2, 0] = np.where(seen == (marked == 0), 1.0, np.where(np.arange(groups) % 3 == 0, -1.0, 1.0))
    found = training(phi, np.tile([1.0, 0.0], groups), np.arange(0, 2 * groups + 1, 2))
    assert found.optimum is Optimum.FOUND
    assert found.gradient_norm < 1e-10


def test_a_light_group_that_separates_is_seen_however_little_it_weighs():
    phi = [[1, 0], [0, 0], [0, 0], [1, 0], [0, 1], [0, 0]]
    for weight in (1e-11, 1e-14):
        found = training(phi, [1, 0] * 3, [0, 2, 4, 6], [1, 1, weight])
        assert found.optimum is Optimum.NONE
        assert direction_text(found.escape) == "x2"
        assert len(found.not_identified) == 0
    assert claim(phi, [1, 0] * 3, [0, 2, 4, 6], [1, 1, 1e-200]) is not Optimum.FOUND


@pytest.mark.parametrize(
    "overlap, expected", [(1e-5, Optimum.FOUND), (1e-7, Optimum.FOUND), (1e-10, Optimum.NOT_REACHED)]
)
def test_groups_that_overlap_a_little_are_never_called_separable(overlap, expected):
    assert claim([[1.0], [0.0], [0.0], [overlap]], [1, 0, 1, 0], [0, 2, 4]) is expected


@pytest.mark.parametrize("rises, certain", [(0.0, True), (1e-17, True), (1e-8, False)])
def test_the_loss_falls_forever_only_if_no_wrong_answer_rises_beyond_rounding(rises, certain):
    groups = trainable([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0], [rises, 1.0]], [1, 0, 1, 0], [0, 2, 4])
    assert loss_falls_forever(groups, np.ones(2), np.array([1.0, 0.0])) == certain


def test_a_search_that_gets_no_lower_ends():
    assert training([[1.0], [0.0], [0.0], [1e-10]], [1, 0, 1, 0], [0, 2, 4]).epochs < 100


@pytest.mark.parametrize("noise, unidentified", [(1e-4, 0), (1e-5, 0), (1e-7, 1)])
def test_nearly_duplicated_columns_are_distinguished_to_1e_12_of_the_curvature(noise, unidentified):
    rng = np.random.default_rng(0)
    x = rng.normal(size=100)
    found = training(np.column_stack([x, x + noise * rng.normal(size=100)]), FIRST_OF_EACH_PAIR, PAIRS_OF_50)
    assert len(found.not_identified) == unidentified
    assert found.optimum is Optimum.FOUND
    assert found.gradient_norm < 1e-10


@pytest.mark.parametrize("seed", range(6))
def test_the_w_that_is_found_has_no_gradient_where_nearly_duplicated_columns_differ_in_scale(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=100)
    found = training(np.column_stack([x, 1000 * x + 1e-3 * rng.normal(size=100)]), FIRST_OF_EACH_PAIR, PAIRS_OF_50)
    assert found.optimum is Optimum.FOUND
    assert found.gradient_norm < 1e-10


@pytest.mark.parametrize("seed", range(20))
def test_nearly_duplicated_columns_do_not_overflow(seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=3)
    for noise in (1e-5, 1e-6, 1e-7):
        assert np.isfinite(
            fit(np.column_stack([x, x + noise * rng.normal(size=3)]), [0, 2, 0], [0, 3], UNPENALISED).w
        ).all()


def test_nearly_equal_columns_of_one_group_do_not_overflow():
    phi = [
        [-0.12186544283379183, -0.12186508665216392],
        [-0.26613910877607844, -0.2661406823544577],
        [-0.7176438238466656, -0.7176440990055322],
    ]
    assert np.isfinite(fit(phi, [0, 2, 0], [0, 3], UNPENALISED).w).all()


@pytest.mark.parametrize("l2", [1e-20, 1e-30, 1e-300, 5e-324])
def test_with_a_tiny_penalty_found_means_that_the_objective_is_near_its_bound(l2):
    found = training([[1.0], [0.0]], [1, 0], [0, 2], l2=l2)
    near = found.gap_bound is not None and found.gap_bound <= 1e-9 * (1 + found.objective)
    assert (found.optimum is Optimum.FOUND) == near


def test_a_column_constant_in_a_group_of_huge_numbers_still_counts_in_the_others():
    phi = [[1e200], [1e200], [1.0], [0.0], [0.0], [1.0], [1.0], [0.0]]
    found = fit(phi, [1, 0] * 4, [0, 2, 4, 6, 8], UNPENALISED)
    assert found.training.optimum is Optimum.FOUND
    assert found.w == pytest.approx(fit(phi[2:], [1, 0] * 3, [0, 2, 4, 6], UNPENALISED).w)


@pytest.mark.parametrize("seed", range(30))
def test_unidentified_directions_of_any_scale_are_finite_and_change_no_score(seed):
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(2, 7)) * 10.0 ** rng.integers(-6, 9, 7)
    directions = training(phi, [1, 0], [0, 2]).not_identified
    assert directions.shape == (6, 7)
    assert np.abs(directions).max(axis=1) == pytest.approx(np.ones(6))
    assert np.abs(directions @ (phi[0] - phi[1])).max() <= 1e-8 * np.abs(directions * (phi[0] - phi[1])).max()


def test_a_column_too_small_for_its_weight_is_not_identified():
    found = fit([[1e-310], [0.0], [0.0], [1e-310], [1e-310], [0.0]], [1, 0] * 3, [0, 2, 4, 6], UNPENALISED)
    assert (found.w.tolist(), found.training.optimum) == ([0.0], Optimum.FOUND)
    assert [direction_text(each) for each in found.training.not_identified] == ["x1"]


def test_a_start_up_a_cliff_hides_no_optimum():
    """One row of 1e8: from where descent ends two hundred steps lead to an objective of tens of thousands."""
    rng = np.random.default_rng(0)
    phi = rng.normal(size=(1000, 3))
    best = (phi.sum(axis=1) + rng.gumbel(size=1000)).reshape(200, 5).argmax(axis=1)
    labels = np.eye(5)[best].ravel()
    phi[0, 0] = 1e8
    data = (phi, labels, np.arange(0, 1001, 5))
    groups, start = trainable(*data), fit(*data, TrainConfig(l2=1e-6)).w
    found = solve(groups, Geometry.of(groups), 1e-6, start=start)
    assert found.optimum is Optimum.FOUND
    np.testing.assert_array_equal(found.w, solve(groups, Geometry.of(groups), 1e-6).w)


def test_no_step_of_newton_raises_the_objective_where_full_steps_overshoot():
    marks = [[-1, 10], [38, 0], [0, 0], [0, 0], [-1519, 0], [0, -2], [-1, 0], [380, 0]]
    marks += [[-4, 0], [0, -103], [1, 98], [0, 0], [0, -12], [0, -13], [0, -2], [-1, 0]]
    found = training(marks, [1, 0] * 8, np.arange(0, 17, 2))
    assert found.optimum is Optimum.FOUND
    assert (np.diff(found.history) <= 1e-12).all()
