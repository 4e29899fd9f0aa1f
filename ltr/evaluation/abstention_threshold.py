"""When to abstain: the threshold of a confidence, by conformal risk control or by an upper limit of the error."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, code_sums
from ltr.evaluation.sums import AddsUp

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


@dataclass(frozen=True, slots=True, kw_only=True)
class OneDraw:
    """One query of each trace, drawn: independent draws, of which shares have exact limits."""

    answered: int
    wrong: int

    @classmethod
    def of(cls, answers: ConfidentAnswers, threshold: float | None, rng: np.random.Generator) -> Self:
        """The draw, counted at the threshold."""
        rows = drawn_rows(answers.traces, rng)
        is_answered = answers.answered(threshold)[rows]
        return cls(answered=int(is_answered.sum()), wrong=int((is_answered & answers.is_wrong[rows]).sum()))


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
        is_answered = answers.confidence[rows] > threshold
        wrong, answered = int((is_answered & answers.is_wrong[rows]).sum()), int(is_answered.sum())
        if upper_limit(wrong, answered) > 1 - precision:
            break
        chosen = threshold
    return chosen
