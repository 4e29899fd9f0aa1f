"""The choice among alternatives by left out data, where all but a single column have to prove that they rank better."""

from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.training.one_standard_error import MeanDifference, Simplest, simplest_as_good
from ltr.training.standard_errors import NORMAL_95

ROUNDING = 1e-12  # means that are nearer are equal


class Level(IntEnum):
    """How much an alternative has to prove."""

    SINGLE = 0  # one column: nothing
    SEVERAL = 1  # several columns: that they rank better than a single one, by a standard error
    RICH = 2  # more than a weight for each: that it ranks better beyond noise, and nowhere worse
    WIDE = 3  # the same of more columns than are recommended: better than the rich one that would be chosen


@dataclass(frozen=True, slots=True)
class FoldResults:
    """What each alternative did with groups that it did not learn from, (alternatives, groups) each."""

    losses: FloatArray  # NaN where no fold leaves a group out, or it cannot train
    hits: FloatArray  # Top-1 on the lists that were offered; 0 where nothing is right
    ranks: FloatArray  # the reciprocal rank on them; 0 where nothing is right
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


def simplest_proved(left_out: FoldResults, levels: IntArray, weights: FloatArray, traces: IntArray) -> Simplest:
    """The simplest that is as good, among those that have proved that they rank better.

    A loss can fall where nothing ranks better. So several columns count where the mean reciprocal rank of those that
    would be chosen exceeds that of the single column that would be, by more than one standard error of the paired
    difference. These and the single ones are the plain ones, of which one would be chosen. A rich one counts where its
    mean reciprocal rank exceeds that of this one, by the 95 % interval, where it loses less than every plain one, and
    where none of them has more served; a wide one where the same holds of it beside the one that would be chosen of
    plain and rich ones.

    >>> losses, level = np.array([[0.5, 0.7, 0.6], [0.3, 0.4, 0.4]]), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> better, none = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]), np.full((2, 3), np.nan)
    >>> rest = np.array([Level.SEVERAL, Level.RICH]), np.ones(3), np.arange(3)
    >>> [simplest_proved(FoldResults(losses, hits, hits, none), *rest).chosen for hits in (level, better)]
    [0, 1]
    >>> worse_served = FoldResults(losses, better, better, better[::-1])
    >>> simplest_proved(worse_served, *rest).chosen
    0
    >>> several = np.array([Level.SINGLE, Level.SEVERAL]), np.ones(3), np.arange(3)
    >>> [simplest_proved(FoldResults(losses, hits, hits, none), *several).chosen for hits in (level, better)]
    [0, 1]
    """
    losses, loss = left_out.losses, left_out.losses @ weights / weights.sum()

    def chosen_among(places: IntArray) -> int:
        return int(places[simplest_as_good(losses[places], weights, traces).chosen])

    def ranking_better(level: Level, other: int, errors: float) -> IntArray:
        gains = [MeanDifference.of(row, left_out.ranks[other], weights, traces) for row in left_out.ranks]
        is_better = [gain.mean > errors * gain.standard_error + ROUNDING for gain in gains]
        return np.flatnonzero((levels == level) & is_better)

    single, plain = np.flatnonzero(levels == Level.SINGLE), np.flatnonzero(levels < Level.RICH)
    if len(single) and chosen_among(plain) not in ranking_better(Level.SEVERAL, chosen_among(single), 1.0):
        plain = single
    has_lists = ~np.isnan(left_out.served).any(axis=0)
    counted = weights[has_lists]
    means = left_out.served[:, has_lists] @ counted / (counted.sum() or 1.0)  # 0 where there are no lists
    is_no_worse = (means >= means[plain].max() - ROUNDING) & (loss < loss[plain].min())
    stand = plain
    for level in (Level.RICH, Level.WIDE):
        better = ranking_better(level, chosen_among(stand), NORMAL_95)
        stand = np.concatenate([stand, better[is_no_worse[better]]])
    simplest = simplest_as_good(losses[stand], weights, traces)
    chosen, best = int(stand[simplest.chosen]), int(stand[simplest.best])
    differences = tuple(MeanDifference.of(row, losses[chosen], weights, traces) for row in losses)
    return Simplest(chosen, best, loss, differences)
