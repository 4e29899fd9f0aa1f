"""The softmax of scores in groups, and its temperature: how much surer or less sure scores should be than they are."""

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, group_sums, offsets_of

STEPS = 100
COLDEST, HOTTEST = 1e-3, 1e3
ENOUGH = 1e-12  # the slope at which the mean loss is least


def log_softmax(scores: FloatArray, offsets: IntArray) -> FloatArray:
    """Log probability of each candidate in its group: log p_i = s_i - m - log sum_j exp(s_j - m), m = max_j s_j.

    >>> np.exp(log_softmax(np.array([0.0, np.log(3.0), 5.0]), np.array([0, 2, 3]))).round(12)
    array([0.25, 0.75, 1.  ])
    """
    sizes = np.diff(offsets)
    shifted = scores - np.repeat(np.maximum.reduceat(scores, offsets[:-1]), sizes)
    return shifted - np.repeat(np.log(group_sums(np.exp(shifted), offsets)), sizes)


def softmax(scores: FloatArray, offsets: IntArray) -> FloatArray:
    """Probability of each candidate in its group: p_i = exp(s_i) / sum_j exp(s_j).

    >>> softmax(np.array([0.0, np.log(3.0)]), np.array([0, 2])).round(12)
    array([0.25, 0.75])
    """
    return np.exp(log_softmax(scores, offsets))


def helpful_temperature(scores: FloatArray, labels: FloatArray, offsets: IntArray, folds: IntArray) -> float:
    """The temperature of the scores if temperatures help in folds they were not fitted on, else 1.

    `folds`: of each group. The loss of each group is compared at the temperature of the other folds and at 1; its mean
    must be lower by more than two standard errors.

    >>> scores, labels = np.tile([9.0, 0.0], 40), np.tile([1.0, 0, 1, 0, 1, 0, 0, 1], 10)  # 3 of 4 are right
    >>> offsets, folds = np.arange(0, 81, 2), np.arange(40) // 8
    >>> round(helpful_temperature(scores, labels, offsets, folds), 3)  # 9 / ln 3
    8.192
    >>> helpful_temperature(scores * np.log(3) / 9, labels, offsets, folds)
    1.0
    """
    falls = []
    for fold in np.unique(folds):
        inside, others = (_some(scores, labels, offsets, choice) for choice in (folds == fold, folds != fold))
        falls.append(losses(*inside, 1.0) - losses(*inside, fit_temperature(*others)))
    fall = np.concatenate(falls)
    error = float(fall.std()) / np.sqrt(len(fall))
    return fit_temperature(scores, labels, offsets) if fall.mean() > 2 * error else 1.0


def losses(scores: FloatArray, labels: FloatArray, offsets: IntArray, temperature: float) -> FloatArray:
    """-sum_i y_i ln softmax(s / T)_i of each group; 0 without a right candidate.

    >>> losses(np.array([0.0, 0.0]), np.array([1.0, 0.0]), np.array([0, 2]), 2.0).round(6)  # ln 2
    array([0.693147])
    """
    total = np.repeat(group_sums((labels > 0).astype(float), offsets), np.diff(offsets))
    return -group_sums((labels > 0) / np.maximum(total, 1.0) * log_softmax(scores / temperature, offsets), offsets)


def _some(
    scores: FloatArray, labels: FloatArray, offsets: IntArray, choice: BoolArray
) -> tuple[FloatArray, FloatArray, IntArray]:
    """The groups that are chosen."""
    sizes = np.diff(offsets)
    rows = np.repeat(choice, sizes)
    return scores[rows], labels[rows], offsets_of(sizes[choice])


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
