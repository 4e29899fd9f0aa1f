"""Metrics as tables: beside their baselines, and for each value of a field."""

from dataclasses import replace

from ltr.evaluation.baselines import BASELINES, ORACLE, baseline_title
from ltr.evaluation.metrics.registry import is_served, on_catalogue
from ltr.reporting.cell_formats import COUNT, INTERVAL, SHARE, Bounds
from ltr.reporting.metric_titles import TITLES, WITHOUT_TRAINING, title_of
from ltr.reporting.table import Column, Table
from ltr.storage.evaluation_records import BreakdownRecord, MetricsRecord


def interval_of(record: MetricsRecord, metric: str) -> Bounds:
    """The 95 % interval of a metric."""
    interval = record.intervals.get(metric)
    return Bounds(interval.low, interval.high) if interval else Bounds(None, None)


def metrics_table(record: MetricsRecord, own: str) -> Table:
    """The metrics of a ranking beside those of its baselines; own: what was ranked by."""
    baselines = {name: record.baselines[name] for name in BASELINES if name in record.baselines}
    columns = [Column("metric", "metric"), Column("value", own, SHARE), Column("interval", "95 % interval", INTERVAL)]
    has_catalogue = record.counts.catalogue_tools is not None
    if has_catalogue:
        title = f"all {record.counts.catalogue_tools:,} tools"
        columns.append(Column("catalogue", title, SHARE))
        columns.append(Column("catalogue_interval", "95 % interval", INTERVAL))
    for name in baselines:
        title = baseline_title(name, record.best_feature)
        columns.append(Column(name, title, SHARE, brief=BASELINES[name].partition(",")[0]))
    rows = tuple(
        (
            title_of(name),
            mean,
            interval_of(record, name),
            *((record.metrics.get(on_catalogue(name)), interval_of(record, on_catalogue(name))) * has_catalogue),
            *(means.get(name) for means in baselines.values()),
        )
        for name, mean in record.metrics.items()
        if not is_served(name)
    )
    return Table(tuple(columns), rows, "Each metric with its 95 % interval", corner="")


def headline_table(record: MetricsRecord, own: str) -> Table:
    """metrics_table with the baselines that need no training, without the interval on the catalogue.

    An oracle that is not right in every list stays.
    """
    table, oracle = metrics_table(record, own), record.baselines.get(ORACLE, {})
    more = {ORACLE} if any(mean != 1 for mean in oracle.values()) else set[str]()
    left_out = {"catalogue_interval", *BASELINES} - {*WITHOUT_TRAINING, record.best_baseline, *more}
    shown = [place for place, column in enumerate(table.columns) if column.key not in left_out]
    rows = tuple(tuple(row[place] for place in shown) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in shown), rows=rows)


def parts_table(breakdown: BreakdownRecord, most: int) -> Table:
    """The headline of each value of the field, those with the most queries first, so many of them."""
    columns = (
        Column(breakdown.field, breakdown.field),
        Column("num_queries", "queries", COUNT),
        *(Column(name, title, SHARE) for name, title in TITLES.items()),
    )
    largest = sorted(breakdown.parts, key=lambda part: -part.num_queries)[:most]
    rows = tuple((part.name or None, part.num_queries, *map(part.metrics.get, TITLES)) for part in largest)
    return Table(columns, rows, f"For each {breakdown.field}")
