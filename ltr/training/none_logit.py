"""None of these: a second logit says how probably nothing offered is right; w and the order of the rest stay."""

import math
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, group_sums
from ltr.errors import DataError

RELEVANCE = "relevance of the best"
INPUTS = (
    "1",
    "best score",
    "second-best score",
    "mean score",  # says how low all of the list are: scores of a list mean something beside each other only
    "ln sum exp of the scores",  # how far the odds follow the softmax
    RELEVANCE,
    "ln(1 + words of the query)",
)


@dataclass(frozen=True, slots=True)
class NoneLogit:
    """P(none) = 1 / (1 + exp(ln sum_j exp s_j - b . z)), z as INPUTS, and how b was learned."""

    b: tuple[float, ...]  # of INPUTS, at the share in training
    relevance: str  # the column that RELEVANCE is of; "": the features have none, and the input is 0
    source: str  # log: queries for which none is right; removed:SHARE: copies without their right candidates
    trained_share: float  # of the queries b learned from, how many are of none
    share: float  # that P(none) is for: the constant is moved from the one to the other
    l2: float  # of the squared coefficients, the inputs centred and divided by their deviation
    groups: int
    none_groups: int
    objective: float
    gradient_norm: float
    gap_bound: float  # objective - optimum is at most this
    optimum: str
    standard_errors: tuple[float, ...] | None  # by trace, given w
    traces: int
    no_errors: str = ""  # why there are none

    def __post_init__(self) -> None:
        if len(self.b) != len(INPUTS) or not all(map(math.isfinite, self.b)):
            raise DataError(f"none has {len(INPUTS)} finite coefficients; found {list(self.b)}")
        if not (0 < self.share < 1 and 0 < self.trained_share < 1):
            raise DataError(f"the shares of none are {self.trained_share} and {self.share}; between 0 and 1 is needed")

    @property
    def served(self) -> FloatArray:
        """b for the share that P(none) is for: b_0 + logit(share) - logit(trained share)."""
        b = np.array(self.b)
        b[0] += self.shift
        return b

    @property
    def shift(self) -> float:
        """What the constant is moved by: logit(share) - logit(trained share)."""
        return logit(self.share) - logit(self.trained_share)

    def probabilities(
        self, scores: FloatArray, offsets: IntArray, relevance: FloatArray, words: FloatArray
    ) -> FloatArray:
        """P(none) of each group."""
        z, rest = none_inputs(scores, offsets, relevance, words)
        return sigmoid(z @ self.served - rest)


def logit(share: float) -> float:
    """ln(share / (1 - share)).

    >>> logit(0.5)
    0.0
    """
    return math.log(share) - math.log1p(-share)


def sigmoid(values: FloatArray) -> FloatArray:
    """1 / (1 + exp(-x)) of each value, without overflow.

    >>> sigmoid(np.array([0.0, np.log(3.0), -1e300, 1e300]))
    array([0.5 , 0.75, 0.  , 1.  ])
    """
    small = np.exp(-np.abs(values))
    result: FloatArray = np.where(values >= 0, 1.0, small) / (1 + small)
    return result


def none_inputs(
    scores: FloatArray, offsets: IntArray, relevance: FloatArray, words: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """z of each group, (groups, 7), and ln sum_j exp s_j; `relevance` is a number a row, `words` one a group.

    A lone candidate is its own second. Of candidates level at the top the most relevant counts.

    >>> z, rest = none_inputs(np.array([0.0, 0.0, 5.0]), np.array([0, 2, 3]), np.array([.1, .7, .2]), np.array([0, 0]))
    >>> z.round(3).tolist()
    [[1.0, 0.0, 0.0, 0.0, 0.693, 0.7, 0.0], [1.0, 5.0, 5.0, 5.0, 5.0, 0.2, 0.0]]
    >>> np.exp(rest).round(9).tolist() == [2.0, round(np.exp(5), 9)]
    True
    """
    starts, sizes = offsets[:-1], np.diff(offsets)
    best = np.maximum.reduceat(scores, starts) if len(starts) else np.empty(0)
    is_best = scores == np.repeat(best, sizes)
    below = np.maximum.reduceat(np.where(is_best, -np.inf, scores), starts) if len(starts) else best
    is_single = np.add.reduceat(is_best.astype(np.int64), starts) == 1 if len(starts) else best > 0
    second = np.where(is_single & (sizes > 1), below, best)
    of_best = np.maximum.reduceat(np.where(is_best, relevance, -np.inf), starts) if len(starts) else best
    rest = best + np.log(group_sums(np.exp(scores - np.repeat(best, sizes)), offsets))
    mean = group_sums(scores, offsets) / sizes
    return np.column_stack([np.ones(len(best)), best, second, mean, rest, of_best, np.log1p(words)]), rest
