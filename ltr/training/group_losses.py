"""The loss of each group by given scores."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, group_sums
from ltr.training.softmax import log_softmax
from ltr.training.trainable_groups import CheckedGroups, total_mass


def group_losses(
    scores: FloatArray,
    labels: FloatArray,
    offsets: IntArray,
    score_offset: FloatArray | None = None,
    targets_are: str = "label",
) -> FloatArray:
    """-sum t log softmax(scores + score_offset) of each group; NaN of one that cannot train.

    >>> group_losses(np.log([3.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]), np.array([0, 2, 3])).round(6)
    array([0.287682,      nan])
    """
    checked = CheckedGroups.of(scores[:, np.newaxis], labels, offsets, weights=None, score_offset=score_offset)
    losses = np.full(len(offsets) - 1, np.nan)
    if not checked.trains.any():
        return losses
    groups = checked.trainable(*total_mass(checked.masses[checked.trains]), targets_are=targets_are)
    column = groups.phi[:, 0] + groups.score_offset if len(groups.score_offset) else groups.phi[:, 0]
    losses[groups.trains] = -group_sums(groups.shares * log_softmax(column, groups.offsets), groups.offsets)
    losses[groups.trains] /= groups.weights
    return losses
