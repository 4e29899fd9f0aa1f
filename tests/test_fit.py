import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltr import TrainConfig, fit
from ltr.errors import DivergedError, RunError, UnknownNameError, UsageError
from ltr.training import TRAINERS, direction_text
from ltr.training.model import Optimum
from tests.oracles import naive_descent, naive_objective, random_groups

seeds = st.integers(0, 10**6)
NEWTON = TrainConfig(trainer="newton")
UNPENALISED = TrainConfig(trainer="newton", l2=0.0)


@pytest.fixture(scope="module")
def groups_of_2000():
    return random_groups(np.random.default_rng(2000), 2000, features=4, sizes=(1, 12), positives=2, decimals=1)


def test_descent_gives_the_w_and_the_losses_of_the_naive_loop(groups_of_2000):
    model = fit(*groups_of_2000, TrainConfig(epochs=5))
    w, history = naive_descent(*groups_of_2000, learning_rate=0.01, epochs=5, l2=0.001)
    np.testing.assert_allclose(model.w, w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.training.history, history, rtol=0, atol=1e-10)


def test_descent_with_weights_scales_each_step_by_weight_over_mean_weight(groups_of_2000):
    weights = np.random.default_rng(1).uniform(0.1, 3, 2000)
    model = fit(*groups_of_2000, TrainConfig(epochs=2), weights=weights)
    w, history = naive_descent(*groups_of_2000, learning_rate=0.01, epochs=2, l2=0.001, weights=weights)
    np.testing.assert_allclose(model.w, w, rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.training.history, history, rtol=0, atol=1e-10)


def test_newton_finds_the_optimum_and_is_never_above_descent(groups_of_2000):
    exact, stepped = fit(*groups_of_2000, NEWTON), fit(*groups_of_2000, TrainConfig(epochs=20))
    assert exact.training.optimum is Optimum.FOUND
    assert exact.training.gradient_norm < 1e-10
    assert exact.training.objective <= stepped.training.objective
    assert stepped.training.objective - exact.training.objective <= stepped.training.gap_bound


def test_the_objective_reported_is_the_one_of_the_naive_loop(groups_of_2000):
    for config in (TrainConfig(epochs=1), NEWTON):
        model = fit(*groups_of_2000, config)
        assert model.training.objective == pytest.approx(naive_objective(model.w, *groups_of_2000, l2=0.001), abs=1e-12)


@given(seeds)
def test_newton_is_at_a_minimum_from_which_no_direction_leads_down(seed):
    rng = np.random.default_rng(seed)
    phi, labels, offsets = random_groups(rng, 12, sizes=(2, 6), positives=3)
    labels[offsets[:-1]] = 1
    w = fit(phi, labels, offsets, NEWTON).w
    lowest = naive_objective(w, phi, labels, offsets, 0.001)
    for _ in range(5):
        assert naive_objective(w + 0.01 * rng.normal(size=3), phi, labels, offsets, 0.001) > lowest


@given(seeds, st.sampled_from(["descent", "newton"]))
def test_the_order_of_rows_inside_groups_does_not_matter(seed, trainer):
    rng = np.random.default_rng(seed)
    phi, labels, offsets = random_groups(rng, 10, sizes=(2, 5))
    labels[offsets[:-1]] = 1
    config = TrainConfig(trainer=trainer, epochs=3)
    within = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in zip(offsets[:-1], offsets[1:], strict=True)])
    w = fit(phi, labels, offsets, config).w
    np.testing.assert_allclose(fit(phi[within], labels[within], offsets, config).w, w, atol=1e-9)


@given(seeds)
def test_groups_given_twice_do_not_move_the_optimum(seed):
    phi, labels, offsets = random_groups(np.random.default_rng(seed), 10, sizes=(2, 5))
    labels[offsets[:-1]] = 1
    twice = np.concatenate((offsets, offsets[1:] + offsets[-1]))
    doubled = fit(np.vstack((phi, phi)), np.tile(labels, 2), twice, NEWTON)
    np.testing.assert_allclose(doubled.w, fit(phi, labels, offsets, NEWTON).w, atol=1e-8)


