"""Two evaluations of the same queries by the same rules: one difference a query, and how sure their mean is."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.errors import DataError, UsageError
from ltr.evaluation.bootstrap import Interval, bootstrap_mean, resampled_units
from ltr.evaluation.significance import differences, permutation_p, unit_sums
from ltr.files.path_arguments import AnyPath
from ltr.results.stored_evaluation import Key, StoredEvaluation, read_stored_evaluation

RULES = {
    "metrics_version": "metric version",
    "ties": "tie rule",
    "gain": "gain",
    "rel_threshold": "threshold of what is right",
    "threshold": "threshold of the probability",
    "max_grade": "greatest grade",
    "probability": "meaning of scores as probabilities",
    "complete": "rule for topics that a run lacks (--complete)",
    "no_relevant": "rule for queries without a right candidate",
}


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """The queries of a baseline in its order, and the units that are resampled to compare another run with it."""

    baseline: StoredEvaluation
    keys: list[Key]
    num_queries: int  # that count in the first metric
    clusters: IntArray | None  # (queries,): their traces, where one holds several; else None
    num_units: int  # queries that count, or clusters of them
    seed: int


@dataclass(frozen=True, slots=True, eq=False)
class PairedMetric:
    """One metric of a run and of the baseline, query by query."""

    ours: FloatArray  # (queries that count,)
    theirs: FloatArray
    differences: FloatArray
    units: FloatArray  # the same, added up where several depend on each other
    interval: Interval  # of the mean difference, paired bootstrap
    permutation_p: float


def paired_test(run: AnyPath, baseline: AnyPath, metric: str, seed: int) -> PairedMetric:
    """The metric of a run against the baseline's; refused where data or rules differ."""
    ours, theirs = read_stored_evaluation(run), read_stored_evaluation(baseline)
    refuse_incomparable(theirs, ours)
    if metric not in ours.values or metric not in theirs.values:
        raise UsageError(f"{metric} is no value of single queries")
    return pair_metric(pair_queries(theirs, metric, seed), ours, metric)


def refuse_incomparable(baseline: StoredEvaluation, other: StoredEvaluation) -> None:
    """Raise unless both were evaluated on the same queries by the same rules."""
    are_alike = other.metrics.rules.fingerprint == baseline.metrics.rules.fingerprint
    for query_id, row in () if are_alike else other.queries.items():
        same_id = baseline.queries.get(query_id)
        if same_id and same_id.query != row.query and same_id.true_candidate != row.true_candidate:
            example = f"trace_id {query_id[0]!r}, node_id {query_id[1]!r}"
            both = f"{other.name} and {baseline.name}"
            raise DataError(f"different test data: one id names different queries in {both}, such as {example}")
    for first, second in ((other, baseline), (baseline, other)):
        missing = [key for key in first.queries if key not in second.queries]
        if missing:
            example = f"trace_id {missing[0][0]!r}, node_id {missing[0][1]!r}"
            problem = f"{first.name} has {len(missing):,} queries that {second.name} lacks, such as {example}"
            hint = "" if first.metrics.rules.complete is None else "; evaluate both with --complete"
            raise DataError(f"different test data: {problem}{hint}")
    if not are_alike:
        raise DataError(f"different test data: {other.name} and {baseline.name} have other candidates or labels")
    for key, rule in RULES.items():  # after the data, which the greatest grade follows
        ours, theirs = getattr(other.metrics.rules, key), getattr(baseline.metrics.rules, key)
        if ours != theirs:
            raise DataError(f"{other.name} and {baseline.name} differ in the {rule}: {ours} and {theirs}")


def pair_queries(baseline: StoredEvaluation, metric: str, seed: int) -> Pairing:
    """The queries of the baseline, to compare other runs with it; those count that have a value of the metric."""
    counted = ~np.isnan(baseline.values[metric])
    if not counted.any():
        raise DataError(f"{baseline.name}: no query counts in {metric}")
    keys, codes = list(baseline.queries), dict[str, int]()
    traces = np.array([codes.setdefault(trace, len(codes)) for trace, _ in keys])
    clusters, num_queries = resampled_units(traces), int(counted.sum())
    num_units = num_queries if clusters is None else len(np.unique(clusters[counted]))
    return Pairing(baseline, keys, num_queries, clusters, num_units, seed)


def pair_metric(pairing: Pairing, run: StoredEvaluation, metric: str) -> PairedMetric:
    """The metric of the run and of the baseline over the queries that count in it."""
    ours, theirs = run.column(metric, pairing.keys), pairing.baseline.column(metric, pairing.keys)
    counted = ~np.isnan(theirs)  # some metrics leave out more queries than others
    if not counted.any() or (np.isnan(ours) == counted).any():
        raise DataError(f"{run.name} and {pairing.baseline.name}: {metric} does not count the same queries, or none")
    ours, theirs = ours[counted], theirs[counted]
    clusters = None if pairing.clusters is None else pairing.clusters[counted]
    by_query = differences(ours, theirs)
    units = unit_sums(by_query, clusters)
    interval = bootstrap_mean(by_query, np.random.default_rng(pairing.seed), clusters=clusters)
    p = permutation_p(units, np.random.default_rng(pairing.seed))
    return PairedMetric(ours, theirs, by_query, units, interval, p)
