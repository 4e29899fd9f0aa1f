"""Queries drawn from the model of ltr itself, and the loss of scores on them."""

import numpy as np

from ltr.training.softmax import log_softmax


def draws(groups, sizes, seed=0):
    """phi, labels, offsets: exact draws from the model with known w."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(sizes[0], sizes[1] + 1, groups)
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    phi = rng.normal(size=(offsets[-1], 4))
    utility = phi @ [1.0, -0.5, 0.3, 0.0] + rng.gumbel(size=offsets[-1])
    best = np.repeat(np.maximum.reduceat(utility, offsets[:-1]), lengths)
    return phi, (utility == best).astype(float), offsets


def loss(scores, labels, offsets):
    """Mean cross-entropy of the softmax of the scores."""
    return float(-log_softmax(np.asarray(scores, dtype=float), offsets)[labels > 0].mean())