@given(seeds)
def test_the_order_of_the_groups_does_not_move_the_optimum(seed):
    rng = np.random.default_rng(seed)
    phi, labels, offsets = random_groups(rng, 10, sizes=(2, 5))
    labels[offsets[:-1]] = 1
    mixed = rng.permutation(10)
    rows = np.concatenate([np.arange(offsets[g], offsets[g + 1]) for g in mixed])
    moved = np.concatenate(([0], np.cumsum(np.diff(offsets)[mixed])))
    np.testing.assert_allclose(
        fit(phi[rows], labels[rows], moved, NEWTON).w, fit(phi, labels, offsets, NEWTON).w, atol=1e-8
    )


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e6, 1e150])
def test_without_a_penalty_scaling_a_column_divides_its_weight(scale):
    phi, labels, offsets = random_groups(np.random.default_rng(8), 60, features=2, sizes=(2, 6))
    model, scaled = fit(phi, labels, offsets, UNPENALISED), fit(phi * [1, scale], labels, offsets, UNPENALISED)
    assert scaled.training.optimum is Optimum.FOUND
    np.testing.assert_allclose(scaled.w * [1, scale], model.w, rtol=1e-8)


@pytest.mark.parametrize("scale", [1e-300, 1e-200, 1e200, 1e299])
def test_a_column_of_extreme_scale_never_gives_nan(scale):
    phi, labels, offsets = random_groups(np.random.default_rng(8), 60, features=2, sizes=(2, 6))
    for l2 in (0.0, 0.001):
        model = fit(phi * [1, scale], labels, offsets, TrainConfig(trainer="newton", l2=l2))
        assert np.isfinite(model.w).all()
        assert np.isfinite(model.training.objective)


def test_a_large_common_offset_of_a_column_changes_nothing():
    phi, labels, offsets = random_groups(np.random.default_rng(9), 200, sizes=(2, 6), decimals=3)
    moved = fit(phi + [1e9, 0, 0], labels, offsets, UNPENALISED)
    np.testing.assert_allclose(moved.w, fit(phi, labels, offsets, UNPENALISED).w, atol=1e-6)


@pytest.mark.parametrize("trainer", TRAINERS.names())
def test_standardised_training_is_training_on_columns_over_their_deviation(groups_of_2000, trainer):
    phi, labels, offsets = groups_of_2000
    config = TrainConfig(trainer=trainer, epochs=3, standardize=True)
    is_trained = np.repeat((np.diff(offsets) > 1) & (np.add.reduceat(labels, offsets[:-1]) > 0), np.diff(offsets))
    deviations = phi[is_trained].std(axis=0)
    seen = []
    model = fit(phi * [1, 100, 0.01, 1], labels, offsets, config, on_epoch=lambda epoch: seen.append(epoch.w))
    by_hand = fit(phi / deviations, labels, offsets, TrainConfig(trainer=trainer, epochs=3))
    np.testing.assert_allclose(model.w * [1, 100, 0.01, 1], by_hand.w / deviations, rtol=1e-9)
    np.testing.assert_allclose(model.training.deviations, deviations * [1, 100, 0.01, 1], rtol=1e-12)
    np.testing.assert_allclose(model.training.objective, by_hand.training.objective, rtol=1e-9)
    np.testing.assert_allclose(seen[-1], model.w, rtol=1e-9)


def test_a_constant_column_is_standardised_by_one():
    phi = np.array([[1.0, 0.1], [3.0, 0.1], [5.0, 0.1], [7.0, 0.1]])
    model = fit(phi, [0, 1, 1, 0], [0, 2, 4], TrainConfig(trainer="newton", standardize=True))
    assert model.training.deviations.tolist() == [pytest.approx(5**0.5), 1.0]
    assert model.training.not_identified.tolist() == [[0.0, 1.0]]


def test_directions_of_standardised_columns_are_those_of_the_raw_ones():
    phi = np.array([[1.0, 10.0], [0.0, 0.0], [0.0, 0.0], [2.0, 20.0]])  # the second is ten times the first
    model = fit(phi, [1, 0, 0, 1], [0, 2, 4], TrainConfig(trainer="newton", l2=0.0, standardize=True))
    assert direction_text(model.training.not_identified[0]) in ("x1 - 0.1 x2", "-x1 + 0.1 x2")
    assert model.training.optimum is Optimum.NONE
    assert np.abs(model.training.escape).max() == 1.0


def test_separable_groups_have_no_optimum_and_the_direction_is_named():
    phi = np.array([[1.0, 0.3], [0.0, 0.1], [2.0, -0.2], [1.0, 0.4], [5.0, 0.0], [4.0, 0.1]])
    training = fit(phi, [1, 0, 1, 0, 1, 0], [0, 2, 4, 6], UNPENALISED).training
    assert training.optimum is Optimum.NONE
    assert training.escape[0] == pytest.approx(1)
    margins = (phi[::2] - phi[1::2]) @ training.escape
    assert (margins > 0).all()


