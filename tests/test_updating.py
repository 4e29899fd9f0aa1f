"""The optimum of a quadratic and the losses of outcomes, beside a general optimiser."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ltr.errors import RunError
from ltr.training.config import TrainConfig
from ltr.training.fit import fit
from ltr.training.quadratic_approximation import Quadratic, curvature


def drawn(generator, groups, features=3, size=4):
    """Phi, labels and offsets of groups with one right candidate each, chosen by a hidden weight vector."""
    phi = generator.normal(size=(groups * size, features))
    scores = (phi @ np.linspace(1, -1, features) + generator.gumbel(size=len(phi))).reshape(groups, size)
    labels = (scores == scores.max(axis=1, keepdims=True)).astype(float).ravel()
    return phi, labels, np.arange(groups + 1) * size


def objective(w, quadratic, phi, labels, offsets):
    total = 0.5 * (w - quadratic.w) @ quadratic.hessian @ (w - quadratic.w)
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        scores = phi[first:last] @ w
        total += np.log(np.exp(scores - scores.max()).sum()) + scores.max() - scores[labels[first:last] > 0][0]
    return total


def test_the_optimum_is_that_of_a_general_optimiser():
    generator = np.random.default_rng(0)
    root = generator.normal(size=(3, 3))
    quadratic, data = Quadratic(generator.normal(size=3), 5 * root @ root.T), drawn(generator, 30)
    solved = quadratic.solve(*data)
    other = minimize(objective, quadratic.w, args=(quadratic, *data), method="BFGS", options={"gtol": 1e-8})
    assert solved.w == pytest.approx(other.x, abs=1e-5)
    assert objective(solved.w, quadratic, *data) <= other.fun + 1e-9
    assert solved.distance < 1e-9


def test_outcomes_in_any_order_and_solved_as_often_as_one_likes_give_one_w():
    generator = np.random.default_rng(1)
    quadratic, (phi, labels, offsets) = Quadratic(np.zeros(3), 10 * np.eye(3)), drawn(generator, 60)
    at_once = quadratic.solve(phi, labels, offsets).w
    w = None
    for groups in range(1, 61):
        w = quadratic.solve(phi[: groups * 4], labels[: groups * 4], offsets[: groups + 1], start=w).w
    order = generator.permutation(60)
    rows = (order[:, np.newaxis] * 4 + np.arange(4)).ravel()
    assert np.abs(w - at_once).max() < 1e-10
    assert np.abs(quadratic.solve(phi[rows], labels[rows], offsets).w - at_once).max() < 1e-10


def test_no_outcome_moves_a_direction_that_training_did_not_see():
    quadratic = Quadratic(np.array([1.0, 2.0]), np.array([[4.0, 0.0], [0.0, 0.0]]))
    solved = quadratic.solve(np.array([[1.0, 1.0], [0.0, 0.0]]), np.array([1.0, 0.0]), [0, 2])
    assert quadratic.held == 1
    assert solved.w[0] > 1.0
    assert solved.w[1] == 2.0


def test_outcomes_that_separate_perfectly_still_have_an_optimum():
    phi, labels = np.tile([[1.0], [0.0]], (500, 1)), np.tile([1.0, 0.0], 500)
    solved = Quadratic(np.zeros(1), np.array([[1e-3]])).solve(phi, labels, np.arange(501) * 2)
    w = solved.w[0]
    assert 1e-3 * w == pytest.approx(500 / (1 + np.exp(w)), rel=1e-8)  # where the derivative is 0


@pytest.mark.parametrize("settings", [{}, {"standardize": True}, {"knots": 2, "products": True}])
def test_the_curvature_is_that_of_the_objective_by_finite_differences(settings):
    generator = np.random.default_rng(2)
    phi, labels, offsets = drawn(generator, 40)
    config = TrainConfig(trainer="newton", l2=0.01, **settings)
    model = fit(phi * [1.0, 5.0, 0.2], labels, offsets, config)
    phi = phi * [1.0, 5.0, 0.2]
    hessian = curvature(phi, labels, offsets, config, model)
    columns = model.terms(phi)
    units = np.ones(len(model.w))
    if config.standardize:
        units = phi.std(axis=0)
    if config.knots:
        units[3:] = np.sqrt(10.0)

    def gradient(w):
        total = 2 * 40 * config.l2 * w * units**2
        for first, last in zip(offsets[:-1], offsets[1:], strict=True):
            p = np.exp(columns[first:last] @ w)
            total = total + columns[first:last].T @ (p / p.sum() - labels[first:last])
        return total

    steps = np.eye(len(model.w)) * 1e-5
    numeric = np.array([(gradient(model.w + step) - gradient(model.w - step)) / 2e-5 for step in steps])
    assert hessian == pytest.approx(numeric, rel=1e-5, abs=1e-5)
    assert np.array_equal(hessian, hessian.T)


def test_more_data_of_one_kind_bring_the_update_near_the_refit():
    generator = np.random.default_rng(3)
    phi, labels, offsets = drawn(generator, 400)
    config = TrainConfig(trainer="newton", l2=0.0)
    early = fit(phi[:1200], labels[:1200], offsets[:301], config)
    quadratic = Quadratic(early.w, curvature(phi[:1200], labels[:1200], offsets[:301], config, early))
    updated = quadratic.solve(phi[1200:], labels[1200:], offsets[300:] - 1200).w
    refit = fit(phi, labels, offsets, config).w
    assert np.abs(updated - refit).max() < 0.1 * np.abs(early.w - refit).max()


@pytest.mark.parametrize("size", [1e10, 1e100, 1e200, 1e300])
def test_columns_too_large_to_learn_from_are_refused_or_solved_and_nothing_else(size):
    phi = np.array([[size, 1.0], [0.0, 0.5], [-size, size]])
    with np.errstate(all="ignore"):
        try:
            solved = Quadratic(np.zeros(2), np.eye(2)).solve(phi, np.array([0.0, 1.0, 0.0]), np.array([0, 3]))
        except RunError as error:
            assert "could not be proved" in str(error)  # noqa: PT017
        else:
            assert np.isfinite(solved.w).all()
