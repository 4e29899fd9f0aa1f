"""An evaluation as one flat record, the headline first: what `--format json`, tab-separated lines and DVC show."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any

from ltr.evaluation import MRR, TOP1, TOP3
from ltr.records.metrics import MetricsRecord, ToolRecord
from ltr.records.run import Json

OVER_BEST = "over_best_baseline"  # how much greater Top-1 is than that of the best ranking without training
NAMED = "metric:"  # before a metric in the flat view whose name is that of a field there
RULES = ["split", "ties", "gain", "preset", "rel_threshold", "threshold", "max_grade", "probability", "no_relevant"]
COUNTS = [
    *("num_groups", "num_candidates", "candidates_median", "candidates_least", "candidates_most", "num_drawn"),
    *("num_tied", "num_no_relevant", "num_none", "num_one_candidate"),
]
OPTIONAL_COUNTS = ("num_missing", "num_ignored", "catalogue_tools", "catalogue_lacking")


def flat(record: MetricsRecord) -> dict[str, Json]:
    """Return the record as one flat object.

    A metric whose name is that of a field is `metric:NAME`, so that neither overwrites the other.
    """
    rules, counts, folds = record.rules, record.counts, record.folds
    fields: dict[str, Json] = {name: getattr(rules, name) for name in RULES}
    fields |= {name: value for name in ("complete", "past") if (value := getattr(rules, name)) is not None}
    fields |= _below("with_labels", record.with_labels or {})
    fields |= {name: getattr(counts, name) for name in COUNTS}
    fields |= {f"{name}.num_queries": count for name, count in counts.queries_of.items()}
    fields |= {f"{name}.error_bound": bound for name, bound in record.error_bounds.items()}
    fields |= {f"worst.{name}": bounds.worst for name, bounds in record.ranges.items()}
    fields |= {f"best.{name}": bounds.best for name, bounds in record.ranges.items()}
    if folds is not None:
        fields |= _below("folds", folds.pooled) | ({} if folds.past is None else {"folds.past": folds.past})
        for number, means in enumerate(folds.each, start=1):
            fields |= _below(f"folds.{number}", means)
    fields |= {name: count for name in OPTIONAL_COUNTS if (count := getattr(counts, name)) is not None}
    for name, interval in record.intervals.items():
        fields |= _below(name, {"low": interval.low, "high": interval.high})
    fields |= {"interval_unit": rules.interval_unit, "interval_num_units": counts.interval_num_units}
    fields |= {"interval_level": rules.interval_level, "interval_resamples": rules.interval_resamples}
    fields |= {"metrics_version": rules.metrics_version, "fingerprint": rules.fingerprint}
    if (parts := record.breakdown) is not None:
        fields |= {"group_by": parts.field}
        for part in parts.parts:
            fields |= _below(f"{parts.field}={part.name}", {"num_queries": part.num_queries, **part.metrics})
    for part in record.answers.parts if record.answers else ():
        measured = {name: mean for name, mean in part.metrics.items() if mean is not None}
        fields |= _below(part.name, {"num_queries": part.num_queries, **measured})
    fields |= _below("none", asdict(record.none)) if record.none else {}
    fields |= _below("abstention", asdict(record.abstention)) if record.abstention else {}
    if record.best_feature is not None:
        fields |= {"best_feature": record.best_feature.name, "best_feature.sign": record.best_feature.sign}
    fields |= {} if record.best_baseline is None else {"best_baseline": record.best_baseline}
    for name, over in ((OVER_BEST, record.over_best_baseline), ("over_best_feature", record.over_best_feature)):
        fields |= {} if over is None else {name: over.mean, f"{name}.low": over.low, f"{name}.high": over.high}
    fields |= _below("left_out", record.left_out)
    for name, means in record.baselines.items():
        fields |= _below(name, means)
    taken = {"num_queries", *fields}
    metrics = {f"{NAMED}{name}" if name in taken else name: mean for name, mean in record.metrics.items()}
    headline = {name: metrics[name] for name in (TOP1, TOP3, MRR)}
    return {**headline, "num_queries": counts.num_queries, **metrics, **fields}


def _below(name: str, values: Mapping[str, Any]) -> dict[str, Json]:
    return {f"{name}.{key}": value for key, value in values.items()}


def flat_tools(tools: Iterable[ToolRecord]) -> dict[str, int]:
    """Return the records as fields of the flat view: by_tool=NAME.right, and by_tool=NAME.mistaken_for=OTHER.

    >>> from ltr.records.metrics import MistakeRecord
    >>> flat_tools([ToolRecord("a", 3, 1, 1, 0, [MistakeRecord("b", 2, "q")])])["by_tool=a.mistaken_for=b"]
    2
    """
    fields: dict[str, int] = {}
    for tool in tools:
        name = f"by_tool={tool.tool}"
        fields |= {f"{name}.{key}": getattr(tool, key) for key in ("right", "found", "first", "wrongly_first")}
        fields |= {f"{name}.mistaken_for={mistake.tool}": mistake.count for mistake in tool.mistaken_for}
    return fields
