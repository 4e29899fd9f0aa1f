"""Training over shards: the sums of plain loops, and the results of one shard, but for the last digits."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest

from ltr import TrainConfig, fit, training
from ltr.engine import IN_PROCESS
from ltr.errors import DataError, UsageError
from ltr.training import TRAINERS, Design, Knots, Products, fit_designs, optima_along, terms_of, trainer
from ltr.training.designs import training_groups
from ltr.training.model import Optimum
from ltr.training.objective import cluster_spread, derivatives, slope
from ltr.training.terms import NO_TERMS, _sample
from tests.made import diagnose, exact_path

NEWTON = TrainConfig(trainer="newton", l2=0.01)
CURVES = TrainConfig(trainer="newton", l2=0.01, knots=3, products=True)
CLOSE = {"rtol": 1e-11, "atol": 1e-12}


@dataclass(frozen=True)
class Sample:
    """Arrays of groups, and the trace of each."""

    phi: np.ndarray
    labels: np.ndarray
    offsets: np.ndarray
    weights: np.ndarray
    score_offset: np.ndarray
    traces: np.ndarray

    @property
    def arrays(self):
        return self.phi, self.labels, self.offsets

    @property
    def fixed(self):
        return {"weights": self.weights, "score_offset": self.score_offset}

    def shards(self, size):
        """Designs of so many traces."""
        parts = []
        for first in range(0, int(self.traces.max()) + 1, size):
            low, high = np.searchsorted(self.traces, [first, first + size]).tolist()
            offsets = self.offsets[low : high + 1] - self.offsets[low]
            rows = slice(self.offsets[low], self.offsets[high])
            of_rows = (self.phi[rows], self.labels[rows], offsets)
            parts.append(Design(*of_rows, self.weights[low:high], self.score_offset[rows]))
        return parts


def sample(seed=0, traces=40, columns=3):
    """Groups of 1 to 5 candidates, some without a right one, drawn from a conditional logit."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 6, traces * 3)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    phi = np.round(rng.normal(size=(offsets[-1], columns)), 2) * 10.0 ** np.arange(columns) + 3.0
    labels = np.zeros(len(phi))
    for first, last in zip(offsets, offsets[1:], strict=False):
        scores = (phi[first:last] / 10.0 ** np.arange(columns)) @ np.linspace(1, -0.5, columns)
        chosen = rng.choice(np.arange(first, last), p=np.exp(scores) / np.exp(scores).sum())
        labels[chosen] = rng.random() < 0.9
    weights = rng.uniform(0.5, 2.0, len(sizes))
    return Sample(phi, labels, offsets, weights, rng.choice([0.0, 0.7], len(phi)), np.repeat(np.arange(traces), 3))


def naive(data, w):
    """Loss, gradient and Hessian by plain loops over groups and candidates."""
    columns, total = data.phi.shape[1], 0.0
    loss, gradient, hessian = 0.0, np.zeros(columns), np.zeros((columns, columns))
    for group, (first, last) in enumerate(zip(data.offsets, data.offsets[1:], strict=False)):
        x, y = data.phi[first:last], data.labels[first:last]
        if last - first < 2 or not y.sum():
            continue
        total += data.weights[group]
        scores = [math.fsum(w * row) + offset for row, offset in zip(x, data.score_offset[first:last], strict=True)]
        largest = max(scores)
        p = np.array([math.exp(score - largest) for score in scores])
        p, t = p / p.sum(), y / y.sum()
        mean = sum(p_i * x_i for p_i, x_i in zip(p, x, strict=True))
        loss -= data.weights[group] * sum(t_i * math.log(p_i) for t_i, p_i in zip(t, p, strict=True))
        gradient += data.weights[group] * sum((p_i - t_i) * x_i for p_i, t_i, x_i in zip(p, t, x, strict=True))
        for p_i, x_i in zip(p, x, strict=True):
            hessian += data.weights[group] * p_i * np.outer(x_i - mean, x_i - mean)
    return loss / total, gradient / total, hessian / total


