"""Evaluations on disk side by side, query by query: how large a difference is, how sure, and where it comes from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.errors import DataError, FileError, UsageError, suggestion
from ltr.evaluation import MRR, TOP1, TOP3, Interval, Paired, differences, holm, named, resampled_units
from ltr.files import read_lines
from ltr.jsonl import records
from ltr.paths import AnyPath
from ltr.records.metrics import MetricsRecord, QueryRecord
from ltr.runs import Part, RunDirectory

MOST_CHANGED = 10
FIXED = {TOP1: "top1", TOP3: "top3", MRR: "reciprocal_rank"}  # metrics that every record has, and their fields
NEEDED = {"": "a line of per_query.jsonl as ltr writes it is needed"}
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

Key = tuple[str, str]  # trace_id, node_id


@dataclass(frozen=True, slots=True, eq=False)
class StoredEvaluation:
    """An evaluation read back: metrics.json and per_query.jsonl of a run or of `evaluate -o`."""

    name: str
    metrics: MetricsRecord
    queries: dict[Key, QueryRecord]
    values: dict[str, FloatArray]  # (queries,) of each metric; NaN: left out

    def in_order_of(self, keys: Iterable[Key]) -> "StoredEvaluation":
        """Return the evaluation with its queries in this order, which names each of them."""
        positions = {key: position for position, key in enumerate(self.queries)}
        order = [positions[key] for key in keys]
        queries = list(self.queries.items())
        values = {name: column[order] for name, column in self.values.items()}
        return replace(self, queries=dict(queries[position] for position in order), values=values)


def read_stored_evaluation(directory: AnyPath) -> StoredEvaluation:
    """Read the evaluation that the directory holds."""
    home = Path(directory)
    metrics = RunDirectory(home).metrics
    path = home / Part.PER_QUERY
    rows = [row for _, row in records(path, read_lines(path), QueryRecord, NEEDED)]
    queries = {(row.trace_id, row.node_id): row for row in rows}
    if len(queries) < len(rows) or not rows:
        raise FileError(str(path), "a query stands twice" if rows else "no query")
    if any(row.metrics.keys() != rows[0].metrics.keys() for row in rows):
        raise FileError(str(path), "not every query has the metrics of the first")
    columns = {name: [getattr(row, field) for row in rows] for name, field in FIXED.items()}
    columns |= {name: [row.metrics[name] for row in rows] for name in rows[0].metrics}
    values = {name: np.array(column, dtype=np.float64) for name, column in columns.items()}  # None is NaN there
    return StoredEvaluation(home.as_posix(), metrics, queries, values)


def _refuse_incomparable(baseline: StoredEvaluation, other: StoredEvaluation) -> None:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One metric of a run against the baseline's."""

    metric: str
    value: float
    baseline_value: float
    difference: float
    low: float | None  # 95 % interval of the difference, paired bootstrap; None of one unit
    high: float | None
    permutation_p: float
    holm_p: float  # the permutation p, adjusted for all differences of the comparison
    t_p: float | None  # None: a single unit
    effect_size: float | None  # Cohen's d of the differences of the queries; None: all the same and not 0
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class ChangedQuery:
    """A query that the run and the baseline answer differently."""

    trace_id: str
    node_id: str
    query: str
    value: float
    baseline_value: float
    true_candidate: str | None
    predicted_candidate: str | None
    baseline_predicted_candidate: str | None


