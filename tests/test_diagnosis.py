"""The diagnosis of a trained w, against loops that compute it another way."""

from dataclasses import replace

import numpy as np
import pytest

from ltr import TrainConfig, fit
from ltr.errors import UsageError
from ltr.records.training import not_identified, training_record
from ltr.training import Validation
from tests.made import diagnose
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


def test_a_sign_that_stopping_early_reversed_is_not_attributed_to_the_penalty(choices):
    phi, labels, offsets = choices
    model, diagnosis = known((-phi, labels, offsets), TrainConfig(epochs=1, learning_rate=1e-6))
    assert any(
        line.startswith("stopping early, or the penalty, reverses the sign of a")
        for line in diagnosis.warnings(model, NAMES)
    )


@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_the_gap_is_how_far_the_objective_is_above_the_optimum(choices, l2):
    model, diagnosis = known(choices, TrainConfig(epochs=1, l2=l2))
    exact = fit(*choices, TrainConfig(trainer="newton", l2=l2))
    by_hand = naive_objective(model.w, *choices, l2) - naive_objective(exact.w, *choices, l2)
    assert diagnosis.gap == pytest.approx(by_hand, abs=1e-12)
    assert known(choices, TrainConfig(trainer="newton", l2=l2))[1].gap == 0.0


@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_loss_without_is_what_the_optimum_loses_without_a_column(choices, l2):
    phi, labels, offsets = choices
    config = TrainConfig(trainer="newton", l2=l2)
    model, diagnosis = known(choices, config)
    for place in range(3):
        without = fit(np.delete(phi, place, axis=1), labels, offsets, config).training.objective
        assert diagnosis.loss_without[place] == pytest.approx(without - model.training.objective, abs=1e-10)


def test_loss_without_the_only_column_is_all_there_is_to_gain():
    data = ([[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]], [1, 0] * 3, [0, 2, 4, 6])
    model, diagnosis = known(data, FREE)
    assert diagnosis.loss_without[0] == pytest.approx(np.log(2) - model.training.objective)


def test_without_an_unpenalised_optimum_there_are_no_standard_errors_and_the_direction_is_named():
    data = ([[1.0, 0.3], [0.0, 0.1], [3.0, 0.2], [1.0, 0.4]], [1, 0, 1, 0], [0, 2, 4])
    _, diagnosis = known(data, NEWTON, names=("rel", "hist"))
    assert diagnosis.errors is None
    assert diagnosis.no_errors == "your data set no limit to the weight of 0.4 rel + hist; more data would"


def test_one_trace_gives_no_standard_errors(choices):
    _, diagnosis = known(choices, NEWTON, clusters=np.zeros(400))
    assert (diagnosis.errors, diagnosis.no_errors) == (None, "all groups belong to one trace")


def test_a_weight_that_is_not_identified_has_no_standard_error(choices):
    phi, labels, offsets = choices
    constant = np.repeat(np.arange(400.0), np.diff(offsets))
    _, diagnosis = known((np.column_stack((phi, constant)), labels, offsets), NEWTON)
    assert np.isnan(diagnosis.errors.standard).tolist() == [False, False, False, True]


def test_columns_that_are_nearly_the_same_are_named(choices):
    phi, labels, offsets = choices
    noise = np.random.default_rng(0).normal(size=len(phi)) / 100
    data = (np.column_stack((phi[:, :2], phi[:, 0] + noise)), labels, offsets)
    model, diagnosis = known(data, NEWTON)
    assert [pair[:2] for pair in diagnosis.collinear] == [(0, 2)]
    within = data[0] - (np.add.reduceat(data[0], offsets[:-1]) / np.diff(offsets)[:, None]).repeat(np.diff(offsets), 0)
    assert diagnosis.collinear[0][2] == pytest.approx(np.corrcoef(within[:, 0], within[:, 2])[0, 1], abs=1e-3)
    said = list(diagnosis.warnings(model, NAMES))
    assert said[0].startswith("a and c are nearly the same column (correlation +1.000)")
    assert not any(line.startswith("condition number") for line in said)  # one note is enough


