"""The candidates as a classifier sees them: each with a probability that is made of its score, or is its score."""

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, group_sums
from ltr.errors import DataError
from ltr.evaluation.ranking import Ranking, Ties, order


class Probability(StrEnum):
    """What makes a score the probability that its candidate is right."""

    SOFTMAX = "softmax"  # over the candidates of a query: the probabilities of a query sum to 1
    GIVEN = "given"  # the score itself, such as the click probability of another model
    SIGMOID = "sigmoid"  # 1 / (1 + exp(-score)), of each candidate by itself


@dataclass(frozen=True, slots=True)
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
    def queries(self) -> int:
        """How many queries the candidates belong to."""
        return len(self.ranking.offsets) - 1


@dataclass(frozen=True, slots=True)
class Levels:
    """The probabilities that occur, from the least: nothing here follows from the order of the input."""

    probability: FloatArray
    count: IntArray
    right: IntArray


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


def levels(candidates: CandidateProbabilities) -> Levels:
    """The candidates by probability."""
    _, where, level = np.unique(candidates.ordering, return_index=True, return_inverse=True)
    count = np.bincount(level, minlength=len(where))
    right = np.bincount(level[candidates.right], minlength=len(where))
    return Levels(candidates.probability[where], count, right)


def tied_levels(candidates: CandidateProbabilities) -> Levels:
    """The candidates by probability, in one block those whose probabilities may differ by rounding alone: the ties.

    Each log p of a softmax is an interval, log p +- `rounding`; a block is a chain of intervals that overlap. The
    probability of a block is its least, so that p >= it chooses the whole block. Other scores tie when they are equal.
    """
    is_softmax = candidates.meaning is Probability.SOFTMAX
    within = rounding(candidates) if is_softmax else np.zeros(len(candidates.right))
    block = chains(candidates.ordering, within)
    count = np.bincount(block)
    least = np.ones(len(count))
    np.minimum.at(least, block, candidates.probability)
    return Levels(least, count, np.bincount(block[candidates.right], minlength=len(count)))


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
