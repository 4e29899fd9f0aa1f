import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltr.errors import RunError, UnknownNameError, UsageError
from ltr.model import Optimum, direction_text
from ltr.train import TRAINERS, TrainConfig, fit
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
def test_the_order_of_rows_inside_groups_and_duplicated_groups_do_not_matter(seed, trainer):
    rng = np.random.default_rng(seed)
    phi, labels, offsets = random_groups(rng, 10, sizes=(2, 5))
    labels[offsets[:-1]] = 1
    config = TrainConfig(trainer=trainer, epochs=3)
    w = fit(phi, labels, offsets, config).w
    within = np.concatenate([rng.permutation(np.arange(a, b)) for a, b in zip(offsets[:-1], offsets[1:], strict=True)])
    np.testing.assert_allclose(fit(phi[within], labels[within], offsets, config).w, w, atol=1e-9)
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
    flag[offsets[:10]] = labels[offsets[:10]]  # in ten groups a mark only right answers bear, elsewhere no mark
    for rows in range(10):
        flag[offsets[rows] : offsets[rows + 1]] = labels[offsets[rows] : offsets[rows + 1]] > 0
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


def test_columns_that_tell_nothing_apart_leave_w_at_zero():
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


def test_every_epoch_is_told_as_it_ends():
    seen = []
    model = fit([[1.0], [0.0]], [1, 0], [0, 2], TrainConfig(epochs=3), on_epoch=seen.append)
    assert [epoch.number for epoch in seen] == [1, 2, 3]
    assert [epoch.loss for epoch in seen] == model.training.history.tolist()
    np.testing.assert_array_equal(seen[-1].w, model.w)


def test_a_learning_rate_that_diverges_stops_and_names_the_epoch():
    phi = np.array([[1e200, 0.0], [0.0, 1e200], [1e200, 0.0], [0.0, 1e200]])
    with pytest.raises(RunError, match="descent diverged in epoch 1; lower learning_rate or scale the features"):
        fit(phi, [1, 0, 0, 1], [0, 2, 4], TrainConfig(learning_rate=1e200))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"learning_rate": 0.0}, "learning_rate is 0.0; it must be above 0"),
        ({"learning_rate": float("nan")}, "learning_rate is nan; it must be above 0"),
        ({"epochs": 0}, "epochs is 0; it must be at least 1"),
        ({"l2": -1.0}, "l2 is -1.0; it must be 0 or more"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        TrainConfig(**options)


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
