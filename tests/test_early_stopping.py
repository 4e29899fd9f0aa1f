"""Early stopping: the best epoch on validation data, against plain loops."""

import numpy as np
import pytest

from ltr import TrainConfig, evaluate, fit, rank
from ltr.errors import DataError, UsageError
from ltr.training import Epoch, Validation
from ltr.training.epochs import Watcher
from tests.oracles import naive_objective, random_groups


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
    model = fit(*data, config, valid=Validation.of(*held))
    np.testing.assert_array_equal(model.w, seen[best])
    assert (model.training.epochs, model.training.watched.best_epoch) == (stop, best + 1)
    sign = -1 if metric in ("loss", "logloss") else 1
    np.testing.assert_allclose(model.training.watched.values, sign * np.array(values[:stop]), atol=1e-12)


def test_the_objective_reported_is_that_of_the_best_epoch(two):
    data, held = two
    model = fit(*data, TrainConfig(epochs=60, learning_rate=0.1, patience=2), valid=Validation.of(*held))
    assert model.training.objective == pytest.approx(naive_objective(model.w, *data, 0.001))


def test_the_loss_of_validation_data_weighs_its_groups_and_no_other_metric_does(two):
    held = two[1]
    weights, w = np.random.default_rng(3).uniform(0.1, 50, len(held[2]) - 1), np.array([1.0, -0.5, 2.0])
    plain, weighted = Validation.of(*held), Validation.of(*held, weights=weights)
    assert -weighted.value(w, TrainConfig()) == pytest.approx(naive_objective(w, *held, 0.0, weights))
    assert weighted.value(w, TrainConfig(metric="mrr")) == plain.value(w, TrainConfig(metric="mrr"))


@pytest.mark.parametrize("metric", ["roc", "confusion"])
def test_a_metric_that_is_no_number_cannot_be_watched(two, metric):
    with pytest.raises(UsageError, match=f"{metric} is not one number"):
        fit(*two[0], TrainConfig(metric=metric), valid=Validation.of(*two[1]))


@pytest.mark.parametrize("metric, why", [("loss", "no group can train"), ("mrr", "mrr has no value")])
def test_validation_data_without_a_positive_are_named(two, metric, why):
    phi, labels, offsets = two[1]
    with pytest.raises(DataError, match=f"validation data: {why}"):
        fit(*two[0], TrainConfig(metric=metric), valid=Validation.of(phi, 0 * labels, offsets))


def test_the_exact_optimum_is_not_stopped(two):
    data, held = two
    config = TrainConfig(trainer="newton")
    np.testing.assert_array_equal(fit(*data, config, valid=Validation.of(*held)).w, fit(*data, config).w)


def test_a_watcher_can_stop_a_trainer(two):
    for trainer in ("descent", "newton"):
        model = fit(*two[0], TrainConfig(trainer=trainer), on_epoch=lambda epoch: epoch.number == 2)
        assert model.training.epochs == 2


class Rising:
    """Validation data of which each w is better than the last."""

    def value(self, w, config):
        return float(w[0])


def test_of_twenty_thousand_epochs_each_better_than_the_last_the_last_is_best():
    watcher = Watcher(Rising(), TrainConfig(), None, lambda epoch: None)
    for number in range(20_000):
        watcher(Epoch(number + 1, 0.0, np.array([number % 1000 + number // 1000])))
    assert watcher.record().best_epoch == 20_000


@pytest.mark.parametrize("standardize", [False, True])
def test_what_is_fitted_from_where_it_stood_ends_in_the_same_bytes(two, standardize):
    data, held = two
    config = TrainConfig(epochs=12, learning_rate=0.1, patience=3, standardize=standardize)
    kept = []
    for valid in (None, Validation.of(*held)):
        kept.clear()
        whole = fit(*data, config, valid=valid, on_epoch=lambda epoch: kept.append(epoch.progress()))
        for progress in kept:
            again = fit(*data, config, valid=valid, progress=progress)
            assert again.w.tobytes() == whole.w.tobytes()
            assert again.training.history.tobytes() == whole.training.history.tobytes()
