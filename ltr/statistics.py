"""How sure a mean is: seeded bootstrap intervals, by row or by cluster."""

from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, FloatArray, IntArray, as_array, as_floats, code_sums
from ltr.errors import DataError, UsageError

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
    values: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    clusters: npt.ArrayLike | None = None,
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
    checked = _checked("values", values)
    if not isinstance(resamples, Integral) or isinstance(resamples, bool) or resamples < 1:
        raise UsageError(f"resamples is {resamples!r}; a whole number of at least 1 is needed")
    if not isinstance(level, Real) or not 0 < level < 1:
        raise UsageError(f"level is {level!r}; it must be between 0 and 1")
    codes = np.arange(len(checked)) if clusters is None else _cluster_codes(clusters, len(checked))
    sizes = np.bincount(codes)
    sums = code_sums(codes, checked, len(sizes))
    means = np.concatenate(_resampled(sums, sizes, rng, int(resamples)))
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(float(checked.mean()), float(low), float(high), level, len(sums))


def bootstrap_difference(
    values: npt.ArrayLike,
    baseline: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    clusters: npt.ArrayLike | None = None,
    resamples: int = 2000,
    level: float = 0.95,
) -> Interval:
    """Mean of values - baseline, paired row by row, with its percentile bootstrap interval."""
    ours, theirs = _checked("values", values), _checked("baseline", baseline)
    if ours.shape != theirs.shape:
        raise DataError(f"{len(ours)} values cannot be paired with {len(theirs)}")
    return bootstrap_mean(ours - theirs, rng, clusters=clusters, resamples=resamples, level=level)


def _checked(argument: str, values: npt.ArrayLike) -> FloatArray:
    """One axis of finite numbers, at least one."""
    checked = as_floats(argument, values)
    if checked.ndim != 1:
        raise DataError(f"{argument} to resample must have one axis, found shape {checked.shape}")
    if not checked.size:
        raise DataError(f"no {argument} to resample")
    if not (np.abs(checked) <= LARGEST).all():  # NaN fails too
        raise DataError(f"{argument} to resample must be finite, from {-LARGEST:g} to {LARGEST:g}")
    return checked


def _cluster_codes(clusters: npt.ArrayLike, rows: int) -> IntArray:
    """Each row's cluster as a number from 0."""
    given = as_array("clusters", clusters)
    if given.shape != (rows,):
        raise DataError(f"one cluster a value is needed ({rows},), found shape {given.shape}")
    return np.unique(given, return_inverse=True)[1]


def _resampled(sums: FloatArray, sizes: IntArray, rng: np.random.Generator, resamples: int) -> list[FloatArray]:
    units, parts = len(sums), []
    at_once = max(DRAWS // units, 1)
    for first in range(0, resamples, at_once):
        drawn = rng.integers(units, size=(min(at_once, resamples - first), units))
        parts.append(sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1))
    return parts
