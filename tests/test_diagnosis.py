"""What is said of a trained w, against loops that say it another way."""

import numpy as np
import pytest

from ltr.errors import UsageError
from ltr.train import TrainConfig, diagnose, fit
from tests.oracles import conditional_logit, naive_objective, random_groups

NEWTON = TrainConfig(trainer="newton")
FREE = TrainConfig(trainer="newton", l2=0.0)
NAMES = ("a", "b", "c")


@pytest.fixture(scope="module")
def choices():
    """400 groups in which exactly one candidate is right."""
    rng = np.random.default_rng(5)
    phi, _, offsets = random_groups(rng, 400, sizes=(2, 7))
    utility = phi @ [1.0, -0.5, 0.1] + rng.gumbel(size=len(phi))
    best = np.repeat(np.maximum.reduceat(utility, offsets[:-1]), np.diff(offsets))
    return phi, (utility == best).astype(float), offsets


def known(data, config, **options):
    model = fit(*data, config, weights=options.get("weights"))
    return model, diagnose(*data, config, model, **options)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_standard_errors_are_the_inverse_information_at_the_unpenalised_optimum(choices, l2, standardize):
    data = (choices[0] * [1, 100, 0.01], *choices[1:])
    _, diagnosis = known(data, TrainConfig(trainer="newton", l2=l2, standardize=standardize))
    free = fit(*data, FREE).w
    _, information = conditional_logit(free, *data)
    np.testing.assert_allclose(diagnosis.errors.w, free, rtol=1e-7)
    np.testing.assert_allclose(diagnosis.errors.standard, np.sqrt(np.diag(np.linalg.inv(information))), rtol=1e-7)
    assert diagnosis.errors.form == "hessian"
    low, high = diagnosis.errors.interval
    np.testing.assert_allclose((high - low) / diagnosis.errors.standard, 2 * 1.959963984540054)


def test_groups_of_a_trace_are_clustered(choices):
    traces = np.arange(400) // 4
    _, diagnosis = known(choices, FREE, clusters=traces)
    slopes, information = conditional_logit(diagnosis.errors.w, *choices)
    inverse, sums = np.linalg.inv(information), np.array([slopes[traces == trace].sum(axis=0) for trace in range(100)])
    covariance = inverse @ sums.T @ sums @ inverse * 100 / 99
    np.testing.assert_allclose(diagnosis.errors.standard, np.sqrt(np.diag(covariance)), rtol=1e-7)
    assert (diagnosis.errors.form, diagnosis.errors.clusters) == ("by_trace", 100)


def test_a_trace_a_group_is_no_clustering(choices):
    assert known(choices, FREE, clusters=np.arange(400))[1].errors.form == "hessian"


def test_groups_of_different_weight_take_the_sandwich(choices):
    weights = np.random.default_rng(0).uniform(0.5, 2, 400)
    _, diagnosis = known(choices, FREE, weights=weights)
    slopes, _ = conditional_logit(diagnosis.errors.w, *choices)
    weighted = slopes * (weights / weights.sum())[:, None]
    phi, labels, offsets = choices
    step, hessian = 1e-5, np.zeros((3, 3))
    for place in range(3):
        for sign in (1, -1):
            moved = diagnosis.errors.w + sign * step * np.eye(3)[place]
            at = conditional_logit(moved, phi, labels, offsets)[0]
            hessian[place] -= sign * (weights / weights.sum()) @ at / (2 * step)
    inverse = np.linalg.inv(hessian)
    covariance = inverse @ weighted.T @ weighted @ inverse * 400 / 399
    np.testing.assert_allclose(diagnosis.errors.standard, np.sqrt(np.diag(covariance)), rtol=1e-5)
    assert diagnosis.errors.form == "by_group"
    assert diagnosis.effective_groups == pytest.approx(weights.sum() ** 2 / (weights**2).sum())


def test_groups_that_share_their_target_take_the_sandwich_which_holds_what_it_says():
    """Two draws a group, each from the softmax: as much as is known of w, the inverse Hessian would count half."""
    rng, held = np.random.default_rng(0), []
    for _ in range(150):
        phi = rng.normal(size=(300, 4, 1))
        utility = phi[:, None, :, 0] + rng.gumbel(size=(300, 2, 4))
        labels = (utility == utility.max(axis=2, keepdims=True)).sum(axis=1).astype(float)
        data = (phi.reshape(-1, 1), labels.reshape(-1), np.arange(0, 1201, 4))
        errors = known(data, FREE)[1].errors
        held.append(abs(errors.z[0] - 1 / errors.standard[0]) < 1.959963984540054)
    assert errors.form == "by_group"
    assert 0.90 < np.mean(held) < 0.985


def test_a_sign_that_stopping_short_turned_is_not_laid_to_the_penalty(choices):
    phi, labels, offsets = choices
    model, diagnosis = known((-phi, labels, offsets), TrainConfig(epochs=1, learning_rate=1e-6))
    assert any(
        each.startswith("stopping short, or the penalty, turns the sign of a")
        for each in diagnosis.warnings(model, NAMES)
    )


