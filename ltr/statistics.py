"""How sure a mean is: seeded bootstrap intervals, by row or by cluster."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums
from ltr.errors import DataError

DRAWS = 1 << 20  # indices drawn at once


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the percentile interval of its resampled means."""

    mean: float
    low: float
    high: float
    level: float
    units: int  # rows, or clusters, that were resampled


def bootstrap_mean(
    values: FloatArray,
    rng: np.random.Generator,
    *,
    clusters: IntArray | None = None,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Mean of the values with its percentile bootstrap interval.

    Rows are resampled, or whole clusters when the rows of one depend on each other; a resampled mean is
    the sum over the drawn clusters of their sums over the sum of their sizes. One unit gives no interval
    wider than a point.

    >>> interval = bootstrap_mean(np.array([0.0, 1.0, 1.0, 1.0]), np.random.default_rng(0))
    >>> interval.mean, interval.low, interval.high
    (0.75, 0.25, 1.0)
    """
    if not values.size:
        raise DataError("no values to resample")
    if not np.isfinite(values).all():
        raise DataError("values to resample must be finite")
    codes = np.arange(len(values)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    sizes = np.bincount(codes)
    sums = code_sums(codes, values, len(sizes))
    means = np.concatenate(_resampled(sums, sizes, rng, resamples))
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(values.mean()), float(low), float(high), level, len(sums))


def bootstrap_difference(
    values: FloatArray,
    baseline: FloatArray,
    rng: np.random.Generator,
    *,
    clusters: IntArray | None = None,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Mean of values - baseline, paired row by row, with its percentile bootstrap interval."""
    if values.shape != baseline.shape:
        raise DataError(f"{values.shape} values cannot be paired with {baseline.shape}")
    return bootstrap_mean(values - baseline, rng, clusters=clusters, resamples=resamples, level=level)


def _resampled(sums: FloatArray, sizes: IntArray, rng: np.random.Generator, resamples: int) -> list[FloatArray]:
    units, parts = len(sums), []
    at_once = max(DRAWS // units, 1)
    for first in range(0, resamples, at_once):
        drawn = rng.integers(units, size=(min(at_once, resamples - first), units))
        parts.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return parts