def test_a_trainer_that_stops_short_says_by_how_much(choices):
    model, diagnosis = known(choices, TrainConfig(epochs=1, learning_rate=1e-4, init=0.1))
    share = diagnosis.gap / (np.mean(np.log(np.diff(choices[2]))) - (model.training.objective - diagnosis.gap))
    assert next(diagnosis.warnings(model, NAMES)).startswith(
        f"descent ended {diagnosis.gap:.3g} above the optimum, {share:.0%} of all there is to gain over w = 0"
    )


def said(data, config, **options):
    model, diagnosis = known(data, config, **options)
    return list(diagnosis.warnings(model, NAMES))


def test_a_trainer_that_ended_above_w_0_says_so(choices):
    lines = said(choices, TrainConfig(epochs=1, learning_rate=1e-4))
    assert lines[0].startswith("descent ended 0.841 above the optimum, worse than w = 0: trainer newton reaches it")


def test_more_epochs_are_no_advice_where_validation_data_chose_an_earlier_one(choices):
    phi, labels, offsets = choices
    config = TrainConfig(epochs=50, patience=2, learning_rate=0.1)
    model = fit(*choices, config, valid=Validation.of(-phi, labels, offsets))
    assert model.training.watched.best_epoch < model.training.epochs
    told = next(diagnose(*choices, config, model).warnings(model, NAMES))
    assert told.startswith("descent ended")
    assert told.endswith(": validation data chose an earlier epoch")


def test_what_the_penalty_takes_is_a_share_of_the_possible_gain(choices):
    data = (choices[0] * [0.01, 0.01, 0.01], *choices[1:])
    model, diagnosis = known(data, NEWTON)
    free, at_zero = fit(*data, FREE).training.objective, np.mean(np.log(np.diff(choices[2])))
    missed = naive_objective(model.w, *data, 0.0) - free
    assert diagnosis.possible_gain == pytest.approx(at_zero - free)
    assert diagnosis.lost_to_penalty == pytest.approx(missed / (at_zero - free))
    assert next(diagnosis.warnings(model, NAMES)) == (
        f"the penalty takes {diagnosis.lost_to_penalty:.0%} of the possible gain, and more than half of the "
        "weight of a, b: lower l2, or set train.standardize"
    )
    assert next(diagnosis.warnings(model, NAMES, is_l2_chosen=True)).endswith("a, b: data left out chose its l2")


@pytest.mark.parametrize("trainer", ["newton", "descent"])
def test_without_a_penalty_nothing_is_lost_to_it(choices, trainer):
    assert known(choices, TrainConfig(trainer=trainer, l2=0.0))[1].lost_to_penalty == 0.0


def test_what_descent_leaves_is_not_attributed_to_the_penalty(choices):
    _, short = known(choices, TrainConfig(epochs=1, learning_rate=1e-6))
    _, exact = known(choices, NEWTON)
    assert short.lost_to_penalty == pytest.approx(exact.lost_to_penalty)


def test_a_penalty_that_takes_only_noise_gives_no_warning():
    """Ten columns that say nothing, 30 groups: what is left to learn is chance."""
    rng = np.random.default_rng(0)
    phi, _, offsets = random_groups(rng, 30, features=10, sizes=(5, 5))
    labels = np.zeros(len(phi))
    labels[offsets[:-1]] = 1
    model, diagnosis = known((phi, labels, offsets), TrainConfig(trainer="newton", l2=1.0))
    assert diagnosis.lost_to_penalty > 0.5
    assert not any("the penalty takes" in line for line in diagnosis.warnings(model, "abcdefghij"))


def test_without_an_optimum_nothing_is_known_of_what_the_penalty_takes():
    data = ([[1.0, 0.3], [0.0, 0.1], [3.0, 0.2], [1.0, 0.4]], [1, 0, 1, 0], [0, 2, 4])
    _, diagnosis = known(data, NEWTON)
    assert (diagnosis.possible_gain, diagnosis.lost_to_penalty) == (None, None)


