"""The candidates as a classifier sees them: each is right or wrong, and has a probability made of its score.

Beyond memory they are counted, and counts add up: candidates are told apart by 2^16 bins of their log odds,
log p - log(1 - p), and not one by one. Counts at the threshold, losses and calibration are sums and lose nothing; auc
and roc treat the candidates of a bin as a tie, and the bins say how far that can be from the exact value
(`error_bounds`).
"""

import math
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Self

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, code_sums, group_sums, groups_of
from ltr.errors import DataError
from ltr.evaluation.ranking import Ranking, Ties, order

BINS = 10  # of calibration
FINE_BINS = 1 << 16
LARGEST_ODDS = 44.0  # log odds from -44 to 44: p from 1e-19 to 1 - 1e-19
LARGEST_LOSS = 745.0  # -log of the least float above 0: no term of a loss counts more, or one would be infinite


class Probability(StrEnum):
    """What makes a score the probability that its candidate is right."""

    SOFTMAX = "softmax"  # over the candidates of a query: the probabilities of a query sum to 1
    GIVEN = "given"  # the score itself, such as the click probability of another model
    SIGMOID = "sigmoid"  # 1 / (1 + exp(-score)), of each candidate by itself


@dataclass(frozen=True, slots=True)
class Levels:
    """The probabilities that occur, from the least: nothing here follows from the order of the input."""

    probability: FloatArray
    count: IntArray
    right: IntArray


@dataclass(frozen=True, eq=False)  # no slots, for cached_property
class CandidateProbabilities:
    """The listed candidates of the queries that count, each with its probability, and whether it is right."""

    ranking: Ranking  # of these candidates; without any of a query whose list is empty
    right: BoolArray  # (rows,)
    probability: FloatArray  # (rows,): p
    log_right: FloatArray  # (rows,): log p
    log_wrong: FloatArray  # (rows,): log(1 - p)
    threshold: float
    meaning: Probability

    @property
    def ordering(self) -> FloatArray:
        """What orders candidates by probability and differs longest: log p of a softmax, else the score."""
        return self.log_right if self.meaning is Probability.SOFTMAX else self.ranking.scores

    @property
    def number(self) -> int:
        """How many candidates there are."""
        return len(self.right)

    @property
    def queries(self) -> int:
        """How many queries the candidates belong to."""
        return len(self.ranking.offsets) - 1

    @cached_property
    def confusion(self) -> IntArray:
        """True positives, false positives, false negatives and true negatives: chosen is p >= threshold."""
        chosen, right = self.probability >= self.threshold, self.right
        counts = (chosen & right, chosen & ~right, ~chosen & right, ~chosen & ~right)
        return np.array([np.count_nonzero(count) for count in counts])

    @cached_property
    def blocks(self) -> Levels:
        """The candidates by probability, those of equal probability up to rounding in one block.

        Each log p of a softmax is an interval, log p +- `rounding`; a block is a chain of intervals that overlap. The
        probability of a block is its least, so that p >= it chooses the whole block. Other scores tie when they are
        equal.
        """
        is_softmax = self.meaning is Probability.SOFTMAX
        block = chains(self.ordering, rounding(self) if is_softmax else np.zeros(self.number))
        count = np.bincount(block)
        least = np.ones(len(count))
        np.minimum.at(least, block, self.probability)
        return Levels(least, count, np.bincount(block[self.right], minlength=len(count)))

    @cached_property
    def calibration(self) -> FloatArray:
        """Of each of the BINS equal bins of p how many candidates, their sum of p, and how many right, (3, BINS)."""
        # level by level, from the least p: nothing follows from the order of the input
        _, where, level = np.unique(self.ordering, return_index=True, return_inverse=True)
        count = np.bincount(level, minlength=len(where))
        right = np.bincount(level[self.right], minlength=len(where))
        p = self.probability[where]
        return calibration_of(p, count.astype(float), p * count, right.astype(float))

    @cached_property
    def first_calibration(self) -> FloatArray:
        """The same of the greatest p of each query; of candidates level there the share that is right counts."""
        if not self.queries:
            return np.zeros((3, BINS))
        ranking, starts = self.ranking, self.ranking.offsets[:-1]
        highest = np.repeat(np.maximum.reduceat(ranking.scores, starts), np.diff(ranking.offsets))
        is_first = ranking.scores == highest
        right = np.add.reduceat((is_first & self.right).astype(float), starts) / np.add.reduceat(is_first, starts)
        p = np.maximum.reduceat(self.probability, starts)
        return calibration_of(p, np.ones(len(p)), p, right)

    @cached_property
    def loss(self) -> float:
        """The sum over candidates of -log p where right, -log(1 - p) where wrong."""
        losses = -np.where(self.right, self.log_right, self.log_wrong)
        return math.fsum(np.minimum(losses, LARGEST_LOSS).tolist())

    @cached_property
    def least_loss(self) -> float:
        """The least sum of losses that any scores reach: a group's p sums to 1, its labels to R.

        Probabilities that do not sum to 1 in a query, given ones and those of a sigmoid, can reach 0.
        """
        if self.meaning is not Probability.SOFTMAX:
            return 0.0
        offsets = self.ranking.offsets
        sizes = np.diff(offsets).astype(float)
        right = code_sums(groups_of(np.flatnonzero(self.right), offsets), np.ones(self.right.sum()), len(sizes))
        none = -sizes * np.log1p(-1 / np.maximum(sizes, 2))
        some = right * np.log(np.maximum(right, 1))
        return math.fsum(np.where(right > 0, some, np.where(sizes > 1, none, sizes * LARGEST_LOSS)).tolist())


