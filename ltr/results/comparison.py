"""Runs side by side, query by query: how large a difference is, how sure, and where it comes from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import FloatArray
from ltr.errors import UsageError, suggestion
from ltr.evaluation.bootstrap import RESAMPLES
from ltr.evaluation.metrics.ranked import MRR
from ltr.evaluation.metrics.registry import named
from ltr.evaluation.significance import PERMUTATIONS, differences, effect_size, holm, paired_t_p, wins
from ltr.files.reading import AnyPath
from ltr.results.pairing import Pairing, num_units, paired, pairing, refuse_unlike
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
    against = read_stored_evaluation(runs[0] if baseline is None else baseline)
    others = [read_stored_evaluation(run) for run in (runs[1:] if baseline is None else runs)]
    others = list({other.name: other for other in others if baseline is None or other.name != against.name}.values())
    if not others:
        raise UsageError("nothing to compare: name at least two runs")
    for other in others:
        refuse_unlike(against, other)
    names = common_metrics([against, *others], metrics)
    pairs = pairing(against, names[0], seed)
    compared = _adjusted([_compared(pairs, other, names) for other in others])
    return Comparison(
        baseline=against.name,
        num_queries=int(pairs.counted.sum()),
        unit="query" if pairs.clusters is None else "trace",
        num_units=num_units(pairs),
        family=sum(len(each.differences) for each in compared),
        permutations=PERMUTATIONS,
        resamples=RESAMPLES,
        changed_by=_changed_by(names),
        runs=compared,
    )


def common_metrics(runs: Sequence[StoredEvaluation], asked: Sequence[str] | None) -> list[str]:
    """The metrics asked for, or those that every run has query by query."""
    common = [name for name in runs[0].values if all(name in run.values for run in runs)]
    wanted = common if asked is None else [named(name).name for name in asked]
    for name in wanted:
        for run in runs:
            if name not in run.values:
                hint = suggestion(name, run.values)
                raise UsageError(f"{run.name}: no {name} query by query{hint}; evaluate it again with --metrics {name}")
    return list(dict.fromkeys(wanted))


def _compared(pairs: Pairing, run: StoredEvaluation, names: Sequence[str]) -> Compared:
    found = [_difference(pairs, run, name) for name in names]
    return Compared(run.name, found, _changed(pairs, run, _changed_by(names)))


def _difference(pairs: Pairing, run: StoredEvaluation, metric: str) -> Difference:
    found = paired(pairs, run, metric)
    score = wins(found.differences)
    return Difference(
        metric=metric,
        value=float(found.ours.mean()),
        baseline_value=float(found.theirs.mean()),
        difference=found.interval.mean,
        low=found.interval.low,
        high=found.interval.high,
        permutation_p=found.permutation_p,
        holm_p=found.permutation_p,
        t_p=paired_t_p(found.units),
        effect_size=effect_size(found.differences),
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


def _changed(pairs: Pairing, run: StoredEvaluation, metric: str) -> list[Changed]:
    """The queries whose metric changed most, in the order of the baseline among equals."""
    ours, theirs = (each.column(metric, pairs.keys) for each in (run, pairs.baseline))
    moved: FloatArray = np.abs(differences(np.nan_to_num(ours), np.nan_to_num(theirs)))
    most = sorted(np.flatnonzero(moved).tolist(), key=lambda place: -float(moved[place]))[:MOST_CHANGED]
    changed = []
    for place in most:
        key = pairs.keys[place]
        now, before = run.queries[key], pairs.baseline.queries[key]
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
