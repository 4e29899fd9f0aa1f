"""Weights that the penalty pulls towards a prior, against L-BFGS on the shifted penalty."""

import numpy as np
import pytest
from scipy.optimize import minimize

from ltr import TrainConfig, fit
from ltr.errors import UsageError
from ltr.training import Knots
from ltr.training.geometry import COST
from ltr.training.model import Optimum
from tests.made import diagnose, exact_path
from tests.oracles import naive_objective, random_groups

PRIOR = np.array([1.0, -0.5, 0.0, 2.0])


def shifted(v, phi, labels, offsets, l2, centre):
    """The loss of the naive loop at v, plus l2 |v - centre|^2."""
    return naive_objective(v, phi, labels, offsets, 0.0) + l2 * float((v - centre) @ (v - centre))


def lowest(phi, labels, offsets, l2, centre):
    """The minimum of `shifted`, by L-BFGS with differences for a gradient."""
    options = {"maxiter": 10_000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-9}
    return minimize(shifted, centre, (phi, labels, offsets, l2, centre), method="L-BFGS-B", options=options).fun


@pytest.mark.parametrize("seed", range(6))
def test_newton_with_a_prior_finds_the_optimum_of_the_shifted_penalty(seed):
    rng = np.random.default_rng(seed)
    phi, labels, offsets = random_groups(rng, 12, features=4, sizes=(2, 6), positives=2)
    labels[offsets[:-1]] = 1
    l2, knots = float(10 ** rng.uniform(-3, 1)), int(rng.integers(0, 3))
    config = TrainConfig(trainer="newton", l2=l2, standardize=True, knots=knots)
    model = fit(phi, labels, offsets, config, prior=PRIOR)
    units = np.std(phi, axis=0)
    units = np.concatenate([units, units[model.terms.knots.columns] * np.sqrt(COST)])
    wide = Knots.of(phi, knots)(phi) / units
    centre = np.concatenate([PRIOR, np.zeros(len(model.terms))])
    assert model.training.optimum is Optimum.FOUND
    at_w = shifted(model.w * units, wide, labels, offsets, l2, centre)
    assert model.training.objective == pytest.approx(at_w, abs=1e-12)
    assert model.training.objective <= lowest(wide, labels, offsets, l2, centre) + 1e-9


def test_a_strong_penalty_leaves_the_prior_and_a_weak_one_the_likelihood():
    groups = random_groups(np.random.default_rng(3), 200, features=4)
    strong, weak = (
        fit(*groups, TrainConfig(trainer="newton", l2=l2, standardize=True), prior=PRIOR) for l2 in (1e6, 1e-9)
    )
    free = fit(*groups, TrainConfig(trainer="newton", l2=1e-9, standardize=True))
    np.testing.assert_allclose(strong.w * strong.training.deviations, PRIOR, atol=1e-5)
    np.testing.assert_allclose(weak.w, free.w, atol=1e-6)


def test_a_prior_of_zeros_is_no_prior():
    groups = random_groups(np.random.default_rng(4), 50, features=4)
    config = TrainConfig(trainer="newton", standardize=True)
    np.testing.assert_array_equal(fit(*groups, config, prior=np.zeros(4)).w, fit(*groups, config).w)


def test_the_path_of_penalties_takes_the_prior():
    groups = random_groups(np.random.default_rng(5), 40, features=4)
    l2s = (0.01, 10.0, 0.1)
    path = exact_path(*groups, TrainConfig(trainer="newton", l2=l2s, standardize=True), prior=PRIOR)
    for l2, w in zip(l2s, path, strict=True):
        single = fit(*groups, TrainConfig(trainer="newton", l2=l2, standardize=True), prior=PRIOR)
        np.testing.assert_allclose(w, single.w, atol=1e-7)


def test_the_loss_without_a_column_is_that_of_the_other_columns_with_their_prior():
    phi, labels, offsets = random_groups(np.random.default_rng(6), 60, features=4)
    config = TrainConfig(trainer="newton", l2=0.5, standardize=True)
    model = fit(phi, labels, offsets, config, prior=PRIOR)
    diagnosis = diagnose(phi, labels, offsets, config, model, prior=PRIOR)
    others = fit(np.ascontiguousarray(phi[:, 1:]), labels, offsets, config, prior=PRIOR[1:])
    held_at_zero = others.training.objective + 0.5 * PRIOR[0] ** 2
    assert diagnosis.loss_without[0] == pytest.approx(held_at_zero - model.training.objective, abs=1e-9)
    zero = shifted(np.zeros(4), phi, labels, offsets, 0.5, PRIOR)
    assert diagnosis.at_zero == pytest.approx(zero, abs=1e-12)


def test_the_loss_without_the_only_column_is_that_of_no_weight():
    phi, labels, offsets = random_groups(np.random.default_rng(7), 60, features=1)
    config = TrainConfig(trainer="newton", l2=0.5, standardize=True)
    model = fit(phi, labels, offsets, config, prior=np.ones(1))
    diagnosis = diagnose(phi, labels, offsets, config, model, prior=np.ones(1))
    zero = naive_objective(np.zeros(1), phi, labels, offsets, 0.0) + 0.5
    assert diagnosis.loss_without[0] == pytest.approx(zero - model.training.objective, abs=1e-12)


def test_descent_refuses_a_prior():
    groups = random_groups(np.random.default_rng(8), 10, features=4)
    with pytest.raises(UsageError, match="a prior needs trainer newton; descent"):
        fit(*groups, TrainConfig(), prior=PRIOR)


@pytest.mark.parametrize("prior", [np.ones(3), np.array([1.0, np.nan, 0.0, 0.0])])
def test_a_prior_that_is_no_number_for_each_column_is_refused(prior):
    groups = random_groups(np.random.default_rng(9), 10, features=4)
    with pytest.raises(UsageError, match="a finite number for each of 4 columns"):
        fit(*groups, TrainConfig(trainer="newton"), prior=prior)