@pytest.mark.parametrize("size", [1, 7, 40])
def test_sums_over_shards_are_those_of_plain_loops(size):
    data, w = sample(), np.array([0.3, 0.02, -0.001])
    groups = training_groups(data.shards(size))
    loss, gradient, hessian = naive(data, w)
    found = derivatives(groups, w, np.ones(3))
    assert found.loss == pytest.approx(loss, rel=1e-12)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.hessian, hessian, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(slope(groups, w, np.ones(3)).gradient, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("shape", [{}, {"knots": 3}, {"products": True}, {"knots": 2, "products": True}])
@pytest.mark.parametrize("l2", [0.0, 0.01])
def test_shards_teach_what_the_same_groups_teach_in_one(standardize, shape, l2):
    data = sample()
    config = replace(NEWTON, l2=l2 or (0.001 if shape else 0.0), standardize=standardize, **shape)
    whole = fit(*data.arrays, config, **data.fixed)
    for size in (1, 7):
        source = data.shards(size)
        model = fit_designs(source, config)
        np.testing.assert_allclose(model.w, whole.w, **CLOSE)
        assert model.training.optimum is whole.training.optimum is Optimum.FOUND
        assert model.training.objective == pytest.approx(whole.training.objective, rel=1e-13)
        assert model.training.skipped == whole.training.skipped
        assert model.training.groups == whole.training.groups


def test_one_shard_gives_the_bytes_of_the_same_arrays():
    data = sample()
    for config in (NEWTON, replace(NEWTON, standardize=True), replace(NEWTON, knots=3, products=True)):
        source = data.shards(40)
        model = fit_designs(source, config)
        assert model.w.tobytes() == fit(*data.arrays, config, **data.fixed).w.tobytes()


@pytest.mark.parametrize("shape", [{}, {"knots": 2}, {"products": True}])
def test_the_diagnosis_of_shards_is_that_of_one(shape):
    data, config = sample(), replace(NEWTON, **shape, standardize=True)
    model = fit(*data.arrays, config, **data.fixed)
    whole = diagnose(*data.arrays, config, model, **data.fixed, clusters=data.traces)
    parts = training.diagnose(data.shards(3), config, model, clusters=data.traces)
    gains = () if shape else ("possible_gain", "lost_to_penalty")
    for name in ("at_zero", *gains, "effective_groups", "condition_number", "scale_ratio"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-12)
    assert parts.groups_all_alike == whole.groups_all_alike
    np.testing.assert_allclose(parts.loss_without, whole.loss_without, rtol=1e-8, atol=1e-11)
    assert (parts.errors is None) == bool(shape)
    if parts.errors is not None:
        assert (parts.errors.form, parts.errors.clusters) == ("by_trace", whole.errors.clusters)
        np.testing.assert_allclose(parts.errors.standard, whole.errors.standard, rtol=1e-9)
    for curve, expected in zip(parts.curves, whole.curves, strict=True):
        np.testing.assert_allclose(curve, expected, **CLOSE)


def test_the_spread_of_clusters_is_that_of_plain_sums():
    data, w = sample(), np.array([0.3, 0.02, -0.001])
    groups = training_groups(data.shards(5))
    codes = np.unique(data.traces[groups.trains], return_inverse=True)[1]
    total, products = data.weights[groups.trains].sum(), np.zeros((3, 3))
    for trace in range(int(data.traces.max()) + 1):
        held = [group for group in np.flatnonzero(data.traces == trace) if groups.trains[group]]
        part = sum((_gradient(data, group, w) for group in held), start=np.zeros(3)) / total
        products += np.outer(part, part)
    np.testing.assert_allclose(cluster_spread(groups, w, np.ones(3), codes).products, products, rtol=1e-8)


def _gradient(data, group, w):
    rows = slice(data.offsets[group], data.offsets[group + 1])
    scores = data.phi[rows] @ w + data.score_offset[rows]
    p = np.exp(scores - scores.max())
    return data.weights[group] * ((p / p.sum() - data.labels[rows] / data.labels[rows].sum()) @ data.phi[rows])


def test_the_path_of_penalties_is_that_of_one_shard():
    data, config = sample(), replace(NEWTON, l2=(0.0, 0.01, 1.0))
    path = exact_path(*data.arrays, config, **data.fixed)
    np.testing.assert_allclose(optima_along(data.shards(3), NO_TERMS, config), path, **CLOSE)


def test_shards_of_which_every_right_candidate_stands_apart_have_no_optimum():
    data = sample()
    separable = replace(data, phi=np.column_stack([data.labels, data.phi[:, 0]]), labels=data.labels)
    config = replace(NEWTON, l2=0.0)
    whole, model = fit(*separable.arrays, config), fit_designs(separable.shards(4), config)
    assert model.training.optimum is whole.training.optimum is Optimum.NONE
    np.testing.assert_allclose(model.training.escape, whole.training.escape, atol=1e-4)  # each is proved by itself


def test_a_shard_without_a_group_that_can_train_changes_nothing():
    data = sample()
    alone = Design(np.ones((2, 3)), np.ones(2), np.array([0, 1, 2]), np.ones(2), np.zeros(2))
    parts = data.shards(8)
    model = fit_designs([alone, *parts[:2], alone, *parts[2:]], NEWTON)
    np.testing.assert_allclose(model.w, fit_designs(parts, NEWTON).w, rtol=0, atol=0)
    assert model.training.skipped.one_candidate == fit(*data.arrays, NEWTON).training.skipped.one_candidate + 4
    with pytest.raises(DataError, match="no group can train: 4 with one candidate"):
        fit_designs([alone, alone], NEWTON)


@pytest.mark.parametrize("shape", [{}, {"standardize": True}, {"knots": 2}])
def test_descent_goes_through_one_shard_after_the_other(shape):
    data, config = sample(), TrainConfig(learning_rate=0.0001, epochs=3, **shape)
    whole, model = fit(*data.arrays, config, **data.fixed), fit_designs(data.shards(4), config)
    np.testing.assert_allclose(model.w, whole.w, **CLOSE)  # the groups stand in the same order
    np.testing.assert_allclose(model.training.history, whole.training.history, **CLOSE)
    turned = fit_designs(data.shards(4)[::-1], config)
    assert np.abs(turned.w - model.w).max() > 1e-9


def test_a_trainer_of_a_plug_in_is_refused():
    trainer("own")(lambda groups, geometry, config, on_epoch: None)
    try:
        with pytest.raises(UsageError, match="trainer own takes all samples at once, in memory"):
            fit_designs(sample().shards(4), TrainConfig(trainer="own"))
    finally:
        TRAINERS._own.pop("own")


def test_knots_of_shards_are_those_of_all_rows_or_of_the_groups_of_lowest_digest(monkeypatch):
    data = sample(traces=200)
    config = replace(NEWTON, knots=4, products=True)
    terms, whole = terms_of(data.shards(7), config), Knots.of(data.phi, 4)
    knots = terms.knots
    assert not terms.are_sampled
    assert terms.products.centres.tolist() == Products.of(data.phi).centres.tolist()
    assert (knots.positions.tolist(), knots.ends.tolist()) == (whole.positions.tolist(), whole.ends.tolist())
    monkeypatch.setattr("ltr.training.terms.MOST_DISTINCT", 100)
    monkeypatch.setattr("ltr.training.terms.SAMPLED", 50)
    terms = terms_of(data.shards(7), config)
    sampled = terms.knots
    assert terms.are_sampled
    assert sampled.positions.tolist() == terms_of(data.shards(31), config).knots.positions.tolist()
    assert terms.products.centres.tolist() == terms_of(data.shards(31), config).products.centres.tolist()
    assert np.isin(sampled.positions, data.phi).all()
    assert sampled.ends.tolist() == whole.ends.tolist()


def test_few_numbers_stay_in_memory_between_passes_and_many_are_read_again(monkeypatch):
    data = sample()

    class Counting:
        reads = 0

        def __len__(self):
            return 3

        def __getitem__(self, number):
            Counting.reads += 1
            return data.shards(14)[number]

    few = fit_designs(Counting(), NEWTON)
    read_once = Counting.reads
    monkeypatch.setattr("ltr.training.designs.KEPT_NUMBERS", 0)
    assert fit_designs(Counting(), NEWTON).w.tobytes() == few.w.tobytes()
    assert read_once == 9  # one pass that counts, and one each that keeps the groups as they are and with equal weights
    assert Counting.reads - read_once > 12


def learned(data, config, engine):
    """All that is learned from shards, to the last digit."""
    source = data.shards(9)
    model = fit_designs(source, config, engine=engine)
    diagnosis = training.diagnose(source, config, model, clusters=data.traces, engine=engine)
    path = optima_along(source, model.terms, replace(config, l2=(0.1, 0.01)), engine=engine)
    with np.printoptions(floatmode="unique", threshold=1_000_000):
        return repr((model, model.w, diagnosis, path))


@pytest.mark.parametrize("config", [NEWTON, CURVES, replace(NEWTON, l2=0.0)])
def test_the_number_of_workers_changes_no_digit(config, two, four):
    expected = learned(sample(), config, IN_PROCESS)
    assert "0." in expected
    assert learned(sample(), config, two) == expected
    assert learned(sample(), config, four) == expected


def test_a_sample_of_groups_for_knots_is_the_same_with_workers(two):
    source = sample(traces=200).shards(7)
    assert _sample(source, 50, two).tobytes() == _sample(source, 50, IN_PROCESS).tobytes()
