"""What a measured ranking says query by query, and in one flat object of metrics, rules and counts."""

from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np

from ltr.arrays import LARGEST, BoolArray, FloatArray, IntArray
from ltr.data.fingerprint import fingerprint
from ltr.evaluation.bootstrap import LEVEL, RESAMPLES
from ltr.evaluation.evaluate import Evaluation
from ltr.evaluation.metrics.probabilities import candidate_probabilities
from ltr.evaluation.metrics.ranked import MRR, TOP1, TOP3
from ltr.evaluation.metrics.registry import Curve, Drawn, named
from ltr.evaluation.ranking import order
from ltr.results.breakdown import Part, part_means
from ltr.results.evaluated_ranking import EvaluatedRanking
from ltr.storage.model_file import Router, contributions
from ltr.training.objective import softmax

LISTED = 3
OVER_BEST = "over_best_feature"  # how much greater Top-1 is than the best single feature's
METRICS_VERSION = 1  # rises when a metric of the same name becomes another number; such results are not compared


class Query(msgspec.Struct):
    """One query: what was right, what was ranked first, where the right one stood."""

    trace_id: str
    node_id: str
    query: str
    true_candidate: str | None
    predicted_candidate: str | None  # None: nothing was ranked
    top3_candidates: list[str]
    top3_scores: list[float]
    rank: int | None
    is_top1_correct: bool
    is_top3_correct: bool
    top1: float | None
    top3: float | None
    reciprocal_rank: float | None
    tied: int
    num_candidates: int
    num_positives: int
    probability: float | None


class Explained(Query):
    """With what each feature adds to the score of the first and of the right candidate."""

    contributions: dict[str, dict[str, float] | None]


def lines(
    measured: EvaluatedRanking, router: Router | None = None, *, explain: bool = False
) -> Iterator[dict[str, Any]]:
    """Each record as it is kept: with the metrics that were asked for after the fixed keys, in the order asked."""
    asked = [name for name in measured.evaluation.values if name not in (TOP1, TOP3, MRR)]
    for group, record in enumerate(queries(measured, router, explain=explain)):
        line = msgspec.structs.asdict(record)
        added = {"contributions": line.pop("contributions")} if explain and router else {}
        yield line | {name: _value(measured.evaluation, name, group) for name in asked} | added


def queries(measured: EvaluatedRanking, router: Router | None = None, *, explain: bool = False) -> Iterator[Query]:
    """One record a query, in the order of the groups."""
    listed = order(measured.ranking, measured.evaluation.rules.ties)
    true_rows = best_relevant(measured, listed)
    probabilities = softmax(np.maximum(measured.ranking.scores, -LARGEST), measured.groups.offsets)
    starts = measured.groups.offsets.tolist()
    for group in range(len(starts) - 1):
        rows = listed[starts[group] : starts[group + 1]]
        record = _query(measured, group, rows, int(true_rows[group]), probabilities=probabilities)
        if explain and router:
            sides = {"predicted": int(rows[0]), "true": int(true_rows[group])}
            added = {side: contributions(router, measured.phi, row) for side, row in sides.items()}
            record = Explained(**msgspec.structs.asdict(record), contributions=added)
        yield record


def best_relevant(measured: EvaluatedRanking, listed: IntArray) -> IntArray:
    """The row of each query's first listed relevant candidate; -1 without one."""
    groups, found = len(measured.groups.offsets) - 1, np.full(len(measured.groups.offsets) - 1, -1, dtype=np.int64)
    is_relevant: BoolArray = measured.groups.labels[listed] >= measured.evaluation.rules.rel_threshold
    owner = np.repeat(np.arange(groups), np.diff(measured.groups.offsets))[is_relevant]
    first, where = np.unique(owner, return_index=True)
    found[first] = listed[is_relevant][where]
    return found


def _query(
    measured: EvaluatedRanking, group: int, rows: IntArray, true_row: int, *, probabilities: FloatArray
) -> Query:
    candidates, result = measured.groups.candidates, measured.evaluation
    first = rows[:LISTED][~np.isneginf(measured.ranking.scores[rows[:LISTED]])]
    names = [candidates.name_texts[code] for code in candidates.names[first].tolist()]
    is_placed = true_row >= 0 and not np.isneginf(measured.ranking.scores[true_row])
    rank = int(result.rank[group])
    return Query(
        trace_id=candidates.trace_ids[candidates.traces[group]],
        node_id=candidates.node_ids[group],
        query=candidates.query_texts[candidates.queries[group]],
        true_candidate=None if true_row < 0 else candidates.name_texts[candidates.names[true_row]],
        predicted_candidate=names[0] if names else None,
        top3_candidates=names,
        top3_scores=measured.ranking.scores[first].tolist(),
        rank=rank or None,
        is_top1_correct=rank == 1,
        is_top3_correct=1 <= rank <= LISTED,
        top1=_value(result, TOP1, group),
        top3=_value(result, TOP3, group),
        reciprocal_rank=_value(result, MRR, group),
        tied=int(result.tied[group]),
        num_candidates=int(result.num_candidates[group]),
        num_positives=int(result.num_positives[group]),
        probability=float(probabilities[true_row]) if is_placed else None,
    )


