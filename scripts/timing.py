"""What every part of scripts/bench measures with: exact draws, CPU time, the loss of scores."""

import time

import numpy as np

from ltr.training import kernels as compiled
from ltr.training.objective import log_softmax


def draws(groups, sizes, seed=0):
    """phi, labels, offsets: exact draws from the model with known w."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(sizes[0], sizes[1] + 1, groups)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    phi = rng.normal(size=(offsets[-1], 4))
    utility = phi @ [1.0, -0.5, 0.3, 0.0] + rng.gumbel(size=offsets[-1])
    best = np.repeat(np.maximum.reduceat(utility, offsets[:-1]), lengths)
    return phi, (utility == best).astype(float), offsets


def cpu_seconds(call, repeats=1):
    """Least CPU time of the calls, and what the last returned."""
    spent = []
    for _ in range(repeats):
        start = time.process_time()
        result = call()
        spent.append(time.process_time() - start)
    return min(spent), result


class without_numba:  # noqa: N801 - reads as a statement
    """Inside it numpy does all the work."""

    def __enter__(self):
        self.before = compiled.STEPS, compiled.NUMBERS
        compiled.STEPS = compiled.NUMBERS = float("inf")

    def __exit__(self, *_):
        compiled.STEPS, compiled.NUMBERS = self.before


def loss(scores, labels, offsets):
    """Mean cross-entropy of the softmax of the scores."""
    return float(-log_softmax(np.asarray(scores, dtype=float), offsets)[labels > 0].mean())
