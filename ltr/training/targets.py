"""The target probabilities of a group, from its labels; or a group for each right candidate."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, chunks, group_sums, offsets_of, ragged

APART = "apart"
TARGETS = ("onehot", "label", "gain", APART)
LARGEST_POWER = 900.0  # labels below it have a gain 2^label - 1 whose sums are finite
RUN_ROWS = 1 << 16  # rows of a run: its temporaries stay in the cache


def targets(labels: FloatArray, offsets: IntArray, *, of: str = "label") -> FloatArray:
    """The labels of each group as shares that sum to 1: t_i = g(y_i) / sum_j g(y_j). Every group needs a positive.

    g(y) is y for `label`, 1 where y > 0 for `onehot`, 2^y - 1 for `gain`. Groups for `apart` are first taken `apart`:
    each then has one positive.

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


@dataclass(frozen=True, slots=True)
class Apart:
    """Groups with one right candidate each, made of groups with several."""

    rows: IntArray  # of the given rows those that the groups are made of; wrong ones once for each right one
    labels: FloatArray  # (rows,): 1 for the right candidate of a group, else 0
    offsets: IntArray
    origins: IntArray  # (groups,): the given group that each is made of
    share: FloatArray  # (groups,): of the weight of that group: 1 / its right candidates


def apart(labels: FloatArray, offsets: IntArray) -> Apart:
    """Take each group apart: one group for each right candidate, with those of a lower label, in the order of the rows.

    The loss of a given group is then the mean over its right candidates i of -log(e^s_i / (e^s_i + sum_j e^s_j)), j
    those with y_j < y_i: right ones do not compete with each other (the "unique softmax" of graded labels). Right is
    what has a label above the least of its group; every group needs such a candidate.

    >>> groups = apart(np.array([1.0, 0.0, 1.0, 0.0]), np.array([0, 4]))
    >>> groups.rows, groups.labels, groups.offsets, groups.share
    (array([0, 1, 3, 1, 2, 3]), array([1., 0., 0., 0., 1., 0.]), array([0, 3, 6]), array([0.5, 0.5]))
    """
    sizes = np.diff(offsets)
    groups = np.repeat(np.arange(len(sizes)), sizes)
    right = np.flatnonzero(labels > np.repeat(np.minimum.reduceat(labels, offsets[:-1]), sizes))
    origins = groups[right]
    owner, within = ragged(sizes[origins])
    rows = offsets[origins][owner] + within
    is_right = rows == right[owner]
    stays = is_right | (labels[rows] < labels[right][owner])
    return Apart(
        rows[stays],
        is_right[stays].astype(np.float64),
        offsets_of(np.bincount(owner[stays], minlength=len(right))),
        origins,
        1.0 / np.bincount(origins, minlength=len(sizes))[origins],
    )
