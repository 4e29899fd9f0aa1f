"""The record of an evaluated ranking: its metrics, apart from the rules and counts behind them."""

import numpy as np

from ltr.evaluation.bootstrap import LEVEL, RESAMPLES, Interval
from ltr.evaluation.evaluate import Evaluation
from ltr.evaluation.metrics.ranking_measures import MRR, TOP1, TOP3
from ltr.evaluation.metrics.registry import on_catalogue
from ltr.results.breakdown import part_means
from ltr.results.evaluated_ranking import Evaluated
from ltr.storage.evaluation_records import (
    METRICS_FORMAT,
    METRICS_VERSION,
    BreakdownRecord,
    CountsRecord,
    FoldsRecord,
    IntervalRecord,
    MetricsRecord,
    PartRecord,
    RangeRecord,
    RulesRecord,
)


def metrics_record(evaluated: Evaluated) -> MetricsRecord:
    """All that is kept of the metrics."""
    evaluation, folds = evaluated.evaluation, evaluated.folds
    breakdown = evaluated.breakdown
    return MetricsRecord(
        format=METRICS_FORMAT,
        metrics={name: evaluation.means[name] for name in (TOP1, TOP3, MRR)} | evaluation.means,
        intervals={name: _interval(interval) for name, interval in evaluated.intervals.items()},
        rules=_rules(evaluated),
        counts=_counts(evaluated),
        baselines={name: baseline.means for name, baseline in evaluated.baselines.items()},
        best_baseline=evaluated.best_baseline,
        over_best_baseline=None if evaluated.over_best_baseline is None else _interval(evaluated.over_best_baseline),
        best_feature=evaluated.best_feature,
        over_best_feature=None if evaluated.over_best_feature is None else _interval(evaluated.over_best_feature),
        left_out=dict(evaluated.left_out),
        ranges=ranges(evaluated),
        folds=None
        if folds is None
        else FoldsRecord(dict(folds.pooled), [dict(means) for means in folds.each], folds.past),
        breakdown=BreakdownRecord(breakdown.field, part_means(evaluation, breakdown)) if breakdown else None,
        answers=_answers(evaluated),
        with_labels=None if evaluated.with_labels is None else evaluated.with_labels.means,
        none=evaluated.none,
        abstention=evaluated.abstention,
        error_bounds=evaluated.error_bounds,
        warnings=list(evaluated.warnings),
    )


def _interval(interval: Interval) -> IntervalRecord:
    return IntervalRecord(interval.mean, interval.low, interval.high)


def _rules(evaluated: Evaluated) -> RulesRecord:
    evaluation = evaluated.evaluation
    return RulesRecord(
        split=evaluated.split,
        ties=evaluation.rules.ties.value,
        gain=evaluation.rules.gain,
        preset=evaluated.preset,
        rel_threshold=evaluation.rules.rel_threshold,
        threshold=evaluation.rules.threshold,
        max_grade=evaluation.rules.max_grade,
        probability=evaluation.rules.probability.value,
        no_relevant=evaluation.rules.no_relevant.value,
        complete=evaluated.is_complete,
        past=evaluated.past(),
        interval_unit=evaluated.unit,
        interval_level=LEVEL,
        interval_resamples=RESAMPLES,
        metrics_version=METRICS_VERSION,
        fingerprint=evaluated.fingerprint(),
    )


def _answers(evaluated: Evaluated) -> BreakdownRecord | None:
    """Top-1 and MRR, also on the whole catalogue, of queries with known and with unseen right tools."""
    if evaluated.answers is None:
        return None
    shown = {name for plain in (TOP1, MRR) for name in (plain, on_catalogue(plain))}
    parts = part_means(evaluated.evaluation, evaluated.answers)
    means = [{name: mean for name, mean in part.metrics.items() if name in shown} for part in parts]
    return BreakdownRecord(
        evaluated.answers.field,
        [PartRecord(part.name, part.num_queries, of_part) for part, of_part in zip(parts, means, strict=True)],
    )


def _counts(evaluated: Evaluated) -> CountsRecord:
    evaluation, sizes, catalogue = evaluated.evaluation, evaluated.evaluation.num_candidates, evaluated.catalogue
    return CountsRecord(
        num_queries=evaluation.num_queries,
        num_groups=len(evaluation.rank),
        num_candidates=int(evaluation.num_candidates.sum()),
        num_tied=evaluation.num_tied,
        num_no_relevant=evaluation.num_no_relevant,
        num_one_candidate=evaluation.num_one_candidate,
        interval_num_units=next((interval.units for interval in evaluated.intervals.values()), 0),
        candidates_median=float(np.median(sizes)) if len(sizes) else 0.0,
        candidates_least=int(sizes.min()) if len(sizes) else 0,
        candidates_most=int(sizes.max(initial=0)),
        num_drawn=evaluated.num_drawn(),
        catalogue_tools=None if catalogue is None else catalogue.tools,
        catalogue_lacking=None if catalogue is None else catalogue.lacking,
        queries_of=fewer_queries(evaluation),
        **evaluated.counts,
    )


def fewer_queries(evaluation: Evaluation) -> dict[str, int]:
    """Of each metric that is not defined for every query that counts, for how many it is."""
    counts = {name: int(np.count_nonzero(~np.isnan(values))) for name, values in evaluation.values.items()}
    return {name: count for name, count in counts.items() if count < evaluation.num_queries}


def ranges(evaluated: Evaluated) -> dict[str, RangeRecord]:
    """The worst and the best value that ties leave room for, of each metric where the two differ."""
    if not evaluated.extremes:
        return {}
    worst, best = evaluated.extremes["worst"].means, evaluated.extremes["best"].means
    return {
        name: RangeRecord(worst[name], best[name])
        for name in evaluated.evaluation.values
        if name in worst and worst[name] != best[name]  # a metric of the whole catalogue has no worst order
    }
