"""The choice among alternatives by left out data: what is richer has to rank better, and nothing left ranks better."""

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, code_sums
from ltr.training.standard_errors import NORMAL_95

ROUNDING = 1e-12  # means that are nearer are equal


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """How much more one alternative has than another, mean over groups, with its standard error by trace."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, values: FloatArray, others: FloatArray, weights: FloatArray, traces: IntArray) -> Self:
        """d = sum w (a - b) / sum w; its error sqrt(C / (C - 1) sum_c s_c^2) / sum w, s_c = sum of c of w (a - b - d).

        With one trace the error is infinite.

        >>> MeanDifference.of(np.array([3.0, 1.0]), np.ones(2), np.ones(2), np.array([0, 1]))
        MeanDifference(mean=1.0, standard_error=1.0)
        """
        total, apart = float(weights.sum()), values - others
        mean = float(weights @ apart) / total
        codes = np.unique(traces, return_inverse=True)[1]
        clusters = int(codes.max(initial=-1)) + 1
        sums = code_sums(codes, weights * (apart - mean), clusters)
        spread = math.sqrt(float(sums @ sums) * clusters / (clusters - 1)) if clusters > 1 else math.inf
        return cls(mean, spread / total)

    def exceeds(self, errors: float) -> bool:
        """Whether it is above 0 by more than so many standard errors."""
        return self.mean > errors * self.standard_error + ROUNDING


def simplest_as_good(losses: FloatArray, weights: FloatArray, traces: IntArray) -> int:
    """Return the first alternative that loses at most one standard error more than the best.

    losses: (alternatives, groups), from simple to rich; of equals the first is the best.

    >>> losses = np.array([[0.5, 0.7, 0.6], [0.3, 0.8, 0.5], [0.2, 0.1, 0.2]])
    >>> simplest_as_good(losses, np.ones(3), np.arange(3))  # 0.43 and 0.37 above the best, each with an error below 0.2
    2
    >>> simplest_as_good(losses[:2], np.ones(3), np.arange(3))  # 0.07 above, with an error of 0.09
    0
    """
    best = int(np.argmin(losses @ weights))
    above = [MeanDifference.of(row, losses[best], weights, traces) for row in losses]
    return next(place for place, gap in enumerate(above) if gap.mean <= gap.standard_error or place == best)


class Level(IntEnum):
    """How much an alternative has to prove."""

    SINGLE = 0  # a column that is often good alone: nothing
    SEVERAL = 1  # a weight for each of several columns: that they rank better than that one, by a standard error
    OTHER = 2  # curves, products, more columns, any other column alone: that it ranks better beyond noise


@dataclass(frozen=True, slots=True)
class FoldResults:
    """What each alternative did with groups that it did not learn from, (alternatives, groups) each."""

    losses: FloatArray  # NaN where no fold leaves a group out, or it cannot train
    hits: FloatArray  # Top-1 on the lists that were offered; 0 where nothing is right
    ranks: FloatArray  # the reciprocal rank on them, of several right ones the average precision
    served: FloatArray  # Top-1 on the lists that will be served; NaN where they are the same, or not asked

    @classmethod
    def empty(cls, alternatives: int, groups: int) -> Self:
        """Nothing is known yet of so many alternatives and groups."""
        shape = alternatives, groups
        return cls(np.full(shape, np.nan), np.zeros(shape), np.zeros(shape), np.full(shape, np.nan))

    @property
    def parts(self) -> tuple[FloatArray, ...]:
        """All of it, in the order of the fields."""
        return self.losses, self.hits, self.ranks, self.served

    def of(self, alternatives: BoolArray) -> Self:
        """What some of the alternatives did."""
        return type(self)(*(part[alternatives] for part in self.parts))

    def only(self, groups: IntArray) -> Self:
        """What it did with some of the groups."""
        return type(self)(*(part[:, groups] for part in self.parts))


def climbed(left_out: FoldResults, levels: IntArray, weights: FloatArray, traces: IntArray) -> tuple[int, ...]:
    """Return the alternatives that stood one after the other, from simple to rich; the last one is taken.

    1. First stands the single column, of those that are often good alone, that loses least.
    2. The sum of columns that loses least takes its place if it ranks better by one standard error.
    3. As long as anything ranks better beyond the 95 % interval, the best of it takes the place.

    To rank better is to have the higher mean of `ranks` on left out groups, paired by trace: a loss can fall where
    nothing ranks better. Least and best leave room for one standard error, within which the simplest is taken. What
    is of level OTHER counts only where no single column and no sum has a higher Top-1 on the lists that will be served.
    So nothing that counts ranks better than the last one beyond noise.

    >>> losses, level = np.array([[0.5, 0.7, 0.6], [0.3, 0.4, 0.4]]), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> better, none = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]), np.full((2, 3), np.nan)
    >>> rest = np.array([Level.SINGLE, Level.OTHER]), np.ones(3), np.arange(3)
    >>> [climbed(FoldResults(losses, ranks, ranks, none), *rest) for ranks in (level, better, better[::-1])]
    [(0,), (0, 1), (0,)]
    >>> climbed(FoldResults(losses, better, better, better[::-1]), *rest)  # worse where it will be served
    (0,)
    """

    def ranks_better(place: int, other: int, errors: float) -> bool:
        return MeanDifference.of(left_out.ranks[place], left_out.ranks[other], weights, traces).exceeds(errors)

    stood = list[int]()
    for level in (Level.SINGLE, Level.SEVERAL):
        places = np.flatnonzero(levels == level)
        if len(places):
            least = int(places[simplest_as_good(left_out.losses[places], weights, traces)])
            if not stood or ranks_better(least, stood[-1], 1.0):
                stood.append(least)
    counting = np.flatnonzero((levels < Level.OTHER) | _served_no_worse(left_out, levels, weights)).tolist()
    while better := [place for place in counting if ranks_better(place, stood[-1], NORMAL_95)]:
        best = max(better, key=lambda place: float(left_out.ranks[place] @ weights))
        stood.append(next(place for place in better if not ranks_better(best, place, 1.0)))
    return tuple(stood)


def _served_no_worse(left_out: FoldResults, levels: IntArray, weights: FloatArray) -> BoolArray:
    """Which alternatives have no lower Top-1 on the lists that will be served than any single column or sum."""
    has_lists = ~np.isnan(left_out.served).any(axis=0)
    counted = weights[has_lists]
    means: FloatArray = left_out.served[:, has_lists] @ counted / (counted.sum() or 1.0)  # 0 where there are no lists
    return np.asarray(means >= means[levels < Level.OTHER].max() - ROUNDING)