def test_quasi_separable_groups_name_only_the_column_that_runs_away():
    rng = np.random.default_rng(10)
    phi, labels, offsets = random_groups(rng, 100, features=2, sizes=(2, 5))
    labels[offsets[:-1]] = 1
    flag = np.zeros(len(phi))
    flag[: offsets[10]] = labels[: offsets[10]]  # in ten groups a mark only right answers bear, elsewhere no mark
    training = fit(np.column_stack((phi, flag)), labels, offsets, UNPENALISED).training
    assert training.optimum is Optimum.NONE
    assert direction_text(training.escape) == "x3"


def test_with_a_penalty_separable_groups_have_an_optimum():
    training = fit([[1.0], [0.0], [3.0], [1.0]], [1, 0, 1, 0], [0, 2, 4], NEWTON).training
    assert training.optimum is Optimum.FOUND
    assert training.escape is None


def test_a_column_constant_inside_every_group_is_not_identified():
    phi, labels, offsets = random_groups(np.random.default_rng(11), 100, features=2, sizes=(2, 5))
    per_group = np.repeat(np.random.default_rng(0).normal(size=100) / 3, np.diff(offsets))
    model = fit(np.column_stack((phi, per_group)), labels, offsets, UNPENALISED)
    assert model.training.optimum is Optimum.FOUND
    assert [direction_text(each) for each in model.training.not_identified] == ["x3"]
    assert model.w[2] == 0
    np.testing.assert_allclose(model.w[:2], fit(phi, labels, offsets, UNPENALISED).w, atol=1e-9)


def test_duplicated_columns_share_the_smallest_weights_and_are_named():
    phi, labels, offsets = random_groups(np.random.default_rng(12), 100, features=2, sizes=(2, 5))
    model = fit(np.column_stack((phi, 2 * phi[:, 0])), labels, offsets, UNPENALISED)
    alone = fit(phi, labels, offsets, UNPENALISED)
    assert model.training.optimum is Optimum.FOUND
    assert [direction_text(each) for each in model.training.not_identified] == ["x1 - 0.5 x3"]
    # smallest w1^2 + w3^2 with w1 + 2 w3 = w
    np.testing.assert_allclose(model.w, [alone.w[0] / 5, alone.w[1], 2 * alone.w[0] / 5], atol=1e-8)


def test_columns_equal_in_every_group_leave_w_at_zero():
    model = fit(np.ones((4, 2)), [1, 0, 0, 1], [0, 2, 4], UNPENALISED)
    np.testing.assert_array_equal(model.w, [0, 0])
    assert [direction_text(each) for each in model.training.not_identified] == ["x1", "x2"]
    assert model.training.objective == pytest.approx(np.log(2))


@given(seeds, st.floats(0.001, 0.5))
def test_the_gap_to_the_optimum_is_within_its_bound(seed, l2):
    phi, labels, offsets = random_groups(np.random.default_rng(seed), 10, sizes=(2, 5))
    labels[offsets[:-1]] = 1
    stepped = fit(phi, labels, offsets, TrainConfig(epochs=2, l2=l2)).training
    exact = fit(phi, labels, offsets, TrainConfig(trainer="newton", l2=l2)).training
    assert 0 <= stepped.objective - exact.objective <= stepped.gap_bound


def test_without_a_penalty_there_is_no_bound_on_the_gap():
    assert fit([[1.0], [0.0]], [1, 0], [0, 2], TrainConfig(epochs=1, l2=0.0)).training.gap_bound is None


def test_any_number_of_features_trains():
    phi, labels, offsets = random_groups(np.random.default_rng(13), 200, features=40, sizes=(5, 9))
    model = fit(phi, labels, offsets, NEWTON)
    assert model.training.optimum is Optimum.FOUND
    assert model.w.shape == (40,)


def test_every_epoch_is_reported_as_it_ends():
    seen = []
    model = fit([[1.0], [0.0]], [1, 0], [0, 2], TrainConfig(epochs=3), on_epoch=seen.append)
    assert [epoch.number for epoch in seen] == [1, 2, 3]
    assert [epoch.loss for epoch in seen] == model.training.history.tolist()
    np.testing.assert_array_equal(seen[-1].w, model.w)


def test_steps_of_newton_are_reported_and_counted_and_the_start_is_not():
    seen = []
    model = fit([[1.0], [0.0], [0.0], [2.0]], [1, 0, 1, 0], [0, 2, 4], NEWTON, on_epoch=seen.append)
    assert [epoch.number for epoch in seen] == list(range(1, model.training.epochs + 1))
    assert [epoch.loss for epoch in seen] == model.training.history[1:].tolist()
    assert model.training.history[0] == pytest.approx(np.log(2))