def _value(result: Evaluation, name: str, group: int) -> float | None:
    value = float(result.values[name][group])
    return None if np.isnan(value) else value


def metrics(measured: EvaluatedRanking) -> dict[str, Any]:
    """The metrics as one flat object: the headline first, then every rule and count that made the numbers."""
    result = measured.evaluation
    headline = {name: result.means[name] for name in (TOP1, TOP3, MRR)}
    flat: dict[str, Any] = {**headline, "num_queries": result.num_queries, **result.means}
    flat |= _rules_and_counts(measured)
    flat |= {f"{name}.num_queries": count for name, count in fewer_queries(result).items()}
    for name, (worst, best) in ranges(measured).items():
        flat |= {f"worst.{name}": worst, f"best.{name}": best}
    if measured.folds is not None:
        flat |= {f"folds.{metric}": mean for metric, mean in measured.folds.pooled.means.items()}
        for place, fold in enumerate(measured.folds.folds, start=1):
            flat |= {f"folds.{place}.{metric}": mean for metric, mean in fold.means.items()}
    flat |= {**measured.counts, **_uncertainty(measured)}
    flat |= {"metrics_version": METRICS_VERSION, "truth": fingerprint(measured.groups)}
    flat |= _by_part(measured)
    if measured.best:
        flat |= {"best_feature": measured.best.name, "best_feature.sign": measured.best.sign}
    if measured.gain:
        over = measured.gain
        flat |= {OVER_BEST: over.mean, f"{OVER_BEST}.low": over.low, f"{OVER_BEST}.high": over.high}
    for name, baseline in measured.baselines.items():
        flat |= {f"{name}.{metric}": mean for metric, mean in baseline.means.items()}
    return flat


def _rules_and_counts(measured: EvaluatedRanking) -> dict[str, Any]:
    """What made the numbers, and how many queries and candidates they are of."""
    result = measured.evaluation
    return {
        "split": measured.split,
        "ties": result.rules.ties.value,
        "gain": result.rules.gain,
        "preset": measured.preset,
        "rel_threshold": result.rules.rel_threshold,
        "threshold": result.rules.threshold,
        "max_grade": result.rules.max_grade,
        "no_relevant": result.rules.no_relevant.value,
        "num_groups": len(result.rank),
        "num_candidates": int(result.num_candidates.sum()),
        "num_tied": result.num_tied,
        "num_no_relevant": result.num_no_relevant,
        "num_one_candidate": result.num_one_candidate,
    }


def parts(measured: EvaluatedRanking) -> list[Part]:
    """The means of each value of the field that the queries were sorted by, if they were."""
    return part_means(measured.evaluation, measured.breakdown) if measured.breakdown else []


def _uncertainty(measured: EvaluatedRanking) -> dict[str, Any]:
    """Each mean's 95 % bootstrap interval as NAME.low and NAME.high, and what was resampled how often."""
    flat: dict[str, Any] = {}
    for name, interval in measured.intervals.items():
        flat |= {f"{name}.low": interval.low, f"{name}.high": interval.high}
    units = [interval.units for interval in measured.intervals.values()]
    return flat | {
        "interval_unit": measured.unit,
        "interval_num_units": units[0] if units else 0,
        "interval_level": LEVEL,
        "interval_resamples": RESAMPLES,
    }


def _by_part(measured: EvaluatedRanking) -> dict[str, Any]:
    """The means of each part as FIELD=VALUE.METRIC."""
    if measured.breakdown is None:
        return {}
    flat: dict[str, Any] = {"group_by": measured.breakdown.field}
    for part in parts(measured):
        means = {"num_queries": part.num_queries, **part.means}
        flat |= {f"{measured.breakdown.field}={part.name}.{metric}": mean for metric, mean in means.items()}
    return flat


def fewer_queries(result: Evaluation) -> dict[str, int]:
    """Of each metric that is not defined for every query that counts, for how many it is."""
    counts = {name: int(np.count_nonzero(~np.isnan(values))) for name, values in result.values.items()}
    return {name: count for name, count in counts.items() if count < result.num_queries}


def ranges(measured: EvaluatedRanking) -> dict[str, tuple[float | None, float | None]]:
    """The worst and the best value that ties leave room for, of each metric where the two differ."""
    if not measured.extremes:
        return {}
    worst, best = measured.extremes["worst"].means, measured.extremes["best"].means
    return {name: (worst[name], best[name]) for name in measured.evaluation.values if worst[name] != best[name]}


def curves(measured: EvaluatedRanking) -> dict[str, Curve]:
    """The metrics that are no number, each as named columns; metrics.json is flat and keeps to numbers."""
    return measured.evaluation.curves


def reliability(measured: EvaluatedRanking) -> dict[str, Curve]:
    """The reliability curve by its name, whether it was asked for or not."""
    drawn = named("reliability")
    if not isinstance(drawn, Drawn):
        return {}
    result = measured.evaluation
    counted = ~np.isnan(result.values[TOP1])
    right = measured.groups.labels >= result.rules.rel_threshold
    return {drawn.name: drawn.of(candidate_probabilities(measured.ranking, right, counted, result.rules.threshold))}
