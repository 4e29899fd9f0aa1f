"""Runs side by side, query by query: how large a difference is, how sure, and where it comes from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.errors import DataError, UsageError, suggestion
from ltr.files import AnyPath
from ltr.intervals import resampled_units
from ltr.kept import Kept, Key, read_kept
from ltr.metrics import MRR, named
from ltr.significance import PERMUTATIONS, differences, effect_size, holm, paired_t_p, permutation_p, unit_sums, wins
from ltr.statistics import RESAMPLES, bootstrap_mean

MOST_CHANGED = 10
VERSION = "metrics_version"
RULES = {
    VERSION: "metric version",
    "ties": "tie rule",
    "gain": "gain",
    "rel_threshold": "threshold of what is right",
    "threshold": "threshold of the probability",
    "max_grade": "greatest grade",
    "no_relevant": "rule for queries without a right candidate",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One metric of a run against the baseline's."""

    metric: str
    value: float
    baseline_value: float
    difference: float
    low: float  # 95 % interval of the difference, paired bootstrap
    high: float
    permutation_p: float
    holm_p: float  # the permutation p, adjusted for all differences of the comparison
    t_p: float | None  # None: a single unit
    effect_size: float | None  # Cohen's d of the differences of the queries; None: all the same and not 0
    wins: int
    ties: int
    losses: int


@dataclass(frozen=True, slots=True)
class Changed:
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
class Compared:
    """A run against the baseline."""

    run: str
    differences: list[Difference]
    changed: list[Changed]  # by the metric `changed_by`, those that changed most first


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
    runs: list[Compared]


@dataclass(frozen=True, slots=True, eq=False)
class Pairing:
    """All queries in the order of the baseline, which of them count, and the clusters they come in."""

    baseline: Kept
    keys: list[Key]
    counted: BoolArray  # in the first metric
    clusters: IntArray | None
    seed: int


def compare_runs(
    runs: Sequence[AnyPath],
    *,
    baseline: AnyPath | None = None,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
) -> Comparison:
    """The runs against the baseline, by default the first of them.

    Each is a directory that `run`, `train` or `evaluate -o` filled, measured on the same queries by the same rules;
    else it is refused. Named twice, it is compared once: tests counted twice would weigh in Holm's adjustment.
    Without metrics, all that every run has query by query.
    """
    against = read_kept(runs[0] if baseline is None else baseline)
    others = [read_kept(run) for run in (runs[1:] if baseline is None else runs)]
    others = list({other.name: other for other in others if baseline is None or other.name != against.name}.values())
    if not others:
        raise UsageError("nothing to compare: name at least two runs")
    for other in others:
        refuse_unlike(against, other)
    names = common_metrics([against, *others], metrics)
    pairing = _pairing(against, names[0], seed)
    compared = _adjusted([_compared(pairing, other, names) for other in others])
    return Comparison(
        baseline=against.name,
        num_queries=int(pairing.counted.sum()),
        unit="query" if pairing.clusters is None else "trace",
        num_units=_num_units(pairing),
        family=sum(len(each.differences) for each in compared),
        permutations=PERMUTATIONS,
        resamples=RESAMPLES,
        changed_by=_changed_by(names),
        runs=compared,
    )


def refuse_unlike(baseline: Kept, other: Kept) -> None:
    """Raise unless both were measured on the same queries by the same rules."""
    for each in (baseline, other):
        if VERSION not in each.metrics:
            raise DataError(f"{each.name}: metrics.json has no {VERSION}; evaluate the model again to compare it")
    if other.queries.keys() != baseline.queries.keys():
        for one, two in ((other, baseline), (baseline, other)):
            only = [key for key in one.queries if key not in two.queries]
            if only:
                such = f"trace_id {only[0][0]!r}, node_id {only[0][1]!r}"
                what = f"{one.name} has {len(only):,} queries that {two.name} lacks, such as {such}"
                raise DataError(f"different test data: {what}")
    if other.metrics.get("truth") != baseline.metrics.get("truth"):
        raise DataError(f"different test data: {other.name} and {baseline.name} have other candidates or labels")
    for key, what in RULES.items():  # after the data, which the greatest grade follows
        ours, theirs = other.metrics.get(key), baseline.metrics.get(key)
        if ours != theirs:
            raise DataError(f"{other.name} and {baseline.name} differ in the {what}: {ours} and {theirs}")


