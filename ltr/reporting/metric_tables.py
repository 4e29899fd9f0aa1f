"""Metrics as tables: beside their baselines, for each value of a field, and of two runs with their differences."""

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from ltr.evaluation.baselines import BASELINES, ORACLE, baseline_title
from ltr.evaluation.metrics.registry import is_served, on_catalogue
from ltr.reporting.metric_titles import TITLES, WITHOUT_TRAINING, title_of
from ltr.reporting.table import Bounds, Column, Kind, Medium, Table, table_of
from ltr.storage.evaluation_records import BreakdownRecord, MetricsRecord, PartRecord

if TYPE_CHECKING:
    from ltr.results.comparison import Comparison, RunComparison


def interval_of(record: MetricsRecord, metric: str) -> Bounds:
    """The 95 % interval of a metric."""
    interval = record.intervals.get(metric)
    return Bounds(interval.low, interval.high) if interval else Bounds(None, None)


def metrics_table(record: MetricsRecord, own: str) -> Table:
    """The metrics of a ranking beside those of its baselines; own: what was ranked by."""
    return _metrics(record, own, frozenset())


def headline_table(record: MetricsRecord, own: str) -> Table:
    """metrics_table with the baselines that need no training, without the interval on the catalogue.

    An oracle that is not right in every list stays.
    """
    oracle = record.baselines.get(ORACLE, {})
    more = {ORACLE} if any(mean != 1 for mean in oracle.values()) else set[str]()
    return _metrics(record, own, {"catalogue_interval", *BASELINES} - {*WITHOUT_TRAINING, record.best_baseline, *more})


def _metrics(record: MetricsRecord, own: str, left_out: Set[str]) -> Table:
    """A row for each metric; the columns of these keys are left out."""

    def on_all(metric: str) -> float | None:
        return record.metrics.get(on_catalogue(metric))

    columns = [
        Column("metric", "metric", value=title_of),
        Column("value", own, Kind.SHARE, value=record.metrics.get),
        Column("interval", "95 % interval", Kind.INTERVAL, value=partial(interval_of, record)),
    ]
    if record.counts.catalogue_tools is not None:
        ends = Column(
            "catalogue_interval",
            "95 % interval",
            Kind.INTERVAL,
            value=lambda metric: interval_of(record, on_catalogue(metric)),
        )
        columns += [Column("catalogue", f"all {record.counts.catalogue_tools:,} tools", Kind.SHARE, value=on_all), ends]
    columns += [
        Column(
            name,
            baseline_title(name, record.best_feature),
            Kind.SHARE,
            brief=BASELINES[name].partition(",")[0],
            value=record.baselines[name].get,
        )
        for name in BASELINES
        if name in record.baselines
    ]
    shown = [column for column in columns if column.key not in left_out]
    metrics = [name for name in record.metrics if not is_served(name)]
    return table_of(shown, metrics, "Each metric with its 95 % interval", corner="")


def parts_table(breakdown: BreakdownRecord, most: int) -> Table:
    """The headline of each value of the field, those with the most queries first, so many of them."""
    columns = (
        Column(breakdown.field, breakdown.field, value=lambda part: part.name or None),
        Column("num_queries", "queries", Kind.COUNT),
        *(Column(name, title, Kind.SHARE, value=partial(_mean, name)) for name, title in TITLES.items()),
    )
    largest = sorted(breakdown.parts, key=lambda part: -part.num_queries)[:most]
    return table_of(columns, largest, f"For each {breakdown.field}")


def _mean(metric: str, part: PartRecord) -> float | None:
    return part.metrics.get(metric)


def differences_table(comparison: "Comparison", runs: "Sequence[RunComparison]") -> Table:
    """A row for each metric of the runs: its difference from the baseline, and the tests of it."""
    caption = f"{', '.join(run.run for run in runs)} against {comparison.baseline}"
    tables = [table_of(_differences(run.run, comparison.family), run.differences, caption, corner="") for run in runs]
    return replace(tables[0], rows=tuple(row for table in tables for row in table.rows))


def _differences(run: str, family: int) -> Iterator[Column]:
    """The columns of the differences of a run."""
    yield Column("run", "run", media=Medium.TSV, value=lambda metric: run)
    yield Column("metric", "metric", media=Medium.TSV)
    yield Column("title", "metric", media=Medium.SHOWN, value=lambda metric: title_of(metric.metric))
    yield Column("value", "run", Kind.SHARE)
    yield Column("baseline_value", "baseline", Kind.SHARE)
    yield Column("difference", "difference", Kind.DIFFERENCE)
    yield Column("", "95 % interval", Kind.INTERVAL)
    yield Column("permutation_p", "permutation p", Kind.PROBABILITY)
    yield Column("holm_p", f"Holm p, {family} tests", Kind.PROBABILITY)
    yield Column("t_p", "paired t p", Kind.PROBABILITY)
    yield Column("effect_size", "effect size d", Kind.EFFECT)
    score = "{0.wins}/{0.ties}/{0.losses}".format
    yield Column("score", "better/same/worse", Kind.WRITTEN, Medium.SHOWN, value=score)
    for name in ("wins", "ties", "losses"):
        yield Column(name, name, Kind.COUNT, Medium.TSV)
