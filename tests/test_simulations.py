"""What intervals and tests promise, on fewer simulations than scripts/simulations, with seeds fixed beforehand."""

import importlib.machinery
import importlib.util
from pathlib import Path

import numpy as np
import pytest

SCRIPT = Path(__file__).parent.parent / "scripts" / "simulations"
SEED = 20_260_101


@pytest.fixture(scope="module")
def simulations():
    """The script as a module."""
    loader = importlib.machinery.SourceFileLoader("simulations", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("simulations", loader))
    loader.exec_module(module)
    return module


def test_the_interval_holds_the_true_mrr_19_times_in_20(simulations):
    assert 0.91 <= simulations.coverage(np.random.default_rng(SEED), simulations=300) <= 0.985


def test_so_does_the_interval_by_trace(simulations):
    assert 0.91 <= simulations.cluster_coverage(np.random.default_rng(SEED), simulations=300) <= 0.985


@pytest.mark.parametrize("clustered", [False, True])
def test_the_permutation_test_tells_equal_runs_apart_once_in_twenty(simulations, clustered):
    found = simulations.false_positives(np.random.default_rng(SEED), simulations=400, clustered=clustered)
    assert 0.02 <= found <= 0.09
