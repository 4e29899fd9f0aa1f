"""Validation data, targets and the path of penalties, against what plain loops say."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltr.errors import DataError, UsageError
from ltr.evaluation.evaluate import evaluate
from ltr.evaluation.ranking import rank
from ltr.training.config import Epoch, TrainConfig
from ltr.training.early_stopping import Validation, Watcher
from ltr.training.fit import fit
from ltr.training.l2_path import chosen_l2, exact_path
from ltr.training.targets import targets
from tests.oracles import naive_descent, naive_objective, random_groups

seeds = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def two():
    """Training groups and others, labels of three grades."""
    data = random_groups(np.random.default_rng(1), 120, sizes=(2, 6), grades=3)
    return data, random_groups(np.random.default_rng(2), 60, sizes=(2, 6), grades=3)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("metric", ["loss", "mrr", "ndcg@3", "logloss"])
def test_descent_keeps_the_w_of_the_best_epoch_and_stops_after_patience(two, metric, standardize):
    data, held = two
    config = TrainConfig(epochs=60, learning_rate=0.1, patience=4, metric=metric, standardize=standardize)
    seen = []
    fit(*data, config, on_epoch=lambda epoch: seen.append(epoch.w))
    if metric == "loss":
        values = [-naive_objective(w, *held, 0.0) for w in seen]
    else:
        less = -1 if metric == "logloss" else 1  # of it less is better
        values = [less * evaluate(rank(held[0] @ w, held[2]), held[1], [metric]).means[metric] for w in seen]
    stop = next((n for n in range(1, 61) if n - 1 - int(np.argmax(values[:n])) >= 4), 60)
    best = int(np.argmax(values[:stop]))
    model = fit(*data, config, valid=Validation(*held))
    np.testing.assert_array_equal(model.w, seen[best])
    assert (model.training.epochs, model.training.watched.best_epoch) == (stop, best + 1)
    sign = -1 if metric in ("loss", "logloss") else 1
    np.testing.assert_allclose(model.training.watched.values, sign * np.array(values[:stop]), atol=1e-12)


def test_the_objective_reported_is_that_of_the_best_epoch(two):
    data, held = two
    model = fit(*data, TrainConfig(epochs=60, learning_rate=0.1, patience=2), valid=Validation(*held))
    assert model.training.objective == pytest.approx(naive_objective(model.w, *data, 0.001))


def test_the_loss_of_validation_data_weighs_its_groups_and_no_other_metric_does(two):
    held = two[1]
    weights, w = np.random.default_rng(3).uniform(0.1, 50, len(held[2]) - 1), np.array([1.0, -0.5, 2.0])
    plain, weighted = Validation(*held), Validation(*held, weights=weights)
    assert -weighted.value(w, TrainConfig()) == pytest.approx(naive_objective(w, *held, 0.0, weights))
    assert weighted.value(w, TrainConfig(metric="mrr")) == plain.value(w, TrainConfig(metric="mrr"))


@pytest.mark.parametrize("metric", ["roc", "confusion"])
def test_a_metric_that_is_no_number_cannot_be_watched(two, metric):
    with pytest.raises(UsageError, match=f"{metric} is not one number"):
        fit(*two[0], TrainConfig(metric=metric), valid=Validation(*two[1]))


@pytest.mark.parametrize("metric, why", [("loss", "no group can train"), ("mrr", "mrr has no value")])
def test_validation_data_without_a_positive_are_named(two, metric, why):
    phi, labels, offsets = two[1]
    with pytest.raises(DataError, match=f"validation data: {why}"):
        fit(*two[0], TrainConfig(metric=metric), valid=Validation(phi, 0 * labels, offsets))


def test_the_exact_optimum_is_not_stopped(two):
    data, held = two
    config = TrainConfig(trainer="newton")
    np.testing.assert_array_equal(fit(*data, config, valid=Validation(*held)).w, fit(*data, config).w)


def test_a_watcher_can_stop_a_trainer(two):
    for trainer in ("descent", "newton"):
        model = fit(*two[0], TrainConfig(trainer=trainer), on_epoch=lambda epoch: epoch.number == 2)
        assert model.training.epochs == 2


class Rising:
    """Validation data of which each w is better than the last."""

    def value(self, w, config):
        return float(w[0])


def test_the_time_to_watch_an_epoch_does_not_grow_with_their_number():
    watcher = Watcher(Rising(), TrainConfig(), None, lambda epoch: None)
    start = time.process_time()
    for number in range(20_000):
        watcher(Epoch(number + 1, 0.0, np.array([number % 1000 + number // 1000])))
    assert time.process_time() - start < 3
    assert watcher.record().best_epoch == 20_000


@pytest.mark.parametrize("standardize", [False, True])
def test_what_is_fitted_from_where_it_stood_ends_in_the_same_bytes(two, standardize):
    data, held = two
    config = TrainConfig(epochs=12, learning_rate=0.1, patience=3, standardize=standardize)
    kept = []
    for valid in (None, Validation(*held)):
        kept.clear()
        whole = fit(*data, config, valid=valid, on_epoch=lambda epoch: kept.append(epoch.progress()))
        for progress in kept:
            again = fit(*data, config, valid=valid, progress=progress)
            assert again.w.tobytes() == whole.w.tobytes()
            assert again.training.history.tobytes() == whole.training.history.tobytes()


def test_descent_starts_at_init(two):
    phi, labels, offsets = two[0]
    model = fit(phi, labels, offsets, TrainConfig(epochs=1, learning_rate=1e-9, init=-2.5))
    np.testing.assert_allclose(model.w, -2.5, atol=1e-5)


@pytest.mark.parametrize("targets, gains", [("onehot", lambda y: y > 0), ("label", lambda y: y), ("gain", np.exp2)])
def test_targets_are_what_positives_share_by(two, targets, gains):
    phi, labels, offsets = two[0]
    gained = np.asarray(gains(labels), dtype=float) - (targets == "gain")
    ours = fit(phi, labels, offsets, TrainConfig(epochs=3, targets=targets))
    w, history = naive_descent(phi, gained, offsets, learning_rate=0.01, epochs=3, l2=0.001)
    np.testing.assert_allclose(ours.w, w, atol=1e-12)
    np.testing.assert_allclose(ours.training.history, history, atol=1e-12)


def test_gains_of_labels_beyond_the_range_of_floats_are_shared():
    data = ([[1.0], [0.0], [0.5]], [5000, 4999, 1], [0, 3])
    w = fit(*data, TrainConfig(trainer="newton", targets="gain")).w
    shared = fit(data[0], [2 / 3, 1 / 3, 0], data[2], TrainConfig(trainer="newton")).w
    np.testing.assert_allclose(w, shared, rtol=1e-9)


def test_gains_are_shared_in_each_group_by_its_own_labels():
    labels, offsets = np.array([900.0, 899.0, 1e-20, 0.0, 3e-20]), np.array([0, 2, 5])
    np.testing.assert_allclose(targets(labels, offsets, of="gain"), [2 / 3, 1 / 3, 1 / 4, 0, 3 / 4], rtol=1e-12)


@given(seeds)
def test_the_path_finds_what_single_fits_find(seed):
    phi, labels, offsets = random_groups(np.random.default_rng(seed), 40, sizes=(2, 6))
    labels[offsets[:-1]] = 1
    config = TrainConfig(trainer="newton", l2=(0.01, 1.0, 0.0, 0.1), standardize=bool(seed % 2))
    for l2, w in zip(config.l2, exact_path(phi, labels, offsets, config), strict=True):
        single = TrainConfig(trainer="newton", l2=l2, standardize=config.standardize)
        np.testing.assert_allclose(w, fit(phi, labels, offsets, single).w, atol=1e-7)


@pytest.mark.parametrize("l2s", [(1e300, 1e299, 1e-10), (1e300, np.nextafter(1e300, 0).item(), 1e-10)])
def test_the_path_bears_steps_of_any_length(two, l2s):
    phi, labels, offsets = two[0]
    for l2, w in zip(l2s, exact_path(phi, labels, offsets, TrainConfig(trainer="newton", l2=l2s)), strict=True):
        single = fit(phi, labels, offsets, TrainConfig(trainer="newton", l2=l2)).w
        np.testing.assert_allclose(w, single, rtol=1e-7, atol=1e-300)


def test_one_standard_error_takes_the_largest_l2_as_good_as_the_best():
    values = np.array([[0.5, 0.7, 0.9], [0.5, 0.6, 0.7], [0.1, 0.2, 0.3]])  # mean .7, error .2 / sqrt 3 = .115
    assert chosen_l2((0.1, 1.0, 10.0), values, "best") == 0.1
    assert chosen_l2((0.1, 1.0, 10.0), values, "one_se") == 1.0


def test_a_fit_has_one_l2(two):
    with pytest.raises(UsageError, match="l2 names 2 values; a fit has one"):
        fit(*two[0], TrainConfig(l2=(0.1, 1.0)))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"l2": ()}, r"l2 is \[\]; different numbers are needed"),
        ({"epochs": 0, "patience": 0}, "^epochs is 0; .*; patience is 0; "),
        ({"l2": (1.0, 1.0)}, "different numbers are needed"),
        ({"l2": (1.0, -1.0)}, "l2 is -1.0; it must be 0 or more"),
        ({"l2_rule": "least"}, "l2_rule is 'least'; best or one_se is needed"),
        ({"targets": "gains"}, "targets is 'gains'; it must be one of onehot, label, gain"),
        ({"init": float("inf")}, "init is inf; it must be finite"),
        ({"patience": 0}, "patience is 0; it must be at least 1"),
        ({"folds": 1}, "folds is 1; it must be at least 2"),
        ({"metric": 3}, "metric is 3; a name is needed"),
    ],
)
def test_options_out_of_range_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        TrainConfig(**options)
