"""The path of penalties against single fits, and the choice among them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ltr import TrainConfig, fit
from ltr.folds import chosen_l2
from tests.made import exact_path
from tests.oracles import random_groups

seeds = st.integers(0, 10**6)


@pytest.fixture(scope="module")
def groups():
    """120 groups with labels of three grades."""
    return random_groups(np.random.default_rng(1), 120, sizes=(2, 6), grades=3)


@given(seeds)
def test_the_path_finds_what_single_fits_find(seed):
    phi, labels, offsets = random_groups(np.random.default_rng(seed), 40, sizes=(2, 6))
    labels[offsets[:-1]] = 1
    config = TrainConfig(trainer="newton", l2=(0.01, 1.0, 0.0, 0.1), standardize=bool(seed % 2))
    for l2, w in zip(config.l2, exact_path(phi, labels, offsets, config), strict=True):
        single = TrainConfig(trainer="newton", l2=l2, standardize=config.standardize)
        np.testing.assert_allclose(w, fit(phi, labels, offsets, single).w, atol=1e-7)


@pytest.mark.parametrize("l2s", [(1e300, 1e299, 1e-10), (1e300, np.nextafter(1e300, 0).item(), 1e-10)])
def test_the_path_bears_steps_of_any_length(groups, l2s):
    phi, labels, offsets = groups
    for l2, w in zip(l2s, exact_path(phi, labels, offsets, TrainConfig(trainer="newton", l2=l2s)), strict=True):
        single = fit(phi, labels, offsets, TrainConfig(trainer="newton", l2=l2)).w
        np.testing.assert_allclose(w, single, rtol=1e-7, atol=1e-300)


def test_one_standard_error_takes_the_largest_l2_as_good_as_the_best():
    values = np.array([[0.5, 0.7, 0.9], [0.5, 0.6, 0.7], [0.1, 0.2, 0.3]])  # mean .7, error .2 / sqrt 3 = .115
    assert chosen_l2((0.1, 1.0, 10.0), values, "best") == 0.1
    assert chosen_l2((0.1, 1.0, 10.0), values, "one_se") == 1.0
