"""The limits of --fail-under."""

import math
from typing import TYPE_CHECKING

from ltr.errors import ThresholdError, UsageError

if TYPE_CHECKING:
    from ltr.evaluation.metrics.registry import Measure

ROUNDING = 1e-12  # of a mean


def thresholds(texts: list[str]) -> dict[str, float]:
    """The least value of each metric.

    >>> thresholds(["mrr=0.7"])
    {'mrr': 0.7}
    """
    limits = {}
    for text in texts:
        name, _, value = text.partition("=")
        try:
            limit = float(value)
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            raise UsageError(f"--fail-under {text}: write METRIC=X, such as mrr=0.7")
        limits[measure_of(name.strip()).name] = limit
    if len(limits) < len(texts):
        raise UsageError("--fail-under: a metric stands twice; name each once")
    return limits


def measure_of(name: str) -> "Measure":
    """The metric of that name, which must be one number, and the greater the better."""
    from ltr.evaluation.metrics.registry import named

    measure = named(name)
    if not measure.is_number:
        raise UsageError(f"--fail-under {name}: {measure.name} is not a single number")
    if measure.less_is_better:
        raise UsageError(f"--fail-under {name}: of {measure.name} less is better; name a metric of which more is")
    return measure


def is_below(value: float | None, limit: float) -> bool:
    """Whether the value misses the limit, and not by rounding alone: a third of .3 is not below .1."""
    return value is None or value < limit - ROUNDING


def refuse_below(means: dict[str, float | None], limits: dict[str, float]) -> None:
    """Raise when a metric misses its limit."""
    missed = [
        f"{name} is {'undefined' if (value := means[name]) is None else f'{value:.6g}'}, below {limit:g}"
        for name, limit in limits.items()
        if is_below(means[name], limit)
    ]
    if missed:
        raise ThresholdError("; ".join(missed))
