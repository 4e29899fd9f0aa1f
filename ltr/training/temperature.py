"""The temperature of a softmax: how much surer or less sure scores should be than they are."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, group_sums
from ltr.training.softmax import softmax

STEPS = 100
COLDEST, HOTTEST = 1e-3, 1e3
ENOUGH = 1e-12  # the slope at which the mean loss is least


def fit_temperature(scores: FloatArray, labels: FloatArray, offsets: IntArray) -> float:
    """T > 0 at the minimum of the mean -sum_i y_i ln softmax(s / T)_i; convex in 1 / T. Groups without a right one: 0.

    1 without a group that says anything. y is shared among the right candidates of a group.

    >>> scores, labels = np.array([2.0, 0.0, 2.0, 0.0, 2.0, 0.0]), np.array([1.0, 0, 1, 0, 0, 1])
    >>> round(fit_temperature(scores, labels, np.array([0, 2, 4, 6])), 6)  # 2 / ln 2
    2.88539
    """
    total = group_sums((labels > 0).astype(float), offsets)
    sizes = np.diff(offsets)
    trains = (total > 0) & (sizes > 1)
    if not trains.any():
        return 1.0
    target = (labels > 0) / np.repeat(np.maximum(total, 1.0), sizes)
    rows, number = np.repeat(trains, sizes), int(trains.sum())
    low, high = 1 / HOTTEST, 1 / COLDEST

    def slope(inverse: float) -> float:
        """The derivative of the mean loss by 1 / T: mean of (p - y) . s."""
        p = softmax(scores * inverse, offsets)
        return float(((p - target) * scores)[rows].sum()) / number

    for _ in range(STEPS):  # the slope rises: halve in the logarithm
        middle = float(np.sqrt(low * high))
        at_middle = slope(middle)
        if abs(at_middle) < ENOUGH:
            break
        low, high = (low, middle) if at_middle > 0 else (middle, high)
    return 1 / float(np.sqrt(low * high))
