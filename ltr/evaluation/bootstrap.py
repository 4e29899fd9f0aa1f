"""How sure a mean is: seeded bootstrap intervals, by row or by cluster."""

from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral, Real

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, FloatArray, IntArray, as_array, as_floats, code_sums
from ltr.errors import DataError, UsageError

RESAMPLES, LEVEL = 2000, 0.95
CHEAPER = 8  # times an index is cheaper to draw than a count


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the percentile interval of its resampled means: None of one unit, which tells nothing of others."""

    mean: float
    low: float | None
    high: float | None
    level: float
    units: int  # rows, or clusters, that were resampled


def bootstrap_mean(
    values: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    clusters: npt.ArrayLike | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval:
    """Mean of the values with its percentile bootstrap interval.

    Rows are resampled, or whole clusters when the rows of one depend on each other; a resampled mean is
    the sum over the drawn clusters of their sums over the sum of their sizes.

    >>> interval = bootstrap_mean(np.array([0.0, 1.0, 1.0, 1.0]), np.random.default_rng(0))
    >>> interval.mean, interval.low, interval.high
    (0.75, 0.25, 1.0)
    """
    column = _checked("values", values)[:, np.newaxis]
    return bootstrap_means(column, rng, clusters=clusters, resamples=resamples, level=level)[0]


def bootstrap_means(
    columns: FloatArray,
    rng: np.random.Generator,
    *,
    clusters: npt.ArrayLike | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> list[Interval]:
    """The interval of each column's mean: the one it has alone, whatever stands beside it.

    >>> [interval.high for interval in bootstrap_means(np.array([[0.0, 1.0], [1.0, 1.0]]), np.random.default_rng(0))]
    [1.0, 1.0]
    """
    if not isinstance(resamples, Integral) or isinstance(resamples, bool) or resamples < 1:
        raise UsageError(f"resamples is {resamples!r}; a whole number of at least 1 is needed")
    if not isinstance(level, Real) or not 0 < level < 1:
        raise UsageError(f"level is {level!r}; it must be between 0 and 1")
    checked = [_checked("values", column) for column in columns.T]
    codes = np.arange(len(columns)) if clusters is None else _cluster_codes(clusters, len(columns))
    sizes = np.bincount(codes)
    sums = np.column_stack([code_sums(codes, column, len(sizes)) for column in checked])
    tail = (1 - level) / 2
    lows, highs = np.quantile(_resampled(sums, sizes, rng, int(resamples)), [tail, 1 - tail], axis=0).tolist()
    means = [float(column.mean()) for column in checked]
    if len(sums) < 2:
        return [Interval(mean, None, None, level, len(sums)) for mean in means]
    return [Interval(*each, level, len(sums)) for each in zip(means, lows, highs, strict=True)]


def bootstrap_difference(
    values: npt.ArrayLike,
    baseline: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    clusters: npt.ArrayLike | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
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
