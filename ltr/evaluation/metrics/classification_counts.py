"""What measures over candidates count: of all candidates at once, or shard by shard, which adds up.

Beyond memory, candidates are told apart by 2^16 bins of their log odds, log p - log(1 - p), and not one by one. Counts
at the threshold, losses and calibration are sums and lose nothing; auc and roc treat the candidates of a bin as a tie,
and the bins say how far that can be from the exact value (`error_bounds`).
"""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, code_sums, groups_of
from ltr.evaluation.metrics.candidate_probabilities import (
    CandidateProbabilities,
    Levels,
    Probability,
    levels,
    tied_levels,
)

BINS = 10  # of calibration
FINE_BINS = 1 << 16
LARGEST_ODDS = 44.0  # log odds from -44 to 44: p from 1e-19 to 1 - 1e-19
LARGEST_LOSS = 745.0  # -log of the least float above 0: no term of a loss counts more, or one would be infinite


@dataclass(frozen=True, slots=True, eq=False)
class Calibration:
    """Of each of the BINS equal bins of p, a bin holding its lower edge: how many, their sum of p, how many right."""

    count: FloatArray
    probability: FloatArray
    right: FloatArray

    def __add__(self, other: "Calibration") -> "Calibration":
        """That of the candidates of both."""
        return Calibration(self.count + other.count, self.probability + other.probability, self.right + other.right)


@dataclass(frozen=True, slots=True)
class Confusion:
    """Candidates by being chosen, p >= threshold, and by being right."""

    true_positive: int
    false_positive: int
    false_negative: int
    true_negative: int

    def __add__(self, other: "Confusion") -> "Confusion":
        """That of the candidates of both."""
        return Confusion(
            self.true_positive + other.true_positive,
            self.false_positive + other.false_positive,
            self.false_negative + other.false_negative,
            self.true_negative + other.true_negative,
        )


@dataclass(frozen=True, slots=True, eq=False)
class CandidateCounts:
    """What is counted of the candidates of some queries; the counts of two sets of queries add up."""

    number: int
    queries: int
    confusion: Confusion
    calibration: Calibration
    first_calibration: Calibration  # of the first choice of each query
    loss: float  # sum of the log losses
    least_loss: float  # that any scores reach
    count: IntArray  # (FINE_BINS,): candidates by their log odds
    right: IntArray  # (FINE_BINS,)
    least: FloatArray  # (FINE_BINS,): the least p of a bin, 2 of an empty one

    @classmethod
    def of(cls, candidates: CandidateProbabilities) -> Self:
        """The counts of candidates that are in memory."""
        fine = fine_bins(candidates)
        least = np.full(FINE_BINS, 2.0)
        np.minimum.at(least, fine, candidates.probability)
        return cls(
            number=len(candidates.right),
            queries=candidates.queries,
            confusion=confusion_of(candidates),
            calibration=calibration_of(candidates),
            first_calibration=first_calibration_of(candidates),
            loss=loss_of(candidates),
            least_loss=least_loss_of(candidates),
            count=np.bincount(fine, minlength=FINE_BINS),
            right=np.bincount(fine[candidates.right], minlength=FINE_BINS),
            least=least,
        )

    def __add__(self, other: "CandidateCounts") -> "CandidateCounts":
        """Those of the candidates of both."""
        return CandidateCounts(
            number=self.number + other.number,
            queries=self.queries + other.queries,
            confusion=self.confusion + other.confusion,
            calibration=self.calibration + other.calibration,
            first_calibration=self.first_calibration + other.first_calibration,
            loss=self.loss + other.loss,
            least_loss=self.least_loss + other.least_loss,
            count=self.count + other.count,
            right=self.right + other.right,
            least=np.minimum(self.least, other.least),
        )

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