@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_the_gap_is_how_far_the_objective_is_above_the_optimum(choices, l2):
    model, diagnosis = known(choices, TrainConfig(epochs=1, l2=l2))
    exact = fit(*choices, TrainConfig(trainer="newton", l2=l2))
    by_hand = naive_objective(model.w, *choices, l2) - naive_objective(exact.w, *choices, l2)
    assert diagnosis.gap == pytest.approx(by_hand, abs=1e-12)
    assert known(choices, TrainConfig(trainer="newton", l2=l2))[1].gap == 0.0


@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_the_worth_of_a_column_is_what_the_optimum_loses_without_it(choices, l2):
    phi, labels, offsets = choices
    config = TrainConfig(trainer="newton", l2=l2)
    model, diagnosis = known(choices, config)
    for place in range(3):
        without = fit(np.delete(phi, place, axis=1), labels, offsets, config).training.objective
        assert diagnosis.worth[place] == pytest.approx(without - model.training.objective, abs=1e-10)


def test_the_worth_of_the_only_column_is_all_there_is_to_gain():
    data = ([[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]], [1, 0] * 3, [0, 2, 4, 6])
    model, diagnosis = known(data, FREE)
    assert diagnosis.worth[0] == pytest.approx(np.log(2) - model.training.objective)


def test_without_an_unpenalised_optimum_there_are_no_standard_errors_and_the_direction_is_named():
    data = ([[1.0, 0.3], [0.0, 0.1], [3.0, 0.2], [1.0, 0.4]], [1, 0, 1, 0], [0, 2, 4])
    _, diagnosis = known(data, NEWTON, names=("rel", "hist"))
    assert diagnosis.errors is None
    assert diagnosis.no_errors == "without a penalty the loss falls for ever along 0.4 rel + hist"


def test_one_trace_gives_no_standard_errors(choices):
    _, diagnosis = known(choices, NEWTON, clusters=np.zeros(400))
    assert (diagnosis.errors, diagnosis.no_errors) == (None, "all groups are of one trace")


def test_a_weight_that_is_not_identified_has_no_standard_error(choices):
    phi, labels, offsets = choices
    constant = np.repeat(np.arange(400.0), np.diff(offsets))
    _, diagnosis = known((np.column_stack((phi, constant)), labels, offsets), NEWTON)
    assert np.isnan(diagnosis.errors.standard).tolist() == [False, False, False, True]


def test_columns_that_say_the_same_are_named(choices):
    phi, labels, offsets = choices
    noise = np.random.default_rng(0).normal(size=len(phi)) / 100
    data = (np.column_stack((phi[:, :2], phi[:, 0] + noise)), labels, offsets)
    model, diagnosis = known(data, NEWTON)
    assert [pair[:2] for pair in diagnosis.collinear] == [(0, 2)]
    within = data[0] - (np.add.reduceat(data[0], offsets[:-1]) / np.diff(offsets)[:, None]).repeat(np.diff(offsets), 0)
    assert diagnosis.collinear[0][2] == pytest.approx(np.corrcoef(within[:, 0], within[:, 2])[0, 1], abs=1e-3)
    said = list(diagnosis.warnings(model, NAMES))
    assert said[0].startswith("a and c say nearly the same (correlation +1.000)")
    assert any(line.startswith("condition number") for line in said)


def test_a_trainer_that_stops_short_says_by_how_much(choices):
    model, diagnosis = known(choices, TrainConfig(epochs=1, learning_rate=1e-4))
    share = diagnosis.gap / (np.mean(np.log(np.diff(choices[2]))) - (model.training.objective - diagnosis.gap))
    assert next(diagnosis.warnings(model, NAMES)).startswith(
        f"descent ended {diagnosis.gap:.3g} above the optimum, {share:.0%} of all there is to gain over w = 0"
    )


def test_weights_that_cannot_be_told_from_0_are_named(choices):
    phi, labels, offsets = choices
    noise = np.random.default_rng(1).normal(size=len(phi))
    model, diagnosis = known((np.column_stack((phi[:, :2], noise)), labels, offsets), NEWTON)
    assert list(diagnosis.warnings(model, NAMES)) == ["not told from 0 by these data: the weight of c"]


def test_clusters_are_one_a_group(choices):
    with pytest.raises(UsageError, match=r"clusters: one a group is needed \(400,\), found shape \(3,\)"):
        known(choices, NEWTON, clusters=[1, 2, 3])


@pytest.mark.heavy
def test_standard_errors_are_those_of_statsmodels(choices):
    discrete = pytest.importorskip("statsmodels.discrete.conditional_models")
    phi, labels, offsets = choices
    groups = np.repeat(np.arange(400), np.diff(offsets))
    found = discrete.ConditionalLogit(labels, phi, groups=groups).fit(method="newton", disp=False, maxiter=100)
    _, diagnosis = known(choices, FREE)
    np.testing.assert_allclose(diagnosis.errors.w, found.params, rtol=1e-6)
    np.testing.assert_allclose(diagnosis.errors.standard, found.bse, rtol=1e-6)
