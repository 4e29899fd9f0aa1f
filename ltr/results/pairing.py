"""Two evaluations of the same queries by the same rules: one difference a query, and how sure their mean is."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.errors import DataError, UsageError
from ltr.evaluation.bootstrap import Interval, bootstrap_mean
from ltr.evaluation.intervals import resampled_units
from ltr.evaluation.significance import differences, permutation_p, unit_sums
from ltr.files.reading import AnyPath
from ltr.results.stored_evaluation import Key, StoredEvaluation, read_stored_evaluation

RULES = {
    "metrics_version": "metric version",
    "ties": "tie rule",
    "gain": "gain",
    "rel_threshold": "threshold of what is right",
    "threshold": "threshold of the probability",
    "max_grade": "greatest grade",
    "no_relevant": "rule for queries without a right candidate",
}


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """All queries in the order of the baseline, which of them count, and the clusters they come in."""

    baseline: StoredEvaluation
    keys: list[Key]
    counted: BoolArray  # in the first metric
    clusters: IntArray | None
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class Paired:
    """One metric of two evaluations."""

    ours: FloatArray  # (queries that count,)
    theirs: FloatArray
    differences: FloatArray
    units: FloatArray  # the same, added up where several depend on each other
    interval: Interval  # of the mean difference, paired bootstrap
    permutation_p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnersTest:
    """The winner of a batch against the runner-up, query by query: written to its leaderboard, read for its page."""

    winner: str
    runner_up: str
    metric: str
    difference: float
    low: float | None  # None of one unit
    high: float | None
    p: float


def tested(run: AnyPath, baseline: AnyPath, metric: str, seed: int) -> Paired:
    """The metric of a run against the baseline's; refused where data or rules are others."""
    ours, theirs = read_stored_evaluation(run), read_stored_evaluation(baseline)
    refuse_unlike(theirs, ours)
    if metric not in ours.values or metric not in theirs.values:
        raise UsageError(f"{metric} is no value of single queries")
    return paired(pairing(theirs, metric, seed), ours, metric)


def paired(by: Pairing, run: StoredEvaluation, metric: str) -> Paired:
    """The metric, query by query."""
    ours, theirs = (each.column(metric, by.keys) for each in (run, by.baseline))
    counted = ~np.isnan(theirs)  # some metrics leave out more queries than others
    if not counted.any() or (np.isnan(ours) == counted).any():
        raise DataError(f"{run.name} and {by.baseline.name}: {metric} does not count the same queries, or none")
    ours, theirs = ours[counted], theirs[counted]
    clusters = None if by.clusters is None else by.clusters[counted]
    found = differences(ours, theirs)
    units = unit_sums(found, clusters)
    interval = bootstrap_mean(found, np.random.default_rng(by.seed), clusters=clusters)
    return Paired(ours, theirs, found, units, interval, permutation_p(units, np.random.default_rng(by.seed)))


def refuse_unlike(baseline: StoredEvaluation, other: StoredEvaluation) -> None:
    """Raise unless both were measured on the same queries by the same rules."""
    if other.queries.keys() != baseline.queries.keys():
        for one, two in ((other, baseline), (baseline, other)):
            only = [key for key in one.queries if key not in two.queries]
            if only:
                such = f"trace_id {only[0][0]!r}, node_id {only[0][1]!r}"
                what = f"{one.name} has {len(only):,} queries that {two.name} lacks, such as {such}"
                raise DataError(f"different test data: {what}")
    if other.metrics.rules.fingerprint != baseline.metrics.rules.fingerprint:
        raise DataError(f"different test data: {other.name} and {baseline.name} have other candidates or labels")
    for key, what in RULES.items():  # after the data, which the greatest grade follows
        ours, theirs = getattr(other.metrics.rules, key), getattr(baseline.metrics.rules, key)
        if ours != theirs:
            raise DataError(f"{other.name} and {baseline.name} differ in the {what}: {ours} and {theirs}")


def pairing(baseline: StoredEvaluation, metric: str, seed: int) -> Pairing:
    counted = ~np.isnan(baseline.values[metric])
    if not counted.any():
        raise DataError(f"{baseline.name}: no query counts in {metric}")
    keys, codes = list(baseline.queries), dict[str, int]()
    traces = np.array([codes.setdefault(trace, len(codes)) for trace, _ in keys])
    return Pairing(baseline, keys, counted, resampled_units(traces), seed)


def num_units(by: Pairing) -> int:
    clusters = np.arange(len(by.keys)) if by.clusters is None else by.clusters
    return len(np.unique(clusters[by.counted]))