def fine_bins(candidates: CandidateProbabilities) -> IntArray:
    """The bin of each candidate's log odds.

    >>> from ltr.evaluation.metrics.candidate_probabilities import candidate_probabilities
    >>> from ltr.evaluation.ranking import rank
    >>> two = candidate_probabilities(rank([0.0, 0.0], [0, 2]), np.array([True, False]), np.array([True]), 0.5)
    >>> fine_bins(two) - FINE_BINS // 2  # p = 1/2: log odds 0
    array([0, 0])
    """
    with np.errstate(invalid="ignore"):
        odds = np.clip(candidates.log_right - candidates.log_wrong, -LARGEST_ODDS, LARGEST_ODDS)
    bins: IntArray = np.minimum(((odds / LARGEST_ODDS + 1) * (FINE_BINS // 2)).astype(np.int64), FINE_BINS - 1)
    return bins


def number_of(candidates: AnyCandidates) -> int:
    """How many candidates there are."""
    return candidates.number if isinstance(candidates, CandidateCounts) else len(candidates.right)


def confusion_of(candidates: AnyCandidates) -> Confusion:
    """The candidates by being chosen and by being right."""
    if isinstance(candidates, CandidateCounts):
        return candidates.confusion
    chosen, right = candidates.probability >= candidates.threshold, candidates.right
    counts = (chosen & right, chosen & ~right, ~chosen & right, ~chosen & ~right)
    return Confusion(*(int(np.count_nonzero(count)) for count in counts))


def blocks_of(candidates: AnyCandidates) -> Levels:
    """The candidates by probability, in blocks of ties: those of equal probability up to rounding, or of a fine bin."""
    if not isinstance(candidates, CandidateCounts):
        return tied_levels(candidates)
    filled = np.flatnonzero(candidates.count)
    return Levels(candidates.least[filled], candidates.count[filled], candidates.right[filled])


def bins_of(p: FloatArray) -> IntArray:
    """Return the bin of each probability: of BINS equal ones, each with its lower edge, the last with both.

    >>> bins_of(np.array([0.0, 0.1, 0.95, 1.0]))
    array([0, 1, 9, 9])
    """
    bins: IntArray = np.minimum((p * BINS).astype(np.int64), BINS - 1)
    return bins


def calibration_of(candidates: AnyCandidates) -> Calibration:
    """The candidates by bins of p."""
    if isinstance(candidates, CandidateCounts):
        return candidates.calibration
    level = levels(candidates)
    bins = bins_of(level.probability)
    of_levels = (level.count.astype(float), level.probability * level.count, level.right.astype(float))
    return Calibration(*(code_sums(bins, column, BINS) for column in of_levels))


def first_calibration_of(candidates: AnyCandidates) -> Calibration:
    """The queries by bins of the greatest p of each; of candidates level there the share that is right counts."""
    if isinstance(candidates, CandidateCounts):
        return candidates.first_calibration
    ranking, starts = candidates.ranking, candidates.ranking.offsets[:-1]
    if not candidates.queries:
        return Calibration(*np.zeros((3, BINS)))
    highest = np.repeat(np.maximum.reduceat(ranking.scores, starts), np.diff(ranking.offsets))
    is_first = ranking.scores == highest
    right = np.add.reduceat((is_first & candidates.right).astype(float), starts) / np.add.reduceat(is_first, starts)
    p = np.maximum.reduceat(candidates.probability, starts)
    bins = bins_of(p)
    return Calibration(*(code_sums(bins, column, BINS) for column in (np.ones(len(p)), p, right)))


def calibration_error(p: FloatArray, is_true: BoolArray, weights: FloatArray) -> float:
    """Return sum over the bins of p of n_b / N * |mean p - share true|, n_b the weight in a bin.

    >>> round(calibration_error(np.array([0.2, 0.25, 0.9]), np.array([False, True, True]), np.ones(3)), 4)
    0.2167
    """
    return _mean_gap(code_sums(bins_of(p), weights * (p - is_true), BINS), weights) or 0.0


def calibration_error_of_bins(count: FloatArray, probability: FloatArray, right: FloatArray) -> float | None:
    """Return the same of bins: how many each holds, their mean p and the share of them that is right.

    >>> calibration_error_of_bins(np.array([1.0, 3.0]), np.array([0.25, 0.75]), np.array([0.0, 1.0]))
    0.25
    """
    return _mean_gap(count * (probability - right), count)


def _mean_gap(gaps: FloatArray, weights: FloatArray) -> float | None:
    total = float(weights.sum())
    return math.fsum(np.abs(gaps).tolist()) / total if total else None


def loss_of(candidates: AnyCandidates) -> float:
    """The sum over candidates of -log p where right, -log(1 - p) where wrong."""
    if isinstance(candidates, CandidateCounts):
        return candidates.loss
    losses = -np.where(candidates.right, candidates.log_right, candidates.log_wrong)
    return math.fsum(np.minimum(losses, LARGEST_LOSS).tolist())


def least_loss_of(candidates: AnyCandidates) -> float:
    """The least sum of losses that any scores reach: a group's p sums to 1, its labels to R.

    Probabilities that do not sum to 1 in a query, given ones and those of a sigmoid, can reach 0.
    """
    if isinstance(candidates, CandidateCounts):
        return candidates.least_loss
    if candidates.meaning is not Probability.SOFTMAX:
        return 0.0
    offsets = candidates.ranking.offsets
    sizes = np.diff(offsets).astype(float)
    right = code_sums(groups_of(np.flatnonzero(candidates.right), offsets), np.ones(candidates.right.sum()), len(sizes))
    none = -sizes * np.log1p(-1 / np.maximum(sizes, 2))
    least = np.where(right > 0, right * np.log(np.maximum(right, 1)), np.where(sizes > 1, none, sizes * LARGEST_LOSS))
    return math.fsum(least.tolist())