@dataclass(frozen=True, slots=True)
class RunComparison:
    """A run against the baseline."""

    run: str
    differences: list[Difference]
    changed: list[ChangedQuery]  # by the metric `changed_by`, those that changed most first


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """All runs against the baseline, and what every number rests on."""

    baseline: str
    num_queries: int  # in the means
    unit: str  # what is resampled and flipped: query, or trace where one holds several
    num_units: int
    family: int  # differences that Holm's adjustment counts
    permutations: int
    resamples: int
    changed_by: str
    runs: list[RunComparison]


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """Runs paired with a baseline, query by query, and what is resampled to tell how sure a difference is."""

    baseline: StoredEvaluation
    others: list[StoredEvaluation]  # in the order of the queries of the baseline
    clusters: IntArray | None  # (queries,): their traces, where one holds several; else None
    seed: int

    @classmethod
    def of(cls, baseline: StoredEvaluation, others: Sequence[StoredEvaluation], seed: int) -> "Pairing":
        """Pair runs with a baseline; raise unless all were evaluated on the same queries by the same rules."""
        for other in others:
            _refuse_incomparable(baseline, other)
        codes: dict[str, int] = {}
        traces = np.array([codes.setdefault(trace, len(codes)) for trace, _ in baseline.queries])
        ordered = [other.in_order_of(baseline.queries) for other in others]
        return cls(baseline, ordered, resampled_units(traces), seed)

    def difference(self, run: StoredEvaluation, metric: str) -> Difference:
        """Return how much greater a metric of the run is than the baseline's; Holm's adjustment is still open."""
        ours, theirs, clusters = run.values[metric], self.baseline.values[metric], self.clusters
        counted = ~np.isnan(theirs)  # some metrics leave out more queries than others
        if not counted.any() or (np.isnan(ours) == counted).any():
            raise DataError(f"{run.name} and {self.baseline.name}: {metric} does not count the same queries, or none")
        ours, theirs = ours[counted], theirs[counted]
        paired = Paired.of(ours, theirs, None if clusters is None else clusters[counted], seed=self.seed)
        return Difference(
            metric=metric,
            value=float(ours.mean()),
            baseline_value=float(theirs.mean()),
            difference=paired.interval.mean,
            low=paired.interval.low,
            high=paired.interval.high,
            permutation_p=paired.permutation_p,
            holm_p=paired.permutation_p,
            t_p=paired.t_p,
            effect_size=paired.effect_size,
            wins=paired.wins,
            ties=paired.ties,
            losses=paired.losses,
        )

    def most_changed(self, run: StoredEvaluation, metric: str) -> list[ChangedQuery]:
        """Return the queries whose metric changed most, in the order of the baseline among equals."""
        ours, theirs = run.values[metric], self.baseline.values[metric]
        change = np.abs(differences(np.nan_to_num(ours), np.nan_to_num(theirs))).tolist()
        keys = [(key, place) for place, key in enumerate(run.queries) if change[place]]
        largest = sorted(keys, key=lambda pair: -change[pair[1]])[:MOST_CHANGED]
        return [
            ChangedQuery(
                *key,
                query=run.queries[key].query,
                value=float(ours[place]),
                baseline_value=float(theirs[place]),
                true_candidate=run.queries[key].true_candidate,
                predicted_candidate=run.queries[key].predicted_candidate,
                baseline_predicted_candidate=self.baseline.queries[key].predicted_candidate,
            )
            for key, place in largest
        ]


def paired_test(run: AnyPath, baseline: AnyPath, metric: str, seed: int) -> Difference:
    """Return the metric of a run against the baseline's; refused where data or rules differ."""
    ours, theirs = read_stored_evaluation(run), read_stored_evaluation(baseline)
    pairing = Pairing.of(theirs, [ours], seed)
    if metric not in ours.values or metric not in theirs.values:
        raise UsageError(f"{metric} is no value of single queries")
    return pairing.difference(pairing.others[0], metric)


def compare(
    runs: Sequence[AnyPath],
    *,
    baseline: AnyPath | None = None,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare the runs with the baseline, by default the first of them.

    Each is a directory that `run`, `train` or `evaluate -o` filled, evaluated on the same queries by the same rules;
    else it is refused. Named twice, it is compared once: tests counted twice would weigh in Holm's adjustment.
    Without metrics, all that every run has query by query.
    """
    against = read_stored_evaluation(runs[0] if baseline is None else baseline)
    others = [read_stored_evaluation(run) for run in (runs[1:] if baseline is None else runs)]
    others = list({other.name: other for other in others if baseline is None or other.name != against.name}.values())
    if not others:
        raise UsageError("nothing to compare: name at least two runs")
    pairing = Pairing.of(against, others, seed)
    names = _common_metrics([against, *others], metrics)
    counted, clusters = ~np.isnan(against.values[names[0]]), pairing.clusters
    if not counted.any():
        raise DataError(f"{against.name}: no query counts in {names[0]}")
    changed_by = MRR if MRR in names else names[0]
    tests = [pairing.difference(other, name) for other in pairing.others for name in names]
    adjusted = iter(holm([test.permutation_p for test in tests]))
    tests = [replace(test, holm_p=next(adjusted)) for test in tests]
    return Comparison(
        baseline=against.name,
        num_queries=int(counted.sum()),
        unit="query" if clusters is None else "trace",
        num_units=int(counted.sum()) if clusters is None else len(np.unique(clusters[counted])),
        family=len(tests),
        permutations=Paired.PERMUTATIONS,
        resamples=Interval.RESAMPLES,
        changed_by=changed_by,
        runs=[
            RunComparison(
                other.name,
                tests[place * len(names) : (place + 1) * len(names)],
                pairing.most_changed(other, changed_by),
            )
            for place, other in enumerate(pairing.others)
        ],
    )


def _common_metrics(runs: Sequence[StoredEvaluation], metrics: Sequence[str] | None) -> list[str]:
    """Return the metrics of these names, or without any all that every run has query by query."""
    common = [name for name in runs[0].values if all(name in run.values for run in runs)]
    names = common if metrics is None else [named(name).name for name in metrics]
    for name in names:
        for run in runs:
            if name not in run.values:
                hint = suggestion(name, run.values)
                raise UsageError(f"{run.name}: no {name} query by query{hint}; evaluate it again with --metrics {name}")
    return list(dict.fromkeys(names))
