"""What is written of an evaluation, and shown: metrics.json, the same as one flat record, and curves."""

from collections.abc import Collection, Iterator
from dataclasses import asdict, replace

import numpy as np

from ltr.evaluation.baselines import BEST_FEATURE, baseline_title
from ltr.evaluation.bootstrap import (
    LEVEL,
    RESAMPLES,
    Interval,
    bootstrap_difference,
    intervals,
    resampled_units,
)
from ltr.evaluation.evaluate import Evaluation
from ltr.evaluation.metrics.ranking_measures import MRR, TOP1, TOP3
from ltr.evaluation.metrics.registry import Curve, Drawn, is_served, named, on_catalogue
from ltr.results.breakdown import Breakdown, part_means
from ltr.results.evaluated import Evaluated
from ltr.results.fold_results import CrossValidation
from ltr.results.prompt import PROMPT
from ltr.storage.evaluation_records import (
    METRICS_FORMAT,
    METRICS_VERSION,
    BreakdownRecord,
    CountsRecord,
    FoldsRecord,
    IntervalRecord,
    MetricsRecord,
    RangeRecord,
    RulesRecord,
)
from ltr.storage.record_reader import Json

OVER_BEST = "over_best_baseline"  # how much greater Top-1 is than that of the best ranking without training
NAMED = "metric:"  # before a metric in the flat view whose name is that of a field there
FLAT_RULES = [
    "split",
    "ties",
    "gain",
    "preset",
    "rel_threshold",
    "threshold",
    "max_grade",
    "probability",
    "no_relevant",
]
FLAT_COUNTS = (
    *("num_groups", "num_candidates", "candidates_median", "candidates_least", "candidates_most", "num_drawn"),
    *("num_tied", "num_no_relevant", "num_none", "num_one_candidate"),
)


def finished(measured: Evaluated, seed: int) -> Evaluated:
    """Return the evaluation with its record.

    Intervals and the leads over two baselines resample traces where one holds several queries, else queries.
    """
    evaluation, traces = measured.evaluation, measured.traces
    clusters, ends = resampled_units(traces), dict[str, Interval]()
    for of_catalogue in (False, True):
        some = {name: values for name, values in evaluation.values.items() if is_served(name) == of_catalogue}
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
        over_best_feature=lead(BEST_FEATURE),
        left_out=dict(measured.left_out),
        ranges=_ranges(measured),
        breakdown=_parts(measured, measured.breakdown),
        answers=_parts(measured, measured.answers, (TOP1, MRR, on_catalogue(TOP1), on_catalogue(MRR))),
        with_labels=None if measured.with_labels is None else measured.with_labels.means,
        error_bounds=evaluation.error_bounds,
        warnings=list(_nothing_right(evaluation)),
    )
    return replace(measured, summary=record)


def with_folds(measured: Evaluated, folds: CrossValidation | None) -> Evaluated:
    """Return the evaluation beside what folds say."""
    if folds is None:
        return measured
    record = FoldsRecord(dict(folds.pooled), [dict(means) for means in folds.each], folds.past)
    return replace(measured.with_record(folds=record), folds=folds)


def _nothing_right(evaluation: Evaluation) -> Iterator[str]:
    """Warn where no query has a right candidate, so that the metrics say nothing."""
    if evaluation.num_no_relevant == len(evaluation.rank):
        least = f"{evaluation.rules.rel_threshold:g}"
        yield f"no query has a candidate with a label of {least} or more, so none is right; lower --rel-threshold"


def leads(record: MetricsRecord) -> dict[str, IntervalRecord]:
    """Return how much greater Top-1 is than that of the best baseline, first, and of the best single column."""
    by_name = {record.best_baseline: record.over_best_baseline, BEST_FEATURE: record.over_best_feature}
    return {name: lead for name, lead in by_name.items() if name is not None and lead is not None}


def outdone_warnings(record: MetricsRecord) -> Iterator[str]:
    """Warn of a baseline that puts the right candidate first more often than the model, beyond chance."""
    for name, lead in leads(record).items():
        if lead.high is not None and lead.high < 0:
            title = baseline_title(name, record.best_feature)
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
        interval_level=LEVEL,
        interval_resamples=RESAMPLES,
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


