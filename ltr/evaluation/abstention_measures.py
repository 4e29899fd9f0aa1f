"""What abstaining does to queries: how many are answered, how many of all wrongly, how many of the answered."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, code_sums
from ltr.errors import DataError
from ltr.evaluation.abstention_threshold import ConfidentAnswers, OneDraw, upper_limit
from ltr.evaluation.bootstrap import bootstrap_mean


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


def measure_abstention(
    answers: ConfidentAnswers, threshold: float | None, rng: np.random.Generator
) -> AbstentionMeasures:
    """The measures of the queries at the threshold.

    >>> sure, is_wrong = np.array([0.9, 0.8, 0.7, 0.6]), np.array([False, True, False, True])
    >>> four = ConfidentAnswers(sure, is_wrong, np.array([0, 0, 1, 2]))
    >>> some = measure_abstention(four, 0.65, np.random.default_rng(0))
    >>> some.coverage, round(some.risk, 4), round(some.error, 4)  # 3 / 4, (1/2 + 0 + 0) / 3, 1 / 3
    (0.75, 0.1667, 0.3333)
    """
    answered, draw = answers.answered(threshold), OneDraw.of(answers, threshold, rng)
    risk = bootstrap_mean(answers.trace_losses(threshold), rng)
    error = None
    if answered.any():
        error = bootstrap_mean(answers.is_wrong[answered].astype(float), rng, clusters=answers.traces[answered])
    return AbstentionMeasures(
        queries=len(answered),
        traces=answers.num_traces,
        coverage=float(answered.mean()),
        risk=risk.mean,
        risk_low=risk.low,
        risk_high=risk.high,
        error=None if error is None else error.mean,
        error_low=None if error is None else error.low,
        error_high=None if error is None else error.high,
        error_limit=upper_limit(draw.wrong, draw.answered),
    )


def risk_over_coverage(answers: ConfidentAnswers) -> dict[str, list[float]]:
    """At thresholds between the confidences: the share of queries answered, and of all queries answered wrongly.

    >>> curve = risk_over_coverage(ConfidentAnswers(np.array([0.9, 0.8]), np.array([False, True]), np.arange(2)))
    >>> curve["threshold"], curve["coverage"], curve["risk"], curve["error"]
    ([0.0, 0.8], [1.0, 0.5], [0.5, 0.0], [0.5, 0.0])
    """
    if not len(answers.confidence):
        raise DataError("no query to draw risk and coverage of")
    levels, codes = np.unique(answers.confidence, return_inverse=True)
    weights = answers.weights / answers.num_traces

    def from_above(values: FloatArray) -> FloatArray:
        """Sums over the queries with each confidence or more."""
        return np.cumsum(code_sums(codes, values, len(levels))[::-1])[::-1]

    number, wrong = from_above(np.ones(len(codes))), from_above(answers.is_wrong.astype(float))
    return {
        "threshold": [0.0, *levels[:-1].tolist()],
        "coverage": (number / len(codes)).tolist(),
        "risk": from_above(weights * answers.is_wrong).tolist(),
        "error": (wrong / number).tolist(),
    }