def test_where_no_step_is_needed_newton_makes_none():
    assert fit(np.ones((2, 1)), [1, 0], [0, 2], UNPENALISED).training.epochs == 0


@pytest.mark.parametrize("trainer", ["descent", "newton"])
def test_whoever_watches_cannot_change_the_result(trainer):
    def spoil(epoch):
        epoch.w[:] = 99

    phi, labels, offsets = [[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]], [1, 0] * 3, [0, 2, 4, 6]
    config = TrainConfig(trainer=trainer, epochs=2)
    assert fit(phi, labels, offsets, config, on_epoch=spoil).w == fit(phi, labels, offsets, config).w


def test_the_gradient_counts_the_penalty_on_constant_columns():
    training = fit(np.ones((2, 1)), [1, 0], [0, 2], TrainConfig(learning_rate=1e-9, epochs=1, l2=0.5)).training
    assert training.gradient_norm == pytest.approx(2 * 0.5 * 1)


def test_weights_whose_sum_overflows_weigh_by_their_ratio():
    phi, labels, offsets = [[1.0], [0.0], [0.0], [1.0], [1.0], [0.0]], [1, 0] * 3, [0, 2, 4, 6]
    assert fit(phi, labels, offsets, NEWTON, weights=[1e308] * 3).w == fit(phi, labels, offsets, NEWTON).w


def test_descent_on_many_columns_does_not_wait_for_their_spectrum():
    rng = np.random.default_rng(0)
    phi = np.column_stack([rng.normal(size=(1000, 1500)), np.ones(1000)])
    training = fit(phi, np.tile([1, 0], 500), np.arange(0, 1001, 2), TrainConfig(epochs=1)).training
    assert [direction_text(each) for each in training.not_identified] == ["x1501"]


def test_descent_on_few_columns_names_what_is_not_identified():
    x = np.random.default_rng(0).normal(size=100)
    training = fit(np.column_stack([x, x]), np.tile([1, 0], 50), np.arange(0, 101, 2), TrainConfig(epochs=1)).training
    assert [direction_text(each) for each in training.not_identified] == ["x1 - x2"]


def test_a_learning_rate_that_diverges_stops_and_names_the_epoch():
    phi = np.array([[1e200, 0.0], [0.0, 1e200], [1e200, 0.0], [0.0, 1e200]])
    with pytest.raises(RunError, match="descent diverged in epoch 1; lower learning_rate or scale the features"):
        fit(phi, [1, 0, 0, 1], [0, 2, 4], TrainConfig(learning_rate=1e200, l2=0.0))


@pytest.mark.parametrize("config", ["newton", {"trainer": "newton"}])
def test_a_config_is_a_train_config(config):
    with pytest.raises(UsageError, match="config is .*newton.*; a TrainConfig is needed"):
        fit([[1.0], [0.0]], [1, 0], [0, 2], config)


def test_an_objective_too_large_for_a_number_is_a_divergence():
    with pytest.raises(RunError, match="descent diverged: its objective is inf; lower l2 or learning_rate: their"):
        fit([[1.0], [0.0]], [1, 0], [0, 2], TrainConfig(l2=1e100, epochs=2))


def test_a_penalty_that_makes_descent_diverge_is_named():
    message = "descent diverged in epoch 1; lower l2 or learning_rate: their product is 10, and above 1"
    with pytest.raises(DivergedError, match=message):
        fit([[1.0], [0.0]] * 200, [1, 0] * 200, np.arange(0, 401, 2), TrainConfig(l2=1000.0))


def test_an_unknown_trainer_is_named_before_any_work():
    with pytest.raises(UnknownNameError):
        fit([["no number"]], [1, 0], [0, 2], TrainConfig(trainer="newtn"))


def test_an_unknown_trainer_lists_the_known_ones():
    with pytest.raises(
        UnknownNameError, match="unknown trainer 'newtn'; did you mean newton\\?; known: descent, newton"
    ):
        fit([[1.0], [0.0]], [1, 0], [0, 2], TrainConfig(trainer="newtn"))


def test_the_trainers_are_the_ones_the_design_names():
    assert TRAINERS.names() == ("descent", "newton")


def test_the_same_input_gives_the_same_bytes(groups_of_2000):
    for config in (TrainConfig(epochs=2), NEWTON):
        assert fit(*groups_of_2000, config).w.tobytes() == fit(*groups_of_2000, config).w.tobytes()


def test_descent_starts_at_init(groups_of_2000):
    model = fit(*groups_of_2000, TrainConfig(epochs=1, learning_rate=1e-9, init=-2.5))
    np.testing.assert_allclose(model.w, -2.5, atol=1e-4)