def common_metrics(runs: Sequence[Kept], asked: Sequence[str] | None) -> list[str]:
    """The metrics asked for, or those that every run has query by query."""
    common = [name for name in runs[0].values if all(name in run.values for run in runs)]
    wanted = common if asked is None else [named(name).name for name in asked]
    for name in wanted:
        for run in runs:
            if name not in run.values:
                hint = suggestion(name, run.values)
                raise UsageError(f"{run.name}: no {name} query by query{hint}; evaluate it again with --metrics {name}")
    return list(dict.fromkeys(wanted))


def _pairing(baseline: Kept, metric: str, seed: int) -> Pairing:
    counted = ~np.isnan(baseline.values[metric])
    if not counted.any():
        raise DataError(f"{baseline.name}: no query counts in {metric}")
    keys, codes = list(baseline.queries), dict[str, int]()
    traces = np.array([codes.setdefault(trace, len(codes)) for trace, _ in keys])
    return Pairing(baseline, keys, counted, resampled_units(traces), seed)


def _num_units(pairing: Pairing) -> int:
    clusters = np.arange(len(pairing.keys)) if pairing.clusters is None else pairing.clusters
    return len(np.unique(clusters[pairing.counted]))


def _compared(pairing: Pairing, run: Kept, names: Sequence[str]) -> Compared:
    found = [_difference(pairing, run, name) for name in names]
    return Compared(run.name, found, _changed(pairing, run, _changed_by(names)))


def _difference(pairing: Pairing, run: Kept, metric: str) -> Difference:
    ours, theirs = (each.column(metric, pairing.keys) for each in (run, pairing.baseline))
    counted = ~np.isnan(theirs)  # some metrics leave out more queries than others
    if not counted.any() or (np.isnan(ours) == counted).any():
        raise DataError(f"{run.name} and {pairing.baseline.name}: {metric} does not count the same queries, or none")
    ours, theirs = ours[counted], theirs[counted]
    clusters = None if pairing.clusters is None else pairing.clusters[counted]
    paired = differences(ours, theirs)
    units = unit_sums(paired, clusters)
    interval = bootstrap_mean(paired, np.random.default_rng(pairing.seed), clusters=clusters)
    p, score = permutation_p(units, np.random.default_rng(pairing.seed)), wins(paired)
    return Difference(
        metric=metric,
        value=float(ours.mean()),
        baseline_value=float(theirs.mean()),
        difference=interval.mean,
        low=interval.low,
        high=interval.high,
        permutation_p=p,
        holm_p=p,
        t_p=paired_t_p(units),
        effect_size=effect_size(paired),
        wins=score.wins,
        ties=score.ties,
        losses=score.losses,
    )


def _adjusted(compared: Sequence[Compared]) -> list[Compared]:
    """The same with Holm's p over all of them."""
    adjusted = iter(holm([found.permutation_p for each in compared for found in each.differences]))
    return [
        replace(each, differences=[replace(found, holm_p=next(adjusted)) for found in each.differences])
        for each in compared
    ]


def _changed_by(names: Sequence[str]) -> str:
    return MRR if MRR in names else names[0]


def _changed(pairing: Pairing, run: Kept, metric: str) -> list[Changed]:
    """The queries whose metric changed most, in the order of the baseline among equals."""
    ours, theirs = (each.column(metric, pairing.keys) for each in (run, pairing.baseline))
    paired: FloatArray = np.abs(differences(np.nan_to_num(ours), np.nan_to_num(theirs)))
    most = sorted(np.flatnonzero(paired).tolist(), key=lambda place: -float(paired[place]))[:MOST_CHANGED]
    changed = []
    for place in most:
        key = pairing.keys[place]
        now, before = run.queries[key], pairing.baseline.queries[key]
        changed.append(
            Changed(
                trace_id=key[0],
                node_id=key[1],
                query=now.query,
                value=float(ours[place]),
                baseline_value=float(theirs[place]),
                true_candidate=now.true_candidate,
                predicted_candidate=now.predicted_candidate,
                baseline_predicted_candidate=before.predicted_candidate,
            )
        )
    return changed
