"""How sure a mean is: seeded bootstrap intervals, by row or by cluster."""

from copy import deepcopy
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums
from ltr.errors import DataError

RESAMPLES, LEVEL = 2000, 0.95
CHEAPER = 8  # times an index is cheaper to draw than a count


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
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """Mean of the values with its percentile bootstrap interval.

    Rows are resampled, or whole clusters when the rows of one depend on each other; a resampled mean is
    the sum over the drawn clusters of their sums over the sum of their sizes. One unit gives no interval
    wider than a point.

    >>> interval = bootstrap_mean(np.array([0.0, 1.0, 1.0, 1.0]), np.random.default_rng(0))
    >>> interval.mean, interval.low, interval.high
    (0.75, 0.25, 1.0)
    """
    return bootstrap_means(values[:, np.newaxis], rng, clusters=clusters, resamples=resamples, level=level)[0]


def bootstrap_means(
    columns: FloatArray,
    rng: np.random.Generator,
    *,
    clusters: IntArray | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> list[Interval]:
    """The interval of each column's mean: the one it has alone, whatever stands beside it.

    >>> [interval.high for interval in bootstrap_means(np.array([[0.0, 1.0], [1.0, 1.0]]), np.random.default_rng(0))]
    [1.0, 1.0]
    """
    if not columns.size:
        raise DataError("no values to resample")
    if not np.isfinite(columns).all():
        raise DataError("values to resample must be finite")
    codes = np.arange(len(columns)) if clusters is None else np.unique(clusters, return_inverse=True)[1]
    sizes = np.bincount(codes)
    sums = np.column_stack([code_sums(codes, column, len(sizes)) for column in columns.T])
    tail = (1 - level) / 2
    lows, highs = np.quantile(_resampled(sums, sizes, rng, resamples), [tail, 1 - tail], axis=0).tolist()
    means = [float(column.mean()) for column in columns.T]
    return [Interval(*each, level, len(sums)) for each in zip(means, lows, highs, strict=True)]


def bootstrap_difference(
    values: FloatArray,
    baseline: FloatArray,
    rng: np.random.Generator,
    *,
    clusters: IntArray | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """Mean of values - baseline, paired row by row, with its percentile bootstrap interval."""
    if values.shape != baseline.shape:
        raise DataError(f"{values.shape} values cannot be paired with {baseline.shape}")
    return bootstrap_mean(values - baseline, rng, clusters=clusters, resamples=resamples, level=level)


def _resampled(sums: FloatArray, sizes: IntArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    """Means over as many units as there are, drawn with replacement: (resamples, columns).

    Where the units of a column are few different ones many times over, how often each of those is drawn is
    Multinomial(units, its share), and is drawn so: the same distribution, and the time follows their number. The
    other columns share their draws. Every column starts from the same state of the generator.
    """
    (start,) = rng.spawn(1)
    units, means = len(sums), np.empty((resamples, sums.shape[1]))
    many = []
    for place, column in enumerate(sums.T):
        distinct, counts = np.unique(column + 1j * sizes, return_counts=True)  # a pair as one number
        if len(distinct) * CHEAPER > units:
            many.append(place)
            continue
        totals = deepcopy(start).multinomial(units, counts / units, size=resamples) @ distinct
        means[:, place] = totals.real / totals.imag
    if many:
        both = np.column_stack([sums[:, many], sizes])
        drawn = (np.bincount(start.integers(units, size=units), minlength=units) for _ in range(resamples))
        totals = np.array([counts @ both for counts in drawn])
        means[:, many] = totals[:, :-1] / totals[:, -1:]
    return means