@dataclass(frozen=True, slots=True, eq=False)
class CandidateCounts:
    """What is counted of the candidates of some queries; the counts of two sets of queries add up."""

    number: int
    queries: int
    confusion: IntArray  # as of the candidates themselves, and so are the next four
    calibration: FloatArray
    first_calibration: FloatArray
    loss: float
    least_loss: float
    count: IntArray  # (FINE_BINS,): candidates by their log odds
    right: IntArray  # (FINE_BINS,)
    least: FloatArray  # (FINE_BINS,): the least p of a bin, 2 of an empty one

    @classmethod
    def of(cls, candidates: CandidateProbabilities) -> Self:
        """Count candidates that are in memory."""
        fine = fine_bins(candidates)
        least = np.full(FINE_BINS, 2.0)
        np.minimum.at(least, fine, candidates.probability)
        same = ("number", "queries", "confusion", "calibration", "first_calibration", "loss", "least_loss")
        return cls(
            **{name: getattr(candidates, name) for name in same},
            count=np.bincount(fine, minlength=FINE_BINS),
            right=np.bincount(fine[candidates.right], minlength=FINE_BINS),
            least=least,
        )

    def __add__(self, other: "CandidateCounts") -> "CandidateCounts":
        """Return the counts of the candidates of both."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in self.__slots__ if name != "least"}
        return CandidateCounts(**sums, least=np.minimum(self.least, other.least))

    @property
    def blocks(self) -> Levels:
        """The candidates by probability, those of a fine bin in one block."""
        filled = np.flatnonzero(self.count)
        return Levels(self.least[filled], self.count[filled], self.right[filled])

    @property
    def error_bounds(self) -> dict[str, float]:
        """How far auc, and a rate of the roc curve at any threshold, can be from the exact value.

        A pair of a right and a wrong candidate of one bin counts 1/2, and would count 0, 1/2 or 1.
        """
        wrong = self.count - self.right
        all_right, all_wrong = int(self.right.sum()), int(wrong.sum())
        if not all_right or not all_wrong:
            return {}
        area = float((self.right * wrong).sum()) / (2 * all_right * all_wrong)
        return {"auc": area, "roc": max(float(self.right.max()) / all_right, float(wrong.max()) / all_wrong)}


AnyCandidates = CandidateProbabilities | CandidateCounts


def candidate_probabilities(
    ranking: Ranking,
    right: BoolArray,
    counted: BoolArray,
    threshold: float,
    meaning: Probability = Probability.SOFTMAX,
) -> CandidateProbabilities:
    """The listed candidates of the counted queries with their probabilities, exact also where p is near 0 or 1."""
    rows = np.repeat(counted, np.diff(ranking.offsets)) & ranking.is_listed
    listed = Ranking(ranking.scores[rows], np.concatenate(([0], np.cumsum(ranking.num_listed[counted]))))
    of_scores = {Probability.SOFTMAX: _softmax, Probability.GIVEN: _given, Probability.SIGMOID: _sigmoid}[meaning]
    probability, log_right, log_wrong = of_scores(listed)
    return CandidateProbabilities(listed, right[rows], probability, log_right, log_wrong, threshold, meaning)


def _given(ranking: Ranking) -> tuple[FloatArray, FloatArray, FloatArray]:
    """p = s, log p and log(1 - p) of each row."""
    p = ranking.scores
    if p.size and not 0 <= p.min() <= p.max() <= 1:
        wrong = p[np.argmax((p < 0) | (p > 1))]
        raise DataError(
            f"score {wrong:g} is no probability from 0 to 1, and probability is given; name softmax or sigmoid instead"
        )
    with np.errstate(divide="ignore"):  # who is certain and wrong loses all
        return p, np.log(p), np.log1p(-p)


def _sigmoid(ranking: Ranking) -> tuple[FloatArray, FloatArray, FloatArray]:
    """p = 1 / (1 + exp(-s)), log p and log(1 - p) of each row.

    >>> from ltr.evaluation.ranking import rank
    >>> _sigmoid(rank([0.0, 1000.0], [0, 2]))[2].round(4)  # log(1/2), -1000
    array([-6.931e-01, -1.000e+03])
    """
    log_p = -np.logaddexp(0, -ranking.scores)
    return np.exp(log_p), log_p, -np.logaddexp(0, ranking.scores)


def _softmax(ranking: Ranking) -> tuple[FloatArray, FloatArray, FloatArray]:
    """p, log p and log(1 - p) of each row; sums run from the best score down, so that the order of rows is no matter.

    >>> from ltr.evaluation.ranking import rank
    >>> p, log_p, log_rest = _softmax(rank([0.0, 100.0], [0, 2]))
    >>> log_p[1] == -np.exp(-100), log_rest[1]
    (np.True_, np.float64(-100.0))
    """
    offsets = np.unique(ranking.offsets)  # without the groups of nothing
    sizes = np.diff(offsets)
    if not len(sizes):
        return np.empty(0), np.empty(0), np.empty(0)
    listed, starts = order(ranking, Ties.FILE), offsets[:-1]
    scores = ranking.scores[listed]
    first = scores[starts]
    second = np.where(sizes > 1, scores[np.minimum(starts + 1, len(scores) - 1)], first)
    is_later = np.ones(len(scores), dtype=bool)
    is_later[starts] = False
    others = np.exp(scores - np.repeat(second, sizes), where=is_later, out=np.zeros(len(scores)))
    with np.errstate(divide="ignore"):  # a lone candidate leaves nothing to the others
        log_others = second - first + np.log(group_sums(others, offsets))
    others_sum = np.exp(log_others)
    shifted = scores - np.repeat(first, sizes)
    log_p = shifted - np.repeat(np.log1p(others_sum), sizes)
    p = np.exp(shifted) / np.repeat(1 + others_sum, sizes)
    best = shifted == 0
    log_rest = np.log1p(-p, where=~best, out=np.zeros(len(p)))
    log_rest[best] = np.repeat(log_others - np.log1p(others_sum), sizes)[best]
    back = np.empty_like(listed)
    back[listed] = np.arange(len(listed))
    return p[back], log_p[back], log_rest[back]


def chains(values: FloatArray, within: FloatArray) -> IntArray:
    """Of each interval value +- within the chain it belongs to, counted from the least.

    Intervals that overlap, directly or through others, are one chain; the order of the rows does not matter.

    >>> chains(np.array([3.0, 1.0, 1.5, 2.0]), np.array([0.2, 0.3, 0.3, 0.3]))
    array([1, 0, 0, 0])
    """
    centres, which = np.unique(values, return_inverse=True)
    widest = np.zeros(len(centres))
    np.maximum.at(widest, which, within)
    highest = np.maximum.accumulate(centres + widest)  # end of any interval up to here
    lowest = np.minimum.accumulate((centres - widest)[::-1])[::-1]  # start of any interval from here on
    return np.concatenate(([0], np.cumsum(lowest[1:] > highest[:-1])))[which]


def rounding(candidates: CandidateProbabilities) -> FloatArray:
    """How far each log p can be from that of the scores meant, of which the scores are the nearest floats.

    eps * (3 (1 - p_i) (|s_i| + |max s|) + 3 n max_j p_j (1 - p_j) |s_j| + (n + 32) |log p_i|), for n candidates:

    - log p_i = -log sum_j exp(s_j - s_i), so that scores off by eps/2 |s| move it by eps/2 sum_{j != i} p_j (|s_i| +
      |s_j|) at most; the terms with a 3 are above three times that, as p is at most 1/2 but for the greatest score.
      The difference of the two greatest scores, of which exp is taken, costs up to twice as much again.
    - Each of n additions is off by eps/2 of the sum, exp and log by 4 units in the last place at most; the sum of the
      others enters log p by its share, 1 - p <= |log p| of the best.

    >>> from ltr.evaluation.ranking import rank
    >>> two = candidate_probabilities(rank([0.0, 0.0], [0, 2]), np.array([True, False]), np.array([True]), 0.5)
    >>> (rounding(two) / np.finfo(float).eps).round(6)  # (2 + 32) log 2
    array([23.567004, 23.567004])
    """
    offsets = np.unique(candidates.ranking.offsets)  # without the groups of nothing
    sizes = np.diff(offsets)
    if not len(sizes):
        return np.empty(0)
    scores, p, rest = candidates.ranking.scores, candidates.probability, np.exp(candidates.log_wrong)
    best = np.abs(np.maximum.reduceat(scores, offsets[:-1]))
    largest = np.maximum.reduceat(p * rest * np.abs(scores), offsets[:-1])  # a sum would follow the order of rows
    others = sizes * largest
    moved = rest * (np.abs(scores) + np.repeat(best, sizes)) + np.repeat(others, sizes)
    return np.finfo(float).eps * (3 * moved + np.repeat(sizes + 32, sizes) * np.abs(candidates.log_right))


def fine_bins(candidates: CandidateProbabilities) -> IntArray:
    """The bin of each candidate's log odds.

    >>> from ltr.evaluation.ranking import rank
    >>> two = candidate_probabilities(rank([0.0, 0.0], [0, 2]), np.array([True, False]), np.array([True]), 0.5)
    >>> fine_bins(two) - FINE_BINS // 2  # p = 1/2: log odds 0
    array([0, 0])
    """
    with np.errstate(invalid="ignore"):
        odds = np.clip(candidates.log_right - candidates.log_wrong, -LARGEST_ODDS, LARGEST_ODDS)
    bins: IntArray = np.minimum(((odds / LARGEST_ODDS + 1) * (FINE_BINS // 2)).astype(np.int64), FINE_BINS - 1)
    return bins


def calibration_of(p: FloatArray, *columns: FloatArray) -> FloatArray:
    """Return the sums of the columns in BINS equal bins of p, each with its lower edge, the last with both.

    >>> calibration_of(np.array([0.0, 0.1, 0.95, 1.0]), np.ones(4))[0].tolist()
    [1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0]
    """
    bins = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    return np.array([code_sums(bins, column, BINS) for column in columns])


def calibration_error(p: FloatArray, is_true: BoolArray, weights: FloatArray) -> float:
    """Return sum over the bins of p of n_b / N * |mean p - share true|, n_b the weight in a bin.

    >>> round(calibration_error(np.array([0.2, 0.25, 0.9]), np.array([False, True, True]), np.ones(3)), 4)
    0.2167
    """
    return _mean_gap(calibration_of(p, weights * (p - is_true))[0], weights) or 0.0


def calibration_error_of_bins(count: FloatArray, probability: FloatArray, right: FloatArray) -> float | None:
    """Return the same of bins: how many each holds, their mean p and the share of them that is right.

    >>> calibration_error_of_bins(np.array([1.0, 3.0]), np.array([0.25, 0.75]), np.array([0.0, 1.0]))
    0.25
    """
    return _mean_gap(count * (probability - right), count)


def _mean_gap(gaps: FloatArray, weights: FloatArray) -> float | None:
    total = float(weights.sum())
    return math.fsum(np.abs(gaps).tolist()) / total if total else None
