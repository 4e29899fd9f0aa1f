import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from ltr.training import helpful_temperature
from ltr.training.temperature import fit_temperature, losses


def loss(scores, labels, temperature):
    """The mean over the right candidates of -log p, p the softmax of the scores / T; 0 without a right one."""
    exps = [math.exp(score / temperature) for score in scores]
    right = [-math.log(each / sum(exps)) for each, label in zip(exps, labels, strict=True) if label > 0]
    return sum(right) / max(len(right), 1)


def pairs(*gaps):
    """Groups of two candidates, the right one first, by how far it is ahead."""
    scores = np.array([[gap, 0.0] for gap in gaps]).ravel()
    return scores, np.tile([1.0, 0.0], len(gaps)), np.arange(0, len(scores) + 1, 2)


QUERIES = [  # of scores and labels: two right ones of three, grades, a lone candidate, none right
    ([1.0, 0.2, -0.5], [1.0, 0.5, 0.0]),
    ([0.0, 2.0, 0.4, 1.5], [0.0, 3.0, 1.0, 1.0]),
    ([0.0, 1.0, 0.0], [1.0, 0.0, 0.0]),
    ([7.0], [1.0]),
    ([3.0, 1.0], [0.0, 0.0]),
]


def flat(queries):
    scores, labels = (np.concatenate(column) for column in zip(*queries, strict=True))
    return scores, labels, np.cumsum([0, *(len(scores) for scores, _ in queries)])


def test_a_group_loses_the_mean_over_its_right_candidates():
    expected = [loss(scores, labels, 0.7) for scores, labels in QUERIES]
    assert losses(*flat(QUERIES), 0.7) == pytest.approx(expected, abs=1e-15)


def test_the_temperature_is_least_in_loss_where_groups_have_several_right_candidates():
    best = minimize_scalar(
        lambda log: sum(loss(*query, math.exp(log)) for query in QUERIES),
        bounds=(-5, 5),
        method="bounded",
        options={"xatol": 1e-10},
    )
    assert fit_temperature(*flat(QUERIES)) == pytest.approx(math.exp(best.x), rel=1e-6)


def test_scores_that_say_too_little_are_made_surer():
    # right in three of four by 0.2: p = 3/4 at 0.2 / T = ln 3
    assert fit_temperature(*pairs(0.2, 0.2, 0.2, -0.2)) == pytest.approx(0.2 / math.log(3))


@pytest.mark.parametrize("gap, temperature", [(1e-6, 1e-3), (-1e6, 1e3)])
def test_a_temperature_has_bounds(gap, temperature):
    # always right: the colder the better; always wrong: the hotter the better
    assert fit_temperature(*pairs(gap)) == pytest.approx(temperature, rel=1e-12)


def test_a_temperature_that_no_other_fold_can_show_is_not_taken():
    scores, labels, offsets = pairs(3.0, 3.0, 3.0, -3.0, 3.0)
    labels[-2:] = 0  # the second fold has no right candidate: nothing falls, by no error
    assert helpful_temperature(scores, labels, offsets, np.array([0, 0, 0, 0, 1])) == 1.0


def test_what_helps_only_the_fold_that_it_was_fitted_on_is_not_taken():
    # one fold is always right and the other always wrong
    scores, labels, offsets = pairs(*[1.0] * 9, *[-1.0] * 9)
    assert helpful_temperature(scores, labels, offsets, np.repeat([0, 1], 9)) == 1.0


@pytest.mark.parametrize("fours, temperature", [(10, 1.0), (24, 3 / math.log(3))])
def test_a_temperature_is_taken_where_the_loss_falls_by_more_than_two_standard_errors(fours, temperature):
    # right in three of four by 3; T = 3 / ln 3 makes that p = 3/4. The fall of the loss is then
    right, wrong = (math.log1p(math.exp(-gap)) - math.log1p(math.exp(-gap / 3 * math.log(3))) for gap in (3, -3))
    mean, deviation = (3 * right + wrong) / 4, math.sqrt(3) / 4 * (wrong - right)
    assert (mean / deviation * math.sqrt(4 * fours) > 2) == (temperature != 1)  # 1.8 and 2.8 standard errors
    scores, labels, offsets = pairs(*[3.0, 3.0, 3.0, -3.0] * fours)
    folds = np.arange(4 * fours) // 4 % 2
    assert helpful_temperature(scores, labels, offsets, folds) == pytest.approx(temperature, rel=1e-9)
