"""How sure a mean is: seeded bootstrap intervals, by row or by cluster, of plain values and of an evaluation."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, FloatArray, IntArray, as_array, as_floats, code_sums
from ltr.errors import DataError, UsageError
from ltr.evaluation.evaluation import Evaluation

BLOCK = 1 << 18  # units drawn at once: enough to hide the cost of a call, few enough to stay in the cache
ALIKE = 1 << 4  # rows: in whole multiples of it a product has the same digits as in one
CHEAPER = 8  # times an index is cheaper to draw than a count


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and the percentile interval of its resampled means; one unit has no interval: low and high are None."""

    mean: float
    low: float | None
    high: float | None
    level: float
    units: int  # rows, or clusters, that were resampled

    RESAMPLES: ClassVar[int] = 10_000
    LEVEL: ClassVar[float] = 0.95


def bootstrap_mean(
    values: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    clusters: npt.ArrayLike | None = None,
    resamples: int = Interval.RESAMPLES,
    level: float = Interval.LEVEL,
) -> Interval:
    """Mean of the values with its percentile bootstrap interval.

    Rows are resampled, or whole clusters when the rows of one depend on each other; a resampled mean is
    the sum over the drawn clusters of their sums over the sum of their sizes.

    >>> interval = bootstrap_mean(np.array([0.0, 1.0, 1.0, 1.0]), np.random.default_rng(0))
    >>> interval.mean, interval.low, interval.high
    (0.75, 0.25, 1.0)
    """
    column = as_floats("values", values)
    if column.ndim != 1:
        raise DataError(f"values to resample must have one axis, found shape {column.shape}")
    if not column.size:
        raise DataError("no values to resample")
    return bootstrap_means([column], rng, clusters=clusters, resamples=resamples, level=level)[0]


def bootstrap_means(
    columns: Sequence[FloatArray],
    rng: np.random.Generator,
    *,
    clusters: npt.ArrayLike | None = None,
    resamples: int = Interval.RESAMPLES,
    level: float = Interval.LEVEL,
) -> list[Interval]:
    """The interval of each column's mean, the same as `bootstrap_mean` gives for that column alone.

    >>> [interval.high for interval in bootstrap_means(np.array([[0.0, 1.0], [1.0, 1.0]]), np.random.default_rng(0))]
    [1.0, 1.0]
    """
    if not isinstance(resamples, Integral) or isinstance(resamples, bool) or resamples < 1:
        raise UsageError(f"resamples is {resamples!r}; a whole number of at least 1 is needed")
    if not isinstance(level, Real) or not 0 < level < 1:
        raise UsageError(f"level is {level!r}; it must be between 0 and 1")
    if not all(column.min() >= -LARGEST and column.max() <= LARGEST for column in columns):  # NaN fails too
        raise DataError(f"values to resample must be finite, from {-LARGEST:g} to {LARGEST:g}")
    sums, sizes = list(columns), np.ones(len(columns[0]), dtype=np.int64)
    if clusters is not None:
        codes, sizes = _cluster_codes(clusters, len(columns[0]))
        sums = [code_sums(codes, column, len(sizes)) for column in columns]
    means = [float(column.mean()) for column in columns]
    if len(sizes) < 2:
        return [Interval(mean, None, None, level, len(sizes)) for mean in means]
    tail = (1 - level) / 2
    lows, highs = np.quantile(_resampled(sums, sizes, rng, int(resamples)), [tail, 1 - tail], axis=0).tolist()
    ends = zip(means, lows, highs, strict=True)
    return [Interval(mean, low, high, level, len(sizes)) for mean, low, high in ends]


def _cluster_codes(clusters: npt.ArrayLike, rows: int) -> tuple[IntArray, IntArray]:
    """The number of each row's cluster, counted from 0 in their order, and how many rows each has."""
    cluster_of_row = as_array("clusters", clusters)
    if cluster_of_row.shape != (rows,):
        raise DataError(f"one cluster a value is needed {(rows,)}, found shape {cluster_of_row.shape}")
    if not _are_codes(cluster_of_row):
        cluster_of_row = np.unique(cluster_of_row, return_inverse=True)[1]
    sizes = np.bincount(cluster_of_row)
    if sizes.all():
        return cluster_of_row, sizes
    return (np.cumsum(sizes > 0) - 1)[cluster_of_row], sizes[sizes > 0]


def _are_codes(clusters: npt.NDArray[Any]) -> bool:
    """Whether they can be counted as they are: no number is below 0, or far above how many there are."""
    return clusters.dtype.kind in "iu" and clusters.min() >= 0 and clusters.max() < 2 * len(clusters)


