"""How often rows with a mark are right, against chance, in the groups that have both right and wrong candidates."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, code_sums
from ltr.data.groups import Groups
from ltr.evaluation.evaluate import evaluate
from ltr.evaluation.metrics.ranking_measures import TOP1
from ltr.evaluation.ranking import rank

ALPHA = 1e-3  # of a false alarm, all marks of a kind together


@dataclass(frozen=True, slots=True)
class MarkCounts:
    """Counts of each mark, over the groups in which some rows have it and some do not."""

    hits: FloatArray  # right rows with the mark
    rows: FloatArray  # rows with the mark
    expected: FloatArray  # hits by chance: right rows of the group * rows with the mark / rows of the group
    trials: FloatArray  # right rows, with or without the mark
    all_rows: FloatArray  # rows, with or without the mark

    def absent(self) -> "MarkCounts":
        """The counts of the rows without the mark."""
        misses, unmarked = self.trials - self.hits, self.all_rows - self.rows
        return MarkCounts(misses, unmarked, self.trials - self.expected, self.trials, self.all_rows)

    @property
    def surprise(self) -> FloatArray:
        """A lower bound of -ln P(as many hits or more by chance): trials * KL(hits / trials || expected / trials).

        It is 0 where there are no more hits than by chance. This is Chernoff's bound; by Hoeffding it holds for
        the mean of groups whose chances differ.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            rate, chance = self.hits / self.trials, self.expected / self.trials
            inside = np.where(rate > 0, rate * np.log(rate / chance), 0)
            outside = np.where(rate < 1, (1 - rate) * np.log((1 - rate) / (1 - chance)), 0)
        return np.where(rate > chance, self.trials * (inside + outside), 0.0)

    @property
    def is_beyond_chance(self) -> BoolArray:
        """Whether a mark has more hits than chance gives, at ALPHA over all marks and their absence (Bonferroni)."""
        return self.surprise > np.log(2 * max(len(self.hits), 1) / ALPHA)

    @property
    def excess(self) -> FloatArray:
        """The share of the way from chance to certainty: (hits - expected) / (trials - expected)."""
        return (self.hits - self.expected) / np.maximum(self.trials - self.expected, 1e-12)


@dataclass(frozen=True, slots=True)
class ChanceTest:
    """Which rows are right, and which groups count: those with a label on every row, some right, some wrong."""

    owner: IntArray  # (rows,) the group of each row
    offsets: IntArray
    is_right: FloatArray  # (rows,) 1 or 0
    right: FloatArray  # (groups,) number of right rows
    sizes: IntArray  # (groups,)
    counts: BoolArray  # (groups,) whether the group is part of the test
    total: float  # right rows of the groups that count

    @classmethod
    def of(cls, groups: Groups) -> Self:
        """The test that the labels of the groups allow."""
        sizes = np.diff(groups.offsets)
        owner = np.repeat(np.arange(len(sizes)), sizes)
        is_right = (groups.labels > 0).astype(np.float64)
        right = code_sums(owner, is_right, len(sizes))
        unlabelled = code_sums(owner, np.isnan(groups.labels).astype(np.float64), len(sizes))
        counts = (unlabelled == 0) & (right > 0) & (right < sizes)
        return cls(owner, groups.offsets, is_right, right, sizes, counts, float(right[counts].sum()))

    def tally(self, rows: IntArray, marks: IntArray, count: int) -> MarkCounts:
        """Counts of `count` marks, where rows[i] has the mark marks[i]; a row has a mark once."""
        is_counted = self.counts[self.owner[rows]]
        rows, marks = rows[is_counted], marks[is_counted]
        pairs, inverse = np.unique(marks * len(self.sizes) + self.owner[rows], return_inverse=True)
        mark, group = np.divmod(pairs, len(self.sizes))
        marked = np.bincount(inverse, minlength=len(pairs)).astype(np.float64)
        hits = code_sums(inverse, self.is_right[rows], len(pairs))
        sizes, right = self.sizes[group].astype(np.float64), self.right[group]
        mixed = np.flatnonzero(marked < sizes)
        mark, expected = mark[mixed], right * marked / sizes
        return MarkCounts(
            hits=code_sums(mark, hits[mixed], count),
            rows=code_sums(mark, marked[mixed], count),
            expected=code_sums(mark, expected[mixed], count),
            trials=code_sums(mark, right[mixed], count),
            all_rows=code_sums(mark, sizes[mixed], count),
        )

    def ranked_first(self, scores: FloatArray) -> MarkCounts:
        """Counts of one mark: the row that the scores rank first, ties in expectation. All groups must count."""
        queries = float(len(self.sizes))
        hits = (evaluate(rank(scores, self.offsets), self.is_right).means[TOP1] or 0.0) * queries
        expected = float((self.right / self.sizes).sum())
        return MarkCounts(*(np.array([number]) for number in (hits, queries, expected, queries, queries)))
