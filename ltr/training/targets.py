"""The target probabilities of a group, from its labels."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, chunks, group_sums

TARGETS = ("onehot", "label", "gain")
LARGEST_POWER = 900.0  # labels below it have a gain 2^label - 1 whose sums are finite
RUN_ROWS = 1 << 16  # rows of a run: its temporaries stay in the cache


def targets(labels: FloatArray, offsets: IntArray, *, of: str = "label") -> FloatArray:
    """The labels of each group as shares that sum to 1: t_i = g(y_i) / sum_j g(y_j). Every group needs a positive.

    g(y) is y for `label`, 1 where y > 0 for `onehot`, 2^y - 1 for `gain`.

    >>> targets(np.array([0.0, 1.0, 1.0, 3.0]), np.array([0, 3, 4]))
    array([0. , 0.5, 0.5, 1. ])
    >>> targets(np.array([0.0, 1.0, 2.0]), np.array([0, 3]), of="gain")
    array([0.  , 0.25, 0.75])
    """
    largest = np.repeat(np.maximum.reduceat(labels, offsets[:-1]), np.diff(offsets))
    if of == "onehot":
        shares = (labels > 0).astype(np.float64)
    elif of == "gain":
        shares = gains(labels, largest)
    else:
        shares = labels / largest  # a sum of labels near the largest float would overflow
    return shares / np.repeat(group_sums(shares, offsets), np.diff(offsets))


def gains(labels: FloatArray, largest: FloatArray) -> FloatArray:
    """2^y - 1; divided by 2^largest in groups whose largest label is too large for that.

    >>> gains(np.array([0.0, 2.0, 1999.0, 2000.0]), np.array([2.0, 2.0, 2000.0, 2000.0]))
    array([0. , 3. , 0.5, 1. ])
    """
    values, is_huge = np.expm1(np.minimum(labels, LARGEST_POWER) * np.log(2)), largest >= LARGEST_POWER
    values[is_huge] = np.exp2(labels[is_huge] - largest[is_huge]) - np.exp2(-largest[is_huge])
    return values


def shares(labels: FloatArray, offsets: IntArray, weights: FloatArray, *, of: str) -> FloatArray:
    """Targets times the weight of their group. Runs of groups are worked out one by one, to keep temporaries small."""
    products = np.empty(len(labels))
    for first, last in chunks(offsets, RUN_ROWS):
        rows, starts = slice(offsets[first], offsets[last]), offsets[first : last + 1] - offsets[first]
        by_row = np.repeat(weights[first:last], np.diff(starts))
        np.multiply(targets(labels[rows], starts, of=of), by_row, out=products[rows])
    return products
