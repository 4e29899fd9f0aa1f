"""The loss of each group by given scores."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, group_sums
from ltr.training.softmax import log_softmax
from ltr.training.trainable import CheckedGroups, Design, total_mass


def group_losses(
    scores: FloatArray,
    labels: FloatArray,
    offsets: IntArray,
    score_offset: FloatArray | None = None,
    targets_are: str = "label",
) -> FloatArray:
    """-sum t log softmax(scores + score_offset) of each group; NaN of one that cannot train.

    With targets `apart` it is the mean over the groups that a group becomes.

    >>> group_losses(np.log([3.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]), np.array([0, 2, 3])).round(6)
    array([0.287682,      nan])
    """
    design = Design(scores[:, np.newaxis], labels, offsets, score_offset=score_offset)
    checked = CheckedGroups.of(design, targets_are)
    losses = np.full(len(offsets) - 1, np.nan)
    if not checked.trains.any():
        return losses
    groups = checked.trainable(*total_mass(checked.masses))
    column = groups.phi[:, 0] + groups.score_offset if len(groups.score_offset) else groups.phi[:, 0]
    sums = -group_sums(groups.shares * log_softmax(column, groups.offsets), groups.offsets)
    by_origin = (np.bincount(groups.origins, weights=of, minlength=len(losses)) for of in (sums, groups.weights))
    losses[groups.trains] = np.divide(*(of[groups.trains] for of in by_origin))
    return losses
