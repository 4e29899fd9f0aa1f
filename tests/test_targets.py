"""Targets: the labels of a group as shares."""

import numpy as np
import pytest

from ltr import TrainConfig, fit
from ltr.training.targets import targets
from tests.oracles import naive_descent, random_groups


@pytest.fixture(scope="module")
def groups():
    """120 groups with labels of three grades."""
    return random_groups(np.random.default_rng(1), 120, sizes=(2, 6), grades=3)


def test_targets_share_the_labels_of_a_group():
    np.testing.assert_allclose(targets(np.array([3.0, 1.0, 0.0]), np.array([0, 3])), [3 / 4, 1 / 4, 0])


def test_targets_of_huge_labels_still_sum_to_one():
    np.testing.assert_array_equal(targets(np.array([1e300, 1e300]), np.array([0, 2])), [0.5, 0.5])


@pytest.mark.parametrize("targets, gains", [("onehot", lambda y: y > 0), ("label", lambda y: y), ("gain", np.exp2)])
def test_targets_are_what_positives_share_by(groups, targets, gains):
    phi, labels, offsets = groups
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
