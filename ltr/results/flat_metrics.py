"""The metrics of a run as one flat record, for TSV and DVC."""

from dataclasses import asdict

from ltr.evaluation.metrics.ranking_measures import MRR, TOP1, TOP3
from ltr.storage.evaluation_records import BreakdownRecord, MetricsRecord
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
