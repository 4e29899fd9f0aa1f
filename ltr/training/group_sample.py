"""A sample of the groups to train on, which proposes what all of them then prove."""

from dataclasses import replace
from functools import partial

import numpy as np

from ltr.arrays import offsets_of
from ltr.training.trainable import Trainable, TrainingGroups


def sampled(groups: TrainingGroups, step: int) -> Trainable:
    """Every step-th group, with weights that sum to 1.

    >>> from ltr.training.trainable import trainable
    >>> pairs = trainable(np.arange(6.0)[:, np.newaxis], np.array([0, 1] * 3), np.array([0, 2, 4, 6]))
    >>> sampled(pairs, 2).phi.ravel(), sampled(pairs, 2).weights
    (array([0., 1., 4., 5.]), array([0.5, 0.5]))
    """
    drawn = joined(list(groups.map(partial(_every, step=step))))
    total = drawn.weights.sum()
    return replace(drawn, weights=drawn.weights / total, shares=drawn.shares / total)


def _every(groups: Trainable, step: int) -> Trainable:
    sizes, is_drawn = np.diff(groups.offsets), np.arange(groups.first, groups.first + len(groups)) % step == 0
    rows = np.repeat(is_drawn, sizes)
    offsets = np.concatenate(([0], np.cumsum(sizes[is_drawn])))
    added = groups.score_offset[rows[: len(groups.score_offset)]]
    columns = (groups.phi[rows], offsets, groups.weights[is_drawn], groups.shares[rows], added)
    return Trainable(*columns, groups.skipped, is_drawn, np.flatnonzero(is_drawn))


def joined(parts: list[Trainable]) -> Trainable:
    """The groups of all parts as one."""
    if len(parts) == 1:
        return parts[0]
    added = [part.score_offset if len(part.score_offset) else np.zeros(part.rows) for part in parts]
    has_offset = any(len(part.score_offset) for part in parts)
    trains = np.concatenate([part.trains for part in parts])
    return Trainable(
        np.concatenate([part.phi for part in parts]),
        offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])),
        np.concatenate([part.weights for part in parts]),
        np.concatenate([part.shares for part in parts]),
        np.concatenate(added) if has_offset else np.empty(0),
        parts[0].skipped,
        trains,
        np.flatnonzero(trains),
    )
