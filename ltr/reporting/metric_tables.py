"""Metrics as tables: beside their baselines, and for each value of a field."""

from collections.abc import Iterator

from ltr.errors import count
from ltr.evaluation.metrics.ranked import MRR, TOP1, TOP3
from ltr.evaluation.metrics.registry import CATALOGUE, on_catalogue
from ltr.reporting.kinds import COUNT, INTERVAL, SHARE, Bounds
from ltr.reporting.numbers import fixed
from ltr.reporting.table import Column, Table
from ltr.storage.records import BreakdownRecord, MetricsRecord

TITLES = {TOP1: "top-1", TOP3: "top-3", MRR: "MRR"}
BASELINES = {
    "random": "random order",
    "best_feature": "best feature",
    "untrained": "untrained, w = 1",
    "oracle": "oracle",
}


def title_of(metric: str) -> str:
    """The short name of a metric, where it has one.

    >>> title_of("top1_accuracy"), title_of("ndcg@5")
    ('top-1', 'ndcg@5')
    >>> title_of("mrr@catalogue")
    'MRR@catalogue'
    """
    plain = metric.removesuffix(CATALOGUE)
    return TITLES.get(plain, plain) + metric[len(plain) :]


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
        title = BASELINES[name]
        if name == "best_feature" and record.best_feature:
            title = f"{title}: {'-' if record.best_feature.sign < 0 else ''}{record.best_feature.name}"
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
        if not name.endswith(CATALOGUE)
    )
    return Table(tuple(columns), rows, "Each metric with its 95 % interval", corner="")


def candidate_texts(record: MetricsRecord) -> Iterator[str]:
    """How many candidates a query has, and how well known and unseen right tools were found."""
    counts = record.counts
    span = f"median {counts.candidates_median:g}, {counts.candidates_least:,} to {counts.candidates_most:,}"
    drawn = f"; {count(counts.num_drawn, 'candidate')} drawn from the catalogue" if counts.num_drawn else ""
    yield f"candidates a query: {span}{drawn}"
    if counts.catalogue_tools is not None:
        lacking = f"; {count(counts.catalogue_lacking or 0, 'query', 'queries')} with no right tool in it: counted 0"
        end = lacking if counts.catalogue_lacking else ""
        yield f"on the whole catalogue: {counts.catalogue_tools:,} candidates a query{end}"
    for part in record.answers.parts if record.answers else ():
        when = {"known": "was right in training", "unseen": "was never right in training"}.get(part.name, part.name)
        means = [f"{title_of(name)} {fixed(mean)}" for name, mean in part.metrics.items() if mean is not None]
        yield f"right tool {when}: {', '.join([count(part.num_queries, 'query', 'queries'), *means])}"


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