def test_a_single_weight_that_the_penalty_shrinks_is_named():
    rng = np.random.default_rng(3)
    phi, _, offsets = random_groups(rng, 2000, sizes=(5, 5))
    utility = phi @ [2.0, -2.0, 0.2] + rng.gumbel(size=len(phi))
    labels = np.eye(5)[utility.reshape(-1, 5).argmax(axis=1)].ravel()
    data = (phi * [1, 1, 0.02], labels, offsets)
    assert said(data, NEWTON) == ["the penalty shrinks c: the weight is less than half of the unpenalised one"]


def test_standardize_shrinks_a_column_that_varies_most_between_queries(choices):
    phi, labels, offsets = choices
    shift = np.repeat(30 * np.random.default_rng(0).normal(size=400), np.diff(offsets))
    data = (phi + np.column_stack((shift, 0 * shift, 0 * shift)), labels, offsets)
    lines = said(data, TrainConfig(trainer="newton", standardize=True))
    assert lines[0].endswith("and more than half of the weight of a: lower l2")


@pytest.mark.parametrize("copied", [lambda x: x.astype(np.float32), *(lambda x, n=n: x.round(n) for n in (6, 7, 8))])
@pytest.mark.parametrize("standardize", [False, True])
def test_a_near_copy_of_a_column_leaves_the_others_their_standard_errors(choices, copied, standardize):
    phi, labels, offsets = choices
    config = TrainConfig(trainer="newton", standardize=standardize)
    _, diagnosis = known((np.column_stack((phi, copied(phi[:, 0]))), labels, offsets), config)
    _, information = conditional_logit(fit(*choices, FREE).w, *choices)
    by_hand = np.sqrt(np.diag(np.linalg.inv(information)))
    assert diagnosis.is_open.tolist() == [True, False, False, True]
    np.testing.assert_allclose(diagnosis.errors.standard[1:3], by_hand[1:3], rtol=1e-5)
    assert np.isnan(diagnosis.errors.standard[[0, 3]]).all()
    assert not_identified(diagnosis, "abcd") == ["a - d"]


def test_shares_that_sum_to_nearly_1_leave_the_other_columns_alone(choices):
    phi, labels, offsets = choices
    shares = np.random.default_rng(0).dirichlet(np.ones(3), size=len(phi)).round(7)
    _, diagnosis = known((np.column_stack((shares, phi)), labels, offsets), FREE)
    assert diagnosis.is_open.tolist() == [True] * 3 + [False] * 3
    assert not_identified(diagnosis, "abcdef") == ["a + b + c"]


def test_a_weight_that_is_not_identified_has_no_sign_to_turn(choices):
    phi, labels, offsets = choices
    config = TrainConfig(epochs=1, learning_rate=1e-6)
    model, diagnosis = known((np.column_stack((phi[:, :2], -phi[:, 0])), labels, offsets), config)
    assert (model.w * diagnosis.errors.w)[2] < 0
    assert [line for line in diagnosis.warnings(model, NAMES) if "the sign of" in line] == [
        "stopping early, or the penalty, reverses the sign of b: do not interpret it"
    ]


def test_no_sign_is_reversed_of_a_weight_that_is_not_significant(choices):
    phi, labels, offsets = choices
    noise = np.random.default_rng(1).normal(size=len(phi))
    model, diagnosis = known((np.column_stack((phi[:, :2], noise)), labels, offsets), TrainConfig(epochs=1))
    assert (model.w * diagnosis.errors.w)[2] < 0 < model.w[2]
    lines = list(diagnosis.warnings(model, NAMES))
    assert "not significantly different from 0: the weight of c" in lines
    assert not any("c: do not interpret it" in line for line in lines)


def test_an_optimum_that_is_not_proved_is_reported_with_the_scales_that_hide_it(choices):
    phi, labels, offsets = choices
    model, diagnosis = known((phi * [1e12, 1, 1], labels, offsets), TrainConfig())
    unproved = replace(diagnosis, gap=None)  # the rounding of some processors proves it
    assert next(unproved.warnings(model, NAMES)) == (
        "the optimum could not be proved, as columns differ in scale by a factor of 1e+12: set train.standardize"
    )


def test_one_large_trace_makes_of_many_traces_few(choices):
    traces = np.minimum(np.arange(400), 300)
    model, diagnosis = known(choices, FREE, clusters=traces)
    assert diagnosis.errors.effective_clusters == pytest.approx(400**2 / (300 + 100**2))
    assert "301 traces count as 16: standard errors of so few are too small" in diagnosis.warnings(model, NAMES)


