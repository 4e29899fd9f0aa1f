"""Runs side by side, query by query: how large a difference is, how sure, and where it comes from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray
from ltr.errors import UsageError, suggestion
from ltr.evaluation.bootstrap import RESAMPLES
from ltr.evaluation.metrics.ranking_measures import MRR
from ltr.evaluation.metrics.registry import named
from ltr.evaluation.significance import PERMUTATIONS, differences, effect_size, holm, paired_t_p, wins
from ltr.files.path_arguments import AnyPath
from ltr.results.paired_difference import Pairing, pair_metric, pair_queries, refuse_incomparable
from ltr.results.stored_evaluation import StoredEvaluation, read_stored_evaluation

MOST_CHANGED = 10


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


def compare(
    runs: Sequence[AnyPath],
    *,
    baseline: AnyPath | None = None,
    metrics: Sequence[str] | None = None,
    seed: int = 0,
) -> Comparison:
    """The runs against the baseline, by default the first of them.

    Each is a directory that `run`, `train` or `evaluate -o` filled, evaluated on the same queries by the same rules;
    else it is refused. Named twice, it is compared once: tests counted twice would weigh in Holm's adjustment.
    Without metrics, all that every run has query by query.
    """
    against = read_stored_evaluation(runs[0] if baseline is None else baseline)
    others = [read_stored_evaluation(run) for run in (runs[1:] if baseline is None else runs)]
    others = list({other.name: other for other in others if baseline is None or other.name != against.name}.values())
    if not others:
        raise UsageError("nothing to compare: name at least two runs")
    for other in others:
        refuse_incomparable(against, other)
    names = common_metrics([against, *others], metrics)
    changed_by = MRR if MRR in names else names[0]
    pairing = pair_queries(against, names[0], seed)
    tests = [_difference(pairing, other, name) for other in others for name in names]
    adjusted = holm([test.permutation_p for test in tests])
    tests = [replace(test, holm_p=p) for test, p in zip(tests, adjusted, strict=True)]
    compared = [
        RunComparison(other.name, tests[first : first + len(names)], _most_changed(pairing, other, changed_by))
        for first, other in zip(range(0, len(tests), len(names)), others, strict=True)
    ]
    return Comparison(
        baseline=against.name,
        num_queries=pairing.num_queries,
        unit="query" if pairing.clusters is None else "trace",
        num_units=pairing.num_units,
        family=len(tests),
        permutations=PERMUTATIONS,
        resamples=RESAMPLES,
        changed_by=changed_by,
        runs=compared,
    )


def common_metrics(runs: Sequence[StoredEvaluation], metrics: Sequence[str] | None) -> list[str]:
    """The metrics of these names, or without any all that every run has query by query."""
    common = [name for name in runs[0].values if all(name in run.values for run in runs)]
    names = common if metrics is None else [named(name).name for name in metrics]
    for name in names:
        for run in runs:
            if name not in run.values:
                hint = suggestion(name, run.values)
                raise UsageError(f"{run.name}: no {name} query by query{hint}; evaluate it again with --metrics {name}")
    return list(dict.fromkeys(names))


def _difference(pairing: Pairing, run: StoredEvaluation, metric: str) -> Difference:
    """One metric of the run against the baseline's, the p of Holm's adjustment still open."""
    paired = pair_metric(pairing, run, metric)
    counts = wins(paired.differences)
    return Difference(
        metric=metric,
        value=float(paired.ours.mean()),
        baseline_value=float(paired.theirs.mean()),
        difference=paired.interval.mean,
        low=paired.interval.low,
        high=paired.interval.high,
        permutation_p=paired.permutation_p,
        holm_p=paired.permutation_p,
        t_p=paired_t_p(paired.units),
        effect_size=effect_size(paired.differences),
        wins=counts.wins,
        ties=counts.ties,
        losses=counts.losses,
    )


def _most_changed(pairing: Pairing, run: StoredEvaluation, metric: str) -> list[ChangedQuery]:
    """The queries whose metric changed most, in the order of the baseline among equals."""
    ours, theirs = run.column(metric, pairing.keys), pairing.baseline.column(metric, pairing.keys)
    change: FloatArray = np.abs(differences(np.nan_to_num(ours), np.nan_to_num(theirs)))
    largest = sorted(np.flatnonzero(change).tolist(), key=lambda query: -float(change[query]))[:MOST_CHANGED]
    changed = []
    for query in largest:
        key = pairing.keys[query]
        record, before = run.queries[key], pairing.baseline.queries[key]
        changed.append(
            ChangedQuery(
                trace_id=key[0],
                node_id=key[1],
                query=record.query,
                value=float(ours[query]),
                baseline_value=float(theirs[query]),
                true_candidate=record.true_candidate,
                predicted_candidate=record.predicted_candidate,
                baseline_predicted_candidate=before.predicted_candidate,
            )
        )
    return changed
