"""None of these: a second logit says how probably nothing offered is right; w and the order of the rest stay.

Its fit is convex, to an optimum that is proved, with standard errors by trace.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, group_sums, linear_scores
from ltr.errors import DataError, count
from ltr.training.certificate import gap_bound
from ltr.training.corrections import HALVINGS, STEPS
from ltr.training.model import Optimum
from ltr.training.newton import GAP, GRADIENT

ROUNDING = 1e-14  # the objective moves by so much of itself without falling


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

    RELEVANCE: ClassVar[str] = "relevance of the best"
    INPUTS: ClassVar[tuple[str, ...]] = (
        "1",
        "best score",
        "second-best score",
        "mean score",  # says how low all of the list are: scores of a list mean something beside each other only
        "ln sum exp of the scores",  # how far the odds follow the softmax
        RELEVANCE,
        "ln(1 + words of the query)",
    )

    def __post_init__(self) -> None:
        if len(self.b) != len(self.INPUTS) or not all(map(math.isfinite, self.b)):
            raise DataError(f"none has {len(self.INPUTS)} finite coefficients; found {list(self.b)}")
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
        return sigmoid(linear_scores(z, self.served) - rest)


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


@dataclass(frozen=True, slots=True)
class NoneRows:
    """What b learns from: a row a group."""

    z: FloatArray  # (groups, inputs)
    rest: FloatArray  # ln sum_j exp s_j
    is_none: BoolArray
    traces: IntArray
    weights: FloatArray

    @classmethod
    def joined(cls, parts: "Sequence[NoneRows]") -> Self:
        """All of the rows."""
        columns = ("z", "rest", "is_none", "traces", "weights")
        return cls(*(np.concatenate([getattr(part, column) for part in parts]) for column in columns))


@dataclass(frozen=True, slots=True)
class _Point:
    c: FloatArray
    objective: float
    gradient: FloatArray
    hessian: FloatArray
    slopes: FloatArray  # (groups, inputs): of each row's weighted loss


def none_objective(u: FloatArray, rows: NoneRows, c: FloatArray, l2: float) -> _Point:
    """sum_g a_g (ln(1 + exp eta_g) - y_g eta_g) + l2 |c|^2, eta = u c - ln sum exp s, sum_g a_g = 1; convex in c.

    >>> rows = NoneRows(np.ones((2, 5)), np.zeros(2), np.array([True, False]), np.arange(2), np.ones(2))
    >>> round(none_objective(np.zeros((2, 5)), rows, np.zeros(5), 1.0).objective, 6)  # ln 2
    0.693147
    """
    eta, share = u @ c - rows.rest, rows.weights / rows.weights.sum()
    y, p = rows.is_none.astype(float), sigmoid(eta)
    losses = np.maximum(eta, 0) + np.log1p(np.exp(-np.abs(eta))) - y * eta
    slopes = (share * (p - y))[:, None] * u
    hessian = (u * (share * p * (1 - p))[:, None]).T @ u + 2 * l2 * np.eye(len(c))
    return _Point(c, float(share @ losses) + l2 * float(c @ c), slopes.sum(axis=0) + 2 * l2 * c, hessian, slopes)


def fit_none(rows: NoneRows, *, relevance: str, source: str, share: float | None = None, l2: float) -> NoneLogit:
    """b at the minimum of its objective, by Newton steps with line search; the optimum is proved as that of w is.

    Without a share P(none) is for that of the rows.
    """
    if rows.is_none.all() or not rows.is_none.any():
        lacks = "for which none is right" if not rows.is_none.any() else "for which one is right"
        raise DataError(f"none is learned from queries of both kinds; there is no query {lacks}")
    u, to_b = standardised(rows.z)
    point, optimum = _lowest(u, rows, l2)
    errors, why = _standard_errors(point, rows, to_b)
    trained = float(rows.weights[rows.is_none].sum() / rows.weights.sum())
    return NoneLogit(
        b=tuple((to_b @ point.c).tolist()),
        relevance=relevance,
        source=source,
        trained_share=trained,
        share=trained if share is None else share,
        l2=l2,
        groups=len(rows.rest),
        none_groups=int(rows.is_none.sum()),
        objective=point.objective,
        gradient_norm=float(np.linalg.norm(point.gradient)),
        gap_bound=gap_bound(point.gradient, l2) or 0.0,
        optimum=optimum.value,
        standard_errors=errors,
        traces=len(np.unique(rows.traces)),
        no_errors=why,
    )


def standardised(z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Columns u of mean 0 and deviation 1 but for the first, which is 1, a flat one 0; and the matrix M with b = M c.

    >>> u, to_b = standardised(np.array([[1.0, 2.0], [1.0, 4.0]]))
    >>> u.tolist(), to_b.tolist()  # z b = u c
    ([[1.0, -1.0], [1.0, 1.0]], [[1.0, -3.0], [0.0, 1.0]])
    """
    mean, deviation = z.mean(axis=0), z.std(axis=0)
    is_flat = deviation <= 1e-12 * np.abs(mean)
    mean, unit = np.where(is_flat, z[0], mean), np.where(is_flat, 1.0, deviation)
    u = (z - mean) / unit
    u[:, is_flat] = 0.0
    u[:, 0] = 1.0
    to_b = np.diag(1 / unit)
    to_b[0] = np.where(np.arange(len(unit)) == 0, 1.0, -mean / unit)
    to_b[:, is_flat & (np.arange(len(unit)) > 0)] = 0.0
    return u, to_b


def _lowest(u: FloatArray, rows: NoneRows, l2: float) -> tuple[_Point, Optimum]:
    """The last point of Newton's steps from 0, and whether it is proved to be the optimum, as that of w is."""
    point = none_objective(u, rows, np.zeros(u.shape[1]), l2)
    for _ in range(STEPS):
        bound = gap_bound(point.gradient, l2)
        is_near = bound is not None and bound <= GAP * (1 + abs(point.objective))
        if is_near and float(np.linalg.norm(point.gradient)) < GRADIENT:
            return point, Optimum.FOUND
        step, length = -np.linalg.solve(point.hessian, point.gradient), 1.0
        for _ in range(HALVINGS):
            tried = none_objective(u, rows, point.c + length * step, l2)
            fall = 1e-4 * length * float(point.gradient @ step)
            if tried.objective <= point.objective + fall + ROUNDING * (1 + abs(point.objective)):
                break
            length /= 2
        else:
            break
        if np.array_equal(tried.c, point.c):  # rounding: nothing lower is to be had
            break
        point = tried
    return point, Optimum.NOT_REACHED


def _standard_errors(point: _Point, rows: NoneRows, to_b: FloatArray) -> tuple[tuple[float, ...] | None, str]:
    """H^-1 (sum_t s_t s_t') H^-1 * T / (T - 1), s_t the part of trace t in the gradient; or why there are none."""
    codes = np.unique(rows.traces, return_inverse=True)[1]
    traces = int(codes.max()) + 1
    if traces <= len(point.c):
        return None, f"{count(traces, 'trace')} are too few for standard errors of {len(point.c)} coefficients"
    sums = np.zeros((traces, len(point.c)))
    np.add.at(sums, codes, point.slopes)
    inverse = np.linalg.inv(point.hessian)
    covariance = to_b @ inverse @ (sums.T @ sums) @ inverse @ to_b.T * (traces / (traces - 1))
    return tuple(np.sqrt(np.maximum(np.diag(covariance), 0)).tolist()), ""
