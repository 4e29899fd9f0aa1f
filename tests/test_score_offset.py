"""A number added to the score of each row while w is learned: -log of the probability with which the row was drawn."""

import numpy as np
import pytest

from ltr import TrainConfig, fit
from ltr.errors import ArrayError
from ltr.training import Validation
from ltr.training.designs import trainable
from ltr.training.newton import sampled
from ltr.training.objective import cluster_slopes, derivatives, slope
from tests.made import diagnose, exact_path
from tests.oracles import random_groups, slices

TRUE_W = np.array([1.0, 2.0])
NEWTON = TrainConfig(trainer="newton", l2=0.0)


def groups_with_offset(seed, groups=60, **options):
    rng = np.random.default_rng(seed)
    phi, labels, offsets = random_groups(rng, groups, sizes=(2, 9), **options)
    labels[offsets[:-1]] = 1
    return phi, labels, offsets, -np.log(rng.uniform(0.001, 1, len(phi)))


def plain_objective(w, phi, labels, offsets, added, l2=0.0):
    """Mean cross-entropy of softmax(phi w + added), written out, plus l2 |w|^2."""
    losses = []
    for rows in slices(offsets):
        scores = phi[rows] @ w + added[rows]
        log_p = scores - scores.max() - np.log(np.exp(scores - scores.max()).sum())
        losses.append(-(labels[rows] / labels[rows].sum() * log_p).sum())
    return np.mean(losses) + l2 * w @ w


@pytest.mark.parametrize("seed", range(3))
def test_loss_gradient_and_hessian_are_those_of_the_shifted_scores(seed):
    phi, labels, offsets, added = groups_with_offset(seed, positives=2)
    groups, w, step = trainable(phi, labels, offsets, score_offset=added), np.array([0.4, -1.0, 0.2]), 1e-5
    here = derivatives(groups, w, np.ones(3))
    assert here.loss == pytest.approx(plain_objective(w, phi, labels, offsets, added), abs=1e-13)
    assert slope(groups, w, np.ones(3)).loss == here.loss
    for column, unit in enumerate(np.eye(3)):
        ends = [plain_objective(w + sign * step * unit, phi, labels, offsets, added) for sign in (1, -1)]
        assert here.gradient[column] == pytest.approx((ends[0] - ends[1]) / (2 * step), abs=1e-8)
        sides = [slope(groups, w + sign * step * unit, np.ones(3)).gradient for sign in (1, -1)]
        np.testing.assert_allclose(here.hessian[column], (sides[0] - sides[1]) / (2 * step), atol=1e-8)
    parts = cluster_slopes(groups, w, np.ones(3), np.arange(len(groups)))
    np.testing.assert_allclose(parts.sum(axis=0), here.gradient, atol=1e-14)


def test_scores_too_large_for_exp_are_shifted_first():
    groups = trainable([[1.0], [0.0]], [0, 1], [0, 2], score_offset=[700.0, -700.0])
    assert derivatives(groups, np.array([5.0]), np.ones(1)).loss == pytest.approx(1405.0)
    lost = trainable([[1.0], [0.0]], [0, 1], [0, 2], score_offset=[-1000.0, -1001.0])  # each exp alone is 0
    assert derivatives(lost, np.zeros(1), np.ones(1)).loss == pytest.approx(np.log(1 + np.e))


def test_an_offset_that_a_whole_group_shares_costs_nothing():
    groups = trainable(np.ones((4, 1)), [1, 0, 1, 0], [0, 2, 4], score_offset=[3.0, 3.0, 1.0, 1.0])
    assert not len(groups.score_offset)


def test_groups_that_do_not_train_take_their_offsets_along():
    labels, added = [1, 1, 0, 0, 0, 1, 0], [9.0, 0.0, 2.0, 9.0, 9.0, 0.0, 3.0]
    groups = trainable(np.arange(7.0)[:, None], labels, [0, 1, 3, 5, 7], score_offset=added)
    assert groups.score_offset.tolist() == [0.0, 2.0, 0.0, 3.0]
    assert sampled(groups, 2).score_offset.tolist() == [0.0, 2.0]


def test_an_offset_that_is_no_number_is_refused():
    with pytest.raises(ArrayError, match="score_offset"):
        trainable([[1.0], [0.0]], [0, 1], [0, 2], score_offset=[np.nan, 0.0])


