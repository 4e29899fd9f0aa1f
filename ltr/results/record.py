"""What is written of an evaluation, and shown: metrics.json, the same as one flat record, and curves."""

from collections.abc import Collection, Iterator
from dataclasses import replace

import numpy as np

from ltr.evaluation import (
    CATALOGUE,
    MRR,
    TOP1,
    TOP3,
    Baseline,
    Evaluation,
    Interval,
    bootstrap_difference,
    intervals,
    resampled_units,
)
from ltr.records.metrics import (
    METRICS_FORMAT,
    METRICS_VERSION,
    BreakdownRecord,
    CountsRecord,
    IntervalRecord,
    MetricsRecord,
    RangeRecord,
    RulesRecord,
)
from ltr.results.breakdown import Breakdown, part_means
from ltr.results.evaluated import Evaluated


def finished(measured: Evaluated, seed: int) -> Evaluated:
    """Return the evaluation with its record.

    Intervals and the leads over two baselines resample traces where one holds several queries, else queries.
    """
    evaluation, traces = measured.evaluation, measured.traces
    clusters, ends = resampled_units(traces), dict[str, Interval]()
    for of_catalogue in (False, True):
        some = {name: values for name, values in evaluation.values.items() if name.endswith(CATALOGUE) == of_catalogue}
        ends |= intervals(replace(evaluation, values=some), clusters, seed=seed)
    ours, counted = evaluation.values[TOP1], ~np.isnan(evaluation.values[TOP1])

    def lead(name: str | None) -> IntervalRecord | None:
        if name is None or name not in measured.baselines or not counted.any():
            return None
        theirs, rng = measured.baselines[name].values[TOP1], np.random.default_rng(seed)
        return _interval(bootstrap_difference(ours[counted], theirs[counted], rng, clusters=traces[counted]))

    record = MetricsRecord(
        format=METRICS_FORMAT,
        metrics={name: evaluation.means[name] for name in (TOP1, TOP3, MRR)} | evaluation.means,
        intervals={name: _interval(interval) for name, interval in ends.items()},
        rules=_rules(measured, unit="query" if clusters is None else "trace"),
        counts=_counts(measured, units=next((interval.units for interval in ends.values()), 0)),
        baselines={name: baseline.means for name, baseline in measured.baselines.items()},
        best_baseline=measured.best_baseline,
        over_best_baseline=lead(measured.best_baseline),
        best_feature=measured.best_feature,
        over_best_feature=lead(Baseline.BEST_FEATURE),
        left_out=dict(measured.left_out),
        ranges=_ranges(measured),
        breakdown=_parts(measured, measured.breakdown),
        answers=_parts(measured, measured.answers, (TOP1, MRR, TOP1 + CATALOGUE, MRR + CATALOGUE)),
        with_labels=None if measured.with_labels is None else measured.with_labels.means,
        error_bounds=evaluation.error_bounds,
        warnings=list(_nothing_right(evaluation)),
    )
    return replace(measured, summary=record)


def _nothing_right(evaluation: Evaluation) -> Iterator[str]:
    """Warn where no query has a right candidate, so that the metrics say nothing."""
    if evaluation.num_no_relevant == len(evaluation.rank):
        least = f"{evaluation.rules.rel_threshold:g}"
        yield f"no query has a candidate with a label of {least} or more, so none is right; lower --rel-threshold"


def outdone_warnings(record: MetricsRecord) -> Iterator[str]:
    """Warn of a baseline that puts the right candidate first more often than the model, beyond chance."""
    for name, lead in record.leads.items():
        if lead.high is not None and lead.high < 0:
            title = Baseline.title(name, record.best_feature)
            yield f"{title} alone is better than this model: top-1 over it is {lead.mean:+.3f}"


def _parts(
    measured: Evaluated, breakdown: Breakdown | None, shown: Collection[str] | None = None
) -> BreakdownRecord | None:
    if breakdown is None:
        return None
    parts = part_means(measured.evaluation, breakdown)
    if shown is not None:
        for part in parts:
            part.metrics = {name: mean for name, mean in part.metrics.items() if name in shown}
    return BreakdownRecord(breakdown.field, parts)


def _interval(of: Interval) -> IntervalRecord:
    return IntervalRecord(of.mean, of.low, of.high)


def _rules(evaluated: Evaluated, unit: str) -> RulesRecord:
    rules = evaluated.evaluation.rules
    return RulesRecord(
        split=evaluated.split,
        ties=rules.ties.value,
        gain=rules.gain,
        preset=evaluated.preset,
        rel_threshold=rules.rel_threshold,
        threshold=rules.threshold,
        max_grade=rules.max_grade,
        probability=rules.probability.value,
        no_relevant=rules.no_relevant.value,
        past=evaluated.past,
        interval_unit=unit,
        interval_level=Interval.LEVEL,
        interval_resamples=Interval.RESAMPLES,
        metrics_version=METRICS_VERSION,
        fingerprint=evaluated.fingerprint,
    )


def _counts(evaluated: Evaluated, units: int) -> CountsRecord:
    evaluation, sizes, catalogue = evaluated.evaluation, evaluated.evaluation.num_candidates, evaluated.catalogue
    counted = {name: of.number for name, of in evaluation.sums.items()}
    return CountsRecord(
        num_queries=evaluation.num_queries,
        num_groups=len(sizes),
        num_candidates=int(sizes.sum()),
        num_tied=evaluation.num_tied,
        num_no_relevant=evaluation.num_no_relevant,
        num_one_candidate=evaluation.num_one_candidate,
        interval_num_units=units,
        candidates_median=float(np.median(sizes)) if len(sizes) else 0.0,
        candidates_least=int(sizes.min()) if len(sizes) else 0,
        candidates_most=int(sizes.max(initial=0)),
        num_drawn=evaluated.num_drawn,
        catalogue_tools=None if catalogue is None else catalogue.tools,
        catalogue_lacking=None if catalogue is None else catalogue.lacking,
        queries_of={name: number for name, number in counted.items() if number < evaluation.num_queries},
        **evaluated.counts,
    )


def _ranges(evaluated: Evaluated) -> dict[str, RangeRecord]:
    """Return the worst and the best value that ties leave room for, of each metric where the two differ."""
    if not evaluated.extremes:
        return {}
    worst, best = evaluated.extremes["worst"].means, evaluated.extremes["best"].means
    return {
        name: RangeRecord(worst[name], best[name])
        for name in evaluated.evaluation.values
        if name in worst and worst[name] != best[name]  # a metric of the whole catalogue has no worst order
    }
