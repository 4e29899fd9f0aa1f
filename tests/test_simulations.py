"""What intervals and tests promise, on less than `scripts/study coverage` draws, the seed fixed beforehand."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.append(str(Path(__file__).resolve().parent.parent / "scripts"))

from studies import coverage

pytestmark = pytest.mark.contract

SEED = 20_260_101


def test_the_interval_holds_the_true_mrr_19_times_in_20():
    assert 0.91 <= coverage.mrr(np.random.default_rng(SEED), simulations=300, resamples=999) <= 0.985


def test_so_does_the_interval_by_trace():
    assert 0.91 <= coverage.mrr_by_trace(np.random.default_rng(SEED), simulations=300, resamples=999) <= 0.985


@pytest.mark.parametrize("by_trace", [False, True])
def test_the_permutation_test_tells_equal_runs_apart_once_in_twenty(by_trace):
    share = coverage.false_positives(np.random.default_rng(SEED), simulations=400, by_trace=by_trace)
    assert 0.02 <= share <= 0.09
