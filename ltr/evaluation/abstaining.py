"""Queries that get no answer: the threshold below which a router abstains, what that does, and how well none is told.

The threshold is chosen by conformal risk control or by an upper limit of the error.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, code_sums
from ltr.errors import DataError
from ltr.evaluation.bootstrap import bootstrap_mean
from ltr.evaluation.probabilities import calibration_error
from ltr.sums import AddsUp

ERROR = 0.05  # of an upper limit, also of all that `precision` asks for
THRESHOLDS = 10  # of `precision`
WRONG_ALLOWED = 10  # answers that may be wrong at the surest of them, about: with fewer a limit says little


@dataclass(frozen=True, slots=True)
class ConfidentAnswers(AddsUp):
    """Queries with how sure their first choice is, and whether it is wrong; where none is right it is wrong."""

    confidence: FloatArray
    is_wrong: BoolArray
    traces: IntArray  # codes

    @property
    def num_traces(self) -> int:
        """How many traces the queries belong to."""
        return len(np.unique(self.traces))

    @property
    def weights(self) -> FloatArray:
        """1 / queries of its trace, for each query: the loss of a trace is a sum of them."""
        _, codes, sizes = np.unique(self.traces, return_inverse=True, return_counts=True)
        weights: FloatArray = 1.0 / sizes[codes]
        return weights

    def trace_losses(self, threshold: float | None) -> FloatArray:
        """Of each trace the share of its queries that are answered, which is above the threshold, and wrong."""
        _, codes = np.unique(self.traces, return_inverse=True)
        return code_sums(codes, self.weights * (self.answered(threshold) & self.is_wrong), self.num_traces)

    def answered(self, threshold: float | None) -> BoolArray:
        """Whether each query is answered; None answers nothing."""
        nothing: BoolArray = np.zeros(len(self.confidence), dtype=bool)
        return nothing if threshold is None else self.confidence > threshold

    def error_limit(self, threshold: float | None, rng: np.random.Generator) -> float:
        """The upper limit of the share of wrong ones among the answered, by one query of each trace, drawn."""
        return self._limit_of(drawn_rows(self.traces, rng), threshold)

    def _limit_of(self, rows: IntArray, threshold: float | None) -> float:
        is_answered = self.answered(threshold)[rows]
        return upper_limit(int((is_answered & self.is_wrong[rows]).sum()), int(is_answered.sum()))

    def measured(self, threshold: float | None, rng: np.random.Generator) -> "AbstentionMeasures":
        """Return what abstaining at the threshold does.

        >>> sure, is_wrong = np.array([0.9, 0.8, 0.7, 0.6]), np.array([False, True, False, True])
        >>> four = ConfidentAnswers(sure, is_wrong, np.array([0, 0, 1, 2]))
        >>> some = four.measured(0.65, np.random.default_rng(0))
        >>> some.coverage, round(some.risk, 4), round(some.error, 4)  # 3 / 4, (1/2 + 0 + 0) / 3, 1 / 3
        (0.75, 0.1667, 0.3333)
        """
        answered, error_limit = self.answered(threshold), self.error_limit(threshold, rng)
        risk = bootstrap_mean(self.trace_losses(threshold), rng)
        error = None
        if answered.any():
            error = bootstrap_mean(self.is_wrong[answered].astype(float), rng, clusters=self.traces[answered])
        return AbstentionMeasures(
            queries=len(answered),
            traces=self.num_traces,
            coverage=float(answered.mean()),
            risk=risk.mean,
            risk_low=risk.low,
            risk_high=risk.high,
            error=None if error is None else error.mean,
            error_low=None if error is None else error.low,
            error_high=None if error is None else error.high,
            error_limit=error_limit,
        )

    def risk_over_coverage(self) -> dict[str, list[float]]:
        """At thresholds between the confidences: the share of queries answered, and of all queries answered wrongly.

        >>> two = ConfidentAnswers(np.array([0.9, 0.8]), np.array([False, True]), np.arange(2))
        >>> two.risk_over_coverage()  # doctest: +NORMALIZE_WHITESPACE
        {'threshold': [0.0, 0.8], 'coverage': [1.0, 0.5], 'risk': [0.5, 0.0], 'error': [0.5, 0.0]}
        """
        if not len(self.confidence):
            raise DataError("no query to draw risk and coverage of")
        levels, codes = np.unique(self.confidence, return_inverse=True)

        def from_above(values: FloatArray) -> FloatArray:
            """Sums over the queries with each confidence or more."""
            return np.cumsum(code_sums(codes, values, len(levels))[::-1])[::-1]

        number, wrong = from_above(np.ones(len(codes))), from_above(self.is_wrong.astype(float))
        return {
            "threshold": [0.0, *levels[:-1].tolist()],
            "coverage": (number / len(codes)).tolist(),
            "risk": from_above(self.weights / self.num_traces * self.is_wrong).tolist(),
            "error": (wrong / number).tolist(),
        }


def risk_threshold(answers: ConfidentAnswers, risk: float) -> float | None:
    """The lowest threshold t with (sum of trace losses at t + 1) / (traces + 1) <= risk; None where none has it.

    Answered is what is above t, so the losses only fall as t rises, and the lowest t is 0 or the confidence of a wrong
    first choice. Of a new trace exchangeable with these the mean loss is then at most the risk, over calibrations.

    >>> sure, is_wrong = np.array([0.9, 0.8, 0.7, 0.6]), np.array([False, True, False, True])
    >>> risk_threshold(ConfidentAnswers(sure, is_wrong, np.arange(4)), 0.4)  # (1 + 1) / 5 at .6
    0.6
    """
    traces = answers.num_traces
    room = risk * (traces + 1) - 1
    if room < -1e-12:
        return None
    levels, codes = np.unique(answers.confidence[answers.is_wrong], return_inverse=True)
    losses = code_sums(codes, answers.weights[answers.is_wrong], len(levels))
    above = np.concatenate([np.cumsum(losses[::-1])[::-1], [0.0]])  # the loss at 0, then at each level
    first = int(np.argmax(above <= room + 1e-12))
    return 0.0 if first == 0 else float(levels[first - 1])


def fewest_traces(risk: float) -> int:
    """The calibration traces below which no threshold has the risk: 1 / risk - 1.

    >>> fewest_traces(0.05), fewest_traces(0.1), fewest_traces(0.3)
    (19, 9, 3)
    """
    return int(np.ceil(1 / risk - 1 - 1e-9))


def upper_limit(wrong: int, of: int, error: float = ERROR) -> float:
    """The Clopper-Pearson upper limit of a share: the p at which at most so many wrong have the probability `error`.

    >>> round(upper_limit(0, 10), 4) == round(1 - 0.05 ** (1 / 10), 4)
    True
    >>> upper_limit(3, 3), upper_limit(0, 0)
    (1.0, 1.0)
    """
    if wrong >= of:
        return 1.0
    from scipy.special import betaincinv  # type: ignore[import-untyped]  # slow to import; a router never needs it

    return float(betaincinv(wrong + 1, of - wrong, 1 - error))


def drawn_rows(traces: IntArray, rng: np.random.Generator) -> IntArray:
    """The place of one query of each trace, each as likely.

    >>> drawn_rows(np.array([0, 0, 0, 1]), np.random.default_rng(0)).tolist()[1]
    3
    """
    mixed = rng.permutation(len(traces))
    _, first = np.unique(traces[mixed], return_index=True)
    rows: IntArray = mixed[first]
    return rows


def fixed_thresholds(confidence: FloatArray, precision: float, traces: int) -> tuple[float, ...]:
    """Thresholds for so many calibration traces, the surest first, by confidences that calibrate nothing.

    The surest lets a share 10 / ((1 - precision) traces) of the confidences through, the last all of them; the shares
    between have equal ratios.

    >>> np.round(fixed_thresholds(np.arange(101) / 100, 0.9, 1000)[::3], 3).tolist()  # 1 - .1^(1, 2/3, 1/3, 0)
    [0.9, 0.785, 0.536, 0.0]
    """
    shares = np.geomspace(min(1.0, WRONG_ALLOWED / ((1 - precision) * traces)), 1.0, THRESHOLDS)
    levels = np.where(shares < 1, np.quantile(confidence, 1 - shares), 0.0)
    return tuple(dict.fromkeys(levels.tolist()))


def precision_threshold(
    answers: ConfidentAnswers, precision: float, thresholds: Sequence[float], rng: np.random.Generator
) -> float | None:
    """The last of the thresholds up to which the upper limit of the error is at most 1 - precision at every one.

    The error is that among the answered; its limit is that of Clopper and Pearson, of one query a trace. Thresholds
    are fixed beforehand and asked in their order until one fails: then the first that should have failed passes with
    probability .05 at most, and with .95 the limit holds at the one that is chosen. None where the first fails.
    """
    rows, chosen = drawn_rows(answers.traces, rng), None
    for threshold in thresholds:
        if answers._limit_of(rows, threshold) > 1 - precision:
            break
        chosen = threshold
    return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstentionMeasures:
    """The two shares with their 95 % intervals by trace; the first is what a risk is about, the second is another."""

    queries: int
    traces: int
    coverage: float  # share of the queries that are answered
    risk: float  # share of all queries that are answered wrongly, mean over traces
    risk_low: float | None
    risk_high: float | None
    error: float | None  # share of the answered that are wrong
    error_low: float | None
    error_high: float | None
    error_limit: float  # the Clopper-Pearson upper limit of it, of one query a trace
    not_promised: tuple[str, ...] = ()  # why what the calibration claims does not apply here
    promised: float | None = None  # the risk that is promised; None: no risk is

    @property
    def is_broken(self) -> bool:
        """Whether the interval of the risk lies above what is promised; of a single trace nobody can tell."""
        return self.promised is not None and self.risk_low is not None and self.risk_low > self.promised


@dataclass(frozen=True, slots=True, kw_only=True)
class NoneMeasures:
    """Of queries with a right candidate and queries without; none is said where it is likelier than any choice."""

    none_queries: int
    other_queries: int
    found: float | None  # share of the queries for which none is right where none is said
    said_wrongly: float | None  # share of the others where it is said
    top1_of_rest: float | None  # share of the others whose first choice is right, whatever is said of none
    right: float  # share of all where what is said, a choice or none, is right
    share: float  # of the queries for which none is right
    mean_probability: float  # of none
    calibration_error: float  # of P(none)
    learned_from: str  # log, or removed:SHARE: copies without their right candidates
    for_share: float  # the share that P(none) is for


@dataclass(frozen=True, slots=True)
class NoneQueries(AddsUp):
    """Queries and what a model says of them."""

    none: FloatArray  # P(none)
    first: FloatArray  # the softmax of the first choice
    first_right: FloatArray  # whether that is right; of candidates level there the share that is
    is_none: BoolArray  # whether none is right

    def measured(self, *, learned_from: str, for_share: float) -> NoneMeasures:
        """Return the measures of the queries, at least one.

        >>> is_none, first_right = np.array([True, False, False]), np.array([0.0, 1.0, 1.0])
        >>> three = NoneQueries(np.array([0.9, 0.2, 0.6]), np.array([0.5, 0.9, 0.9]), first_right, is_none)
        >>> some = three.measured(learned_from="log", for_share=0.3)
        >>> some.found, some.said_wrongly, round(some.right, 3), round(some.calibration_error, 3)
        (1.0, 0.5, 0.667, 0.3)
        """
        p, is_none, is_right = self.none, self.is_none, self.first_right
        says_none = p > (1 - p) * self.first
        rest = ~is_none
        return NoneMeasures(
            none_queries=int(is_none.sum()),
            other_queries=int(rest.sum()),
            found=_mean(says_none[is_none]),
            said_wrongly=_mean(says_none[rest]),
            top1_of_rest=_mean(is_right[rest]),
            right=float(np.where(says_none, is_none, np.where(is_none, 0.0, is_right)).mean()),
            share=float(is_none.mean()),
            mean_probability=float(p.mean()),
            calibration_error=calibration_error(p, is_none, np.ones(len(p))),
            learned_from=learned_from,
            for_share=for_share,
        )


def _mean(values: FloatArray | BoolArray) -> float | None:
    return float(values.mean()) if len(values) else None
