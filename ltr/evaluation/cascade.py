"""The cascade model: a reader goes down the list and stops at a candidate the more likely, the better it is.

Grade l satisfies with R = (2^l - 1) / 2^max_grade; the greatest grade is that of all queries, or they cannot be
compared.
"""

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray, code_sums
from ltr.errors import DataError
from ltr.evaluation.metrics import example, measure  # noqa: F401 (the docstrings' examples)
from ltr.evaluation.ties import TieBlocks

AT_ONCE = 1 << 20  # numbers of one pass over the tie blocks


def satisfaction(grades: npt.ArrayLike, max_grade: float) -> FloatArray:
    """Chance that each grade satisfies: R = (2^grade - 1) / 2^max_grade; a grade above the greatest is refused.

    >>> satisfaction([0, 1, 3], max_grade=3)
    array([0.   , 0.125, 0.875])
    """
    values = np.asarray(grades, dtype=np.float64)
    if values.max(initial=0) > max_grade:
        raise DataError(f"label {values.max():g} is above max_grade {max_grade:g}; set it to the greatest there can be")
    small = np.expm1(np.minimum(values, 1.0) * np.log(2)) * np.exp2(-max_grade)  # keeps tiny labels
    return np.where(values < 1, small, np.exp2(values - max_grade) - np.exp2(-max_grade))


def stop_probabilities(grades: npt.ArrayLike, max_grade: float) -> FloatArray:
    """Chance that the reader of one list stops at each rank: P_r = R_r * prod_{i < r} (1 - R_i); the rest goes on.

    >>> stop_probabilities([3, 0, 1], max_grade=3)
    array([0.875   , 0.      , 0.015625])
    """
    stops = satisfaction(grades, max_grade)
    return stops * np.cumprod(np.append(1.0, 1 - stops))[:-1]


@measure("err", "err@k over the whole list", k=None)
@measure("err@k", "mean over stops of 1 / rank, 0 below rank k: sum of P_r / r; R = (2^label - 1) / 2^max_grade")
def expected_reciprocal_rank(blocks: TieBlocks, k: int) -> FloatArray:
    """sum_r 1/r R_r prod_{i < r} (1 - R_i); in a tie P(reach its j-th) = mean of prod (1 - R_i) over its j - 1-subsets.

    >>> example("err@5", [5, 4, 3, 2, 1], [3, 2, 3, 0, 1], max_grade=4)
    0.5601
    """
    ranked, stops = blocks.ranked, satisfaction(blocks.labels, blocks.max_grade)
    members = np.bincount(ranked.of_label, minlength=len(ranked.query))
    inside, passed = _of_one_label(blocks, stops, k)
    several = np.flatnonzero(members > 1)
    if len(several):
        inside[several], passed[several] = _of_several_labels(blocks, members, several, k)
    return blocks.per_query(ranked.query, reaching(passed, ranked.number) * inside)


def reaching(passed: FloatArray, step: IntArray) -> FloatArray:
    """Of each block, a number of them a query, the product of what the blocks before let pass, in log2 rounds.

    >>> reaching(np.array([0.5, 0.5, 0.5, 0.25, 1.0]), np.array([0, 1, 2, 0, 1]))
    array([1.  , 0.5 , 0.25, 1.  , 0.25])
    """
    products = passed.copy()
    distance, longest = 1, int(step.max(initial=0))
    while distance < longest:
        later = np.flatnonzero(step >= distance)
        products[later] *= products[later - distance]
        distance *= 2
    return np.where(step > 0, np.concatenate(([1.0], products[:-1])), 1.0) if len(step) else products


def _of_one_label(blocks: TieBlocks, stops: FloatArray, k: int) -> tuple[FloatArray, FloatArray]:
    """Of a block with one label R * the mean of 1/place within k, and what it lets pass; others are replaced."""
    ranked, stop = blocks.ranked, np.zeros(len(blocks.ranked.query))
    stop[ranked.of_label] = stops
    if ranked.is_untied:
        return np.where(ranked.place <= k, stop / ranked.place, 0.0), 1 - stop
    near = code_sums(ranked.owner, np.where(ranked.place <= k, 1 / ranked.place, 0.0), len(stop))
    return stop * near / ranked.span, 1 - stop


def _of_several_labels(
    blocks: TieBlocks, members: IntArray, several: IntArray, k: int
) -> tuple[FloatArray, FloatArray]:
    """The same of blocks with several labels: sum_j P(stop at the j-th of its places) / (a + j) within k.

    Labels of a block stand in the order of their grades, whatever the order of the file.
    """
    ranked, inside, passed = blocks.ranked, np.empty(len(several)), np.empty(len(several))
    grades, code = np.unique(blocks.labels, return_inverse=True)
    entries, counts = np.unique(ranked.of_label * len(grades) + code, return_counts=True)
    passing = np.repeat((1 - satisfaction(grades, blocks.max_grade))[entries % len(grades)], counts)
    starts = np.cumsum(members) - members
    shapes, kind = np.unique(np.stack((ranked.span[several], members[several])), axis=1, return_inverse=True)
    for number, (span, labels) in enumerate(shapes.T.tolist()):
        alike = np.flatnonzero(kind == number)
        for part in np.array_split(alike, len(alike) * (min(span, k) + labels) // AT_ONCE + 1):
            block = several[part]
            x = passing[starts[block][:, np.newaxis] + np.arange(labels)]
            reach = means_of_products(x, span, min(span, k))  # P(reach the j-th place of the block)
            place = ranked.above[block][:, np.newaxis] + np.arange(1, reach.shape[1])
            inside[part] = np.where(place <= k, (reach[:, :-1] - reach[:, 1:]) / place, 0.0).sum(axis=1)
            passed[part] = np.prod(x, axis=1)
    return inside, passed


def means_of_products(x: FloatArray, count: int, longest: int) -> FloatArray:
    """Mean of the products over all j-subsets, e_j / C(count, j), j = 0 .. longest, of `count` factors: x, else 1.

    Factor by factor, with n in all: E_j = (n - j)/n E_j + j/n x E_{j - 1}; nothing is subtracted, nothing cancels.

    >>> means_of_products(np.array([[0.5, 0.5]]), count=3, longest=3).round(6)
    array([[1.      , 0.666667, 0.416667, 0.25    ]])
    """
    j = np.arange(longest + 1)
    ones = count - x.shape[1]
    means = np.broadcast_to((j <= ones).astype(float), (len(x), longest + 1)).copy()
    for number, factor in enumerate(x.T, start=ones + 1):
        without = means[:, 1:] * (np.maximum(number - j[1:], 0) / number)
        means[:, 1:] = without + means[:, :-1] * (factor[:, np.newaxis] * (j[1:] / number))
    return means