def test_the_optimum_of_newton_is_certified_and_descent_comes_near_it():
    phi, labels, offsets, added = groups_with_offset(5)
    config = TrainConfig(trainer="newton", l2=0.01)
    exact = fit(phi, labels, offsets, config, score_offset=added)
    assert exact.training.optimum == "found"
    for unit in np.eye(3):
        for step in (-1e-3, 1e-3):
            moved = plain_objective(exact.w + step * unit, phi, labels, offsets, added, 0.01)
            assert moved > exact.training.objective
    near = fit(phi, labels, offsets, TrainConfig(epochs=300, l2=0.01), score_offset=added)
    np.testing.assert_allclose(near.w, exact.w, atol=0.05)
    diagnosis = diagnose(phi, labels, offsets, TrainConfig(epochs=300, l2=0.01), near, score_offset=added)
    assert diagnosis.gap == pytest.approx(near.training.objective - exact.training.objective, abs=1e-10)
    assert diagnosis.at_zero == pytest.approx(plain_objective(np.zeros(3), phi, labels, offsets, added), abs=1e-13)
    path = exact_path(phi, labels, offsets, TrainConfig(l2=(0.1, 0.01)), score_offset=added)
    np.testing.assert_allclose(path[1], exact.w, atol=1e-9)


def test_the_loss_without_the_only_feature_is_that_of_the_offsets_alone():
    phi, labels, offsets, added = groups_with_offset(6, features=1)
    model = fit(phi, labels, offsets, NEWTON, score_offset=added)
    rise = diagnose(phi, labels, offsets, NEWTON, model, score_offset=added).loss_without
    alone = plain_objective(np.zeros(1), phi, labels, offsets, added)
    assert rise[0] == pytest.approx(alone - model.training.objective, abs=1e-12)


def test_validation_adds_offsets_to_its_loss_and_never_to_its_metrics():
    phi, labels, offsets, added = groups_with_offset(7)
    plain, drawn = (Validation.of(phi, labels, offsets, score_offset=extra) for extra in (None, added))
    w = np.array([0.3, 0.1, -0.2])
    assert drawn.value(w, TrainConfig()) == pytest.approx(-plain_objective(w, phi, labels, offsets, added))
    assert drawn.value(w, TrainConfig(metric="mrr")) == plain.value(w, TrainConfig(metric="mrr"))


def sampled_choices(queries, near, random, *, tools=60, seed=0):
    """Choices from a softmax over all tools; of the lists only some: the nearest, some at random, and the right one.

    The nearest have the largest first column. A right tool that is not among them takes one of the random places.
    """
    rng = np.random.default_rng(seed)
    phi = rng.normal(size=(queries, tools, 2))
    scores = phi @ TRUE_W
    right = (scores + rng.gumbel(size=scores.shape)).argmax(axis=1)
    rows, labels, added, sizes = [], [], [], []
    for query in range(queries):
        nearest = np.argsort(-phi[query, :, 0])[:near]
        rest = np.setdiff1d(np.arange(tools), nearest)
        is_outside = right[query] in rest
        drawn = rng.permutation(np.setdiff1d(rest, right[query]))[: random - is_outside]
        chosen = np.concatenate([nearest, drawn, [right[query]] if is_outside else []]).astype(int)
        rows.append(phi[query, chosen])
        labels.append(chosen == right[query])
        added.append(np.where(np.isin(chosen, nearest), 0.0, -np.log(random / len(rest))))
        sizes.append(len(chosen))
    return np.concatenate(rows), np.concatenate(labels).astype(float), np.cumsum([0, *sizes]), np.concatenate(added)


def test_with_offsets_lists_drawn_half_near_and_half_random_give_the_weights_of_the_whole_catalogue():
    phi, labels, offsets, added = sampled_choices(6_000, near=6, random=6)
    corrected = fit(phi, labels, offsets, NEWTON, score_offset=added).w
    ignored = fit(phi, labels, offsets, NEWTON).w
    np.testing.assert_allclose(corrected, TRUE_W, atol=0.06)
    assert ignored[0] < TRUE_W[0] - 0.5  # what the near ones have in common seems worth less


def test_uniform_draws_need_no_offsets():
    phi, labels, offsets, _ = sampled_choices(6_000, near=0, random=12)
    np.testing.assert_allclose(fit(phi, labels, offsets, NEWTON).w, TRUE_W, atol=0.06)
