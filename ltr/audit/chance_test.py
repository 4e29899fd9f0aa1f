"""How often rows that bear a mark are right, against chance: the groups that can tell, counted mark by mark."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, code_sums
from ltr.data.groups import Groups

ALPHA = 1e-3  # of a false alarm, all marks of a kind together


@dataclass(frozen=True, slots=True)
class Judged:
    """Which rows are right, in groups with both right and wrong candidates; no other group can tell."""

    owner: IntArray  # (rows,) the group of each row
    offsets: IntArray
    is_right: FloatArray  # (rows,) 1 or 0
    right: FloatArray  # (groups,) how many are
    sizes: IntArray  # (groups,)
    can_tell: BoolArray  # (groups,) every row has a label, some are right, some are not

    @classmethod
    def of(cls, groups: Groups) -> Self:
        """What the labels say."""
        sizes = np.diff(groups.offsets)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        is_right = (groups.labels > 0).astype(np.float64)
        right = code_sums(owner, is_right, len(sizes))
        missing = code_sums(owner, np.isnan(groups.labels).astype(np.float64), len(sizes))
        return cls(owner, groups.offsets, is_right, right, sizes, (missing == 0) & (right > 0) & (right < sizes))

    @property
    def total(self) -> float:
        """All right rows of groups that can tell."""
        return float(self.right[self.can_tell].sum())


@dataclass(frozen=True, slots=True)
class Tally:
    """Of each mark, over the groups where some rows bear it and some do not."""

    hits: FloatArray  # right rows that bear it
    rows: FloatArray  # rows that bear it
    expected: FloatArray  # hits by chance: right rows of the group * bearers / rows of the group
    trials: FloatArray  # right rows, bearing or not
    all_rows: FloatArray  # rows, bearing or not

    def absent(self) -> "Tally":
        """The same of not bearing the mark."""
        left, unmarked = self.trials - self.hits, self.all_rows - self.rows
        return Tally(left, unmarked, self.trials - self.expected, self.trials, self.all_rows)

    @property
    def surprise(self) -> FloatArray:
        """At most -ln P(as many hits or more by chance): trials * KL(hits / trials || expected / trials), else 0.

        Chernoff's bound; by Hoeffding it holds for the mean of groups whose chances differ.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            found, chance = self.hits / self.trials, self.expected / self.trials
            inside = np.where(found > 0, found * np.log(found / chance), 0)
            outside = np.where(found < 1, (1 - found) * np.log((1 - found) / (1 - chance)), 0)
        return np.where(found > chance, self.trials * (inside + outside), 0.0)

    @property
    def excess(self) -> FloatArray:
        """The share of the way from chance to certainty: (hits - expected) / (trials - expected)."""
        return (self.hits - self.expected) / np.maximum(self.trials - self.expected, 1e-12)


def tally(judged: Judged, rows: IntArray, marks: IntArray, count: int) -> Tally:
    """Counts of `count` marks, rows[i] bearing the mark marks[i]; a row bears a mark once."""
    telling = judged.can_tell[judged.owner[rows]]
    rows, marks = rows[telling], marks[telling]
    groups = len(judged.sizes)
    pairs, inverse = np.unique(marks * groups + judged.owner[rows], return_inverse=True)
    mark, group = np.divmod(pairs, groups)
    bearers = np.bincount(inverse, minlength=len(pairs)).astype(np.float64)
    hits = code_sums(inverse, judged.is_right[rows], len(pairs))
    sizes, right = judged.sizes[group].astype(np.float64), judged.right[group]
    mixed = bearers < sizes
    summed = (hits, bearers, right * bearers / sizes, right, sizes)
    return Tally(*(code_sums(mark[mixed], each[mixed], count) for each in summed))


def beyond_chance(counted: Tally) -> BoolArray:
    """The marks with more hits than chance gives, at ALPHA over all of them and their absence (Bonferroni)."""
    return counted.surprise > np.log(2 * max(len(counted.hits), 1) / ALPHA)