def test_heavy_groups_make_of_many_groups_few(choices):
    weights = np.where(np.arange(400) < 5, 1e4, 1.0)
    assert "400 groups count as 5: standard errors of so few are too small" in said(choices, FREE, weights=weights)


def test_no_more_traces_than_weights_give_no_standard_errors(choices):
    _, diagnosis = known(choices, FREE, clusters=np.arange(400) % 3)
    assert (diagnosis.errors, diagnosis.no_errors) == (None, "3 traces are too few for standard errors of 3 weights")
    assert known(choices, FREE, clusters=np.arange(400) % 4)[1].errors.clusters == 4


def test_groups_of_equal_candidates_are_counted_and_warned_about(choices):
    phi, labels, offsets = choices
    labels = np.where(np.repeat(np.arange(400) < 100, np.diff(offsets)), 2.0, labels)
    model, diagnosis = known((phi, labels, offsets), NEWTON)
    assert diagnosis.groups_all_alike == 100
    told = "every candidate is equally right in 100 of 400 groups: they teach nothing and pull all weights towards 0"
    assert told in diagnosis.warnings(model, NAMES)


@pytest.mark.parametrize("config", [FREE, TrainConfig()])
def test_rounding_makes_no_standard_errors(choices, config):
    phi, _, offsets = choices
    _, diagnosis = known((phi, np.ones(len(phi)), offsets), config)
    assert diagnosis.errors is None
    assert diagnosis.no_errors == "every query is fitted to rounding, which leaves no residuals to estimate them from"


def test_weights_that_are_not_significant_are_named(choices):
    phi, labels, offsets = choices
    noise = np.random.default_rng(1).normal(size=len(phi))
    model, diagnosis = known((np.column_stack((phi[:, :2], noise)), labels, offsets), NEWTON)
    assert list(diagnosis.warnings(model, NAMES)) == ["not significantly different from 0: the weight of c"]


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


def test_descent_reports_separated_groups_too():
    phi, labels, offsets = np.array([[1.0], [0.0]] * 30), [1, 0] * 30, np.arange(0, 61, 2)
    config = TrainConfig(l2=0.0, epochs=5)
    model = fit(phi, labels, offsets, config)
    diagnosis = diagnose(phi, labels, offsets, config, model)
    assert diagnosis.escape.tolist() == [1.0]
    assert training_record(model, diagnosis, ["a"]).escape == "a"
    assert not any("could not be proved" in line for line in diagnosis.warnings(model, ["a"]))


def test_columns_equal_in_every_group_are_the_reason_for_no_errors():
    phi, labels, offsets = np.repeat([[1.0], [2.0]], 2, axis=0), [1, 0, 1, 0], [0, 2, 4]
    assert known((phi, labels, offsets), NEWTON)[1].no_errors == "no feature differs between the candidates of a query"


def test_a_direction_is_written_by_what_it_moves_not_by_its_units(choices):
    phi, labels, offsets = choices
    data = (np.column_stack((phi[:, 0], phi[:, 0] * 1e8)), labels, offsets)
    assert not_identified(known(data, NEWTON)[1], "ab") == ["a - 1e-08 b"]


def test_a_descent_that_came_near_blames_the_penalty_not_itself(choices):
    phi, _, offsets = choices
    copied = phi[:, 0] + np.random.default_rng(1).normal(size=len(phi)) * 0.2
    utility = phi @ [3.0, -0.5, 0.1] - copied + np.random.default_rng(2).gumbel(size=len(phi))
    best = np.repeat(np.maximum.reduceat(utility, offsets[:-1]), np.diff(offsets))
    config = TrainConfig(epochs=250, learning_rate=0.004, l2=0.01)
    model, diagnosis = known((np.column_stack((phi, copied)), (utility == best).astype(float), offsets), config)
    said = list(diagnosis.warnings(model, "abcd"))
    assert "the penalty reverses the sign of d: do not interpret it" in said
    assert not any("stopping early" in line for line in said)