def flat(record: MetricsRecord) -> dict[str, Json]:
    """The record as one flat object, the headline first: what `--format json`, tab-separated lines and DVC show.

    A metric whose name is that of a field is `metric:NAME`, so that neither overwrites the other.
    """
    rules, counts = record.rules, record.counts
    fields: dict[str, Json] = {name: getattr(rules, name) for name in FLAT_RULES}
    fields |= {} if rules.complete is None else {"complete": rules.complete}
    fields |= {} if rules.past is None else {"past": rules.past}
    fields |= {f"with_labels.{name}": mean for name, mean in (record.with_labels or {}).items()}
    fields |= {name: getattr(counts, name) for name in FLAT_COUNTS}
    fields |= {f"{name}.num_queries": count for name, count in counts.queries_of.items()}
    fields |= {f"{name}.error_bound": bound for name, bound in record.error_bounds.items()}
    fields |= {f"worst.{name}": bounds.worst for name, bounds in record.ranges.items()}
    fields |= {f"best.{name}": bounds.best for name, bounds in record.ranges.items()}
    if record.folds is not None:
        fields |= {f"folds.{name}": mean for name, mean in record.folds.pooled.items()}
        fields |= {} if record.folds.past is None else {"folds.past": record.folds.past}
        for number, means in enumerate(record.folds.each, start=1):
            fields |= {f"folds.{number}.{name}": mean for name, mean in means.items()}
    optional = ("num_missing", "num_ignored", "catalogue_tools", "catalogue_lacking")
    fields |= {name: count for name in optional if (count := getattr(counts, name)) is not None}
    for name, interval in record.intervals.items():
        fields |= {f"{name}.low": interval.low, f"{name}.high": interval.high}
    fields |= {"interval_unit": rules.interval_unit, "interval_num_units": counts.interval_num_units}
    fields |= {"interval_level": rules.interval_level, "interval_resamples": rules.interval_resamples}
    fields |= {"metrics_version": rules.metrics_version, "fingerprint": rules.fingerprint}
    fields |= _flat_breakdown(record.breakdown)
    for part in record.answers.parts if record.answers else ():
        fields |= {f"{part.name}.num_queries": part.num_queries}
        fields |= {f"{part.name}.{name}": mean for name, mean in part.metrics.items() if mean is not None}
    if record.none is not None:
        fields |= {f"none.{name}": value for name, value in asdict(record.none).items()}
    if record.abstention is not None:
        fields |= {f"abstention.{name}": value for name, value in asdict(record.abstention).items()}
    if record.best_feature is not None:
        fields |= {"best_feature": record.best_feature.name, "best_feature.sign": record.best_feature.sign}
    if record.best_baseline is not None:
        fields |= {"best_baseline": record.best_baseline}
    for name, over in ((OVER_BEST, record.over_best_baseline), ("over_best_feature", record.over_best_feature)):
        fields |= {} if over is None else {name: over.mean, f"{name}.low": over.low, f"{name}.high": over.high}
    fields |= {f"left_out.{name}": reason for name, reason in record.left_out.items()}
    fields |= {f"{name}.{metric}": mean for name, means in record.baselines.items() for metric, mean in means.items()}
    taken = {"num_queries", *fields}
    metrics = {f"{NAMED}{name}" if name in taken else name: mean for name, mean in record.metrics.items()}
    headline = {name: metrics[name] for name in (TOP1, TOP3, MRR)}
    return {**headline, "num_queries": counts.num_queries, **metrics, **fields}


def _flat_breakdown(breakdown: BreakdownRecord | None) -> dict[str, Json]:
    """The means of each part as FIELD=VALUE.METRIC."""
    if breakdown is None:
        return {}
    parts = {
        f"{breakdown.field}={part.name}": {"num_queries": part.num_queries, **part.metrics} for part in breakdown.parts
    }
    return {"group_by": breakdown.field} | {
        f"{part}.{name}": mean for part, means in parts.items() for name, mean in means.items()
    }


def curves(evaluated: Evaluated) -> dict[str, Curve]:
    """Return the metrics that are no number, each as named columns; the first choice's reliability in any case."""
    drawn, curves = named("reliability_first"), dict(evaluated.evaluation.curves)
    if isinstance(drawn, Drawn):
        curves[drawn.name] = drawn.of(evaluated.candidates())
    if evaluated.prompt and evaluated.prompt.queries:
        curves[PROMPT] = evaluated.prompt.curve()
    for told in evaluated.of_steps.values():
        curves |= told.curves()
    return curves