def bootstrap_difference(
    values: npt.ArrayLike,
    baseline: npt.ArrayLike,
    rng: np.random.Generator,
    *,
    clusters: npt.ArrayLike | None = None,
    resamples: int = Interval.RESAMPLES,
    level: float = Interval.LEVEL,
) -> Interval:
    """Mean of values - baseline, paired row by row, with its percentile bootstrap interval."""
    ours, theirs = as_floats("values", values), as_floats("baseline", baseline)
    if ours.shape != theirs.shape:
        raise DataError(f"values of shape {ours.shape} cannot be paired with a baseline of shape {theirs.shape}")
    return bootstrap_mean(ours - theirs, rng, clusters=clusters, resamples=resamples, level=level)


def _resampled(sums: Sequence[FloatArray], sizes: IntArray, rng: np.random.Generator, resamples: int) -> FloatArray:
    """Means over as many units as there are, drawn with replacement: (resamples, columns).

    Where the units of a column are few different ones many times over, how often each of those is drawn is
    Multinomial(units, its share), and is drawn so: the same distribution, and the time follows their number. The
    other columns share their draws. Every column starts from the same state of the generator.
    """
    (start,) = rng.spawn(1)
    units, means = len(sizes), np.empty((resamples, len(sums)))
    with_many_values = []
    for place, column in enumerate(sums):
        distinct, counts = np.unique(column + 1j * sizes, return_counts=True)  # a pair as one number
        if len(distinct) * CHEAPER > units:
            with_many_values.append(place)
            continue
        draw, at_once = deepcopy(start), max(ALIKE, BLOCK // len(distinct) // ALIKE * ALIKE)
        for first in range(0, resamples, at_once):
            rows = means[first : first + at_once, place]
            totals = draw.multinomial(units, counts / units, size=len(rows)) @ distinct
            rows[:] = totals.real / totals.imag
    if with_many_values:
        sums_and_sizes = np.column_stack([*(sums[place] for place in with_many_values), sizes])
        at_once = max(1, BLOCK // units)
        for first in range(0, resamples, at_once):
            rows = means[first : first + at_once]
            drawn = start.integers(units, size=(len(rows), units)) + units * np.arange(len(rows))[:, np.newaxis]
            counts = np.bincount(drawn.ravel(), minlength=drawn.size).reshape(drawn.shape)
            totals = counts @ sums_and_sizes
            rows[:, with_many_values] = totals[:, :-1] / totals[:, -1:]
    return means


def intervals(evaluation: Evaluation, clusters: IntArray | None = None, *, seed: int = 0) -> dict[str, Interval]:
    """The 95 % bootstrap interval of each mean over the queries that count in it; a mean of none has none.

    Queries are resampled, or whole clusters: (queries,) codes, such as those of the traces they belong to.

    >>> from ltr.evaluation import evaluate, rank
    >>> result = evaluate(rank([2.0, 1.0, 2.0, 1.0], [0, 2, 4]), [1, 0, 0, 1])
    >>> interval = intervals(result)["mrr"]
    >>> interval.mean, interval.low, interval.high
    (0.75, 0.5, 1.0)
    """
    metrics_by_queries: dict[bytes, list[str]] = {}  # metrics that count the same queries are resampled together
    for name, values in evaluation.values.items():
        metrics_by_queries.setdefault(np.isnan(values).tobytes(), []).append(name)
    by_metric: dict[str, Interval] = {}
    for names in metrics_by_queries.values():
        columns, of_rows = [evaluation.values[name] for name in names], clusters
        counted = ~np.isnan(columns[0])
        if not counted.all():
            columns = [column[counted] for column in columns]
            of_rows = None if clusters is None else clusters[counted]
        if counted.any():
            of_names = bootstrap_means(columns, np.random.default_rng(seed), clusters=of_rows)
            by_metric |= dict(zip(names, of_names, strict=True))
    return {name: by_metric[name] for name in evaluation.values if name in by_metric}


def resampled_units(clusters: IntArray) -> IntArray | None:
    """The clusters, where one holds several queries; else None: each query is a unit of its own.

    >>> resampled_units(np.array([0, 1, 2])), resampled_units(np.array([0, 1, 1]))
    (None, array([0, 1, 1]))
    """
    number = np.count_nonzero(np.bincount(clusters)) if _are_codes(clusters) else len(np.unique(clusters))
    return clusters if number < len(clusters) else None
