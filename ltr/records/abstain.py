"""The rule by which a router abstains, how it was chosen, and the words in which its promise is made."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray
from ltr.errors import DataError
from ltr.evaluation import AbstentionMeasures

RISK, PRECISION = "risk", "precision"
NOT_KEPT = "the promise of abstaining is not kept"


@dataclass(frozen=True, slots=True, kw_only=True)
class AbstainRule:
    """A query is answered if the probability of its first choice is above the threshold; how that was chosen."""

    rule: str  # risk or precision
    level: float
    threshold: float | None  # None: nothing is answered
    temperature: float  # that scores are divided by, for the probabilities of choices
    traces: int  # of the calibration data
    queries: int
    none_queries: int  # of them, for which none is right
    coverage: float  # share of them that are answered
    risk: float  # share of all that are answered wrongly, mean over traces
    error: float | None  # share of the answered that are wrong
    error_limit: float  # the upper limit of that, of one query a trace
    newest: float | None  # the latest time in the training and calibration data, in seconds since 1970
    candidates: tuple[str, ...]  # short hashes of the names in the calibration data; of graphs none

    def __post_init__(self) -> None:
        if self.rule not in (RISK, PRECISION) or not 0 < self.level < 1:
            raise DataError(f"abstain is {self.rule}={self.level}; risk or precision between 0 and 1 is needed")
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise DataError(f"the threshold of abstaining is {self.threshold}; a probability is needed")
        if not (math.isfinite(self.temperature) and self.temperature > 0):
            raise DataError(f"the temperature is {self.temperature}; a number above 0 is needed")

    @property
    def claim(self) -> str:
        """What the calibration says of queries like those in it: a risk is promised, a precision is not."""
        return "the promise" if self.rule == RISK else "the calibration"

    def abstains(self, confidence: FloatArray) -> BoolArray:
        """Return whether queries whose first choices are so probable are not answered."""
        return ~(confidence > (np.inf if self.threshold is None else self.threshold))


def promise(level: float) -> str:
    """What the risk promises, in the words that it is made in everywhere.

    >>> promise(0.05)
    'of all queries of a new trace like these, at most 5 % are answered wrongly, on average over calibrations'
    """
    share = f"{100 * level:.6g} %"
    return (
        f"of all queries of a new trace like these, at most {share} are answered wrongly, on average over calibrations"
    )


def broken_promise(of: AbstentionMeasures | None) -> Iterator[str]:
    """Say that more was answered wrongly than is promised, where the interval leaves no doubt."""
    if of is not None and of.is_broken:
        risk = f"{of.risk:.3f} [{of.risk_low:.3f}, {of.risk_high:.3f}]"
        yield f"{NOT_KEPT}: {risk} of all queries were answered wrongly, and at most {of.promised:.3f} was promised"
