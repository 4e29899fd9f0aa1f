"""Metrics as tables: beside their baselines, and for each value of a field."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ltr.evaluation.metrics.ranked import MRR, TOP1, TOP3
from ltr.reporting.numbers import COUNT, INTERVAL, SHARE, Bounds
from ltr.reporting.table import Column, Table
from ltr.storage.records import PartRecord

TITLES = {TOP1: "top-1", TOP3: "top-3", MRR: "MRR"}
BASELINES = {
    "random": "random order",
    "best_feature": "best feature",
    "untrained": "untrained, w = 1",
    "oracle": "oracle",
}


@dataclass(frozen=True, slots=True)
class MetricRow:
    """A metric, its interval, and the same of the baselines by their names."""

    name: str
    value: float | None
    interval: Bounds
    baselines: Mapping[str, float | None]


def title_of(metric: str) -> str:
    """The short name of a metric, where it has one.

    >>> title_of("top1_accuracy"), title_of("ndcg@5")
    ('top-1', 'ndcg@5')
    """
    return TITLES.get(metric, metric)


def metrics_table(rows: Sequence[MetricRow], own: str, best_feature: str) -> Table:
    """The metrics of a ranking beside those of its baselines; own: what was ranked by."""
    names = [name for name in BASELINES if any(name in row.baselines for row in rows)]
    columns = [Column("metric", "metric"), Column("value", own, SHARE), Column("interval", "95 % interval", INTERVAL)]
    for name in names:
        title = f"{BASELINES[name]}: {best_feature}" if name == "best_feature" else BASELINES[name]
        columns.append(Column(name, title, SHARE, brief=BASELINES[name].partition(",")[0]))
    return Table(
        tuple(columns),
        tuple((title_of(row.name), row.value, row.interval, *map(row.baselines.get, names)) for row in rows),
        "Each metric with its 95 % interval",
        corner="",
    )


def parts_table(field: str, parts: Iterable[PartRecord], most: int) -> Table:
    """The headline of each value of the field, those with the most queries first, so many of them."""
    columns = (
        Column(field, field),
        Column("num_queries", "queries", COUNT),
        *(Column(name, title, SHARE) for name, title in TITLES.items()),
    )
    largest = sorted(parts, key=lambda part: -part.num_queries)[:most]
    rows = tuple((part.name or None, part.num_queries, *map(part.metrics.get, TITLES)) for part in largest)
    return Table(columns, rows, f"For each {field}")
