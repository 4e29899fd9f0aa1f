"""Metrics as tables: beside their baselines, and for each value of a field."""

from dataclasses import replace

from ltr.errors import count
from ltr.evaluation.metrics.ranking_measures import MRR, TOP1, TOP3
from ltr.evaluation.metrics.registry import CATALOGUE, on_catalogue
from ltr.reporting.cell_formats import COUNT, INTERVAL, SHARE, Bounds
from ltr.reporting.number_formats import fixed
from ltr.reporting.table import Column, Table
from ltr.storage.evaluation_records import BreakdownRecord, CountsRecord, MetricsRecord, PartRecord

TITLES = {TOP1: "top-1", TOP3: "top-3", MRR: "MRR"}
RANDOM, BEST_FEATURE = "random", "best_feature"
PASTS = {
    "logged": "as logged (previous)",
    "labels": "right tools (labels), which nobody knows when a query comes: this promises too much",
    "own": "the first choices of the model itself (own)",
}
BASELINES = {
    RANDOM: "random order",
    BEST_FEATURE: "best feature",
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


def is_served(metric: str) -> bool:
    """Whether a metric is of the whole catalogue."""
    return metric.endswith(CATALOGUE)


def interval_of(record: MetricsRecord, metric: str) -> Bounds:
    """The 95 % interval of a metric."""
    interval = record.intervals.get(metric)
    return Bounds(interval.low, interval.high) if interval else Bounds(None, None)


def baseline_title(name: str, record: MetricsRecord) -> str:
    """What a baseline of the record is called; of the best feature also which it is."""
    best = record.best_feature
    if name != BEST_FEATURE or best is None:
        return BASELINES[name]
    return f"{BASELINES[name]}: {'-' if best.sign < 0 else ''}{best.name}"


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
        title = baseline_title(name, record)
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
    """metrics_table without the interval on the catalogue, and without an oracle that is right in every list."""
    table, oracle = metrics_table(record, own), record.baselines.get("oracle", {})
    left_out = {"catalogue_interval", *(["oracle"] if all(mean == 1 for mean in oracle.values()) else [])}
    shown = [place for place, column in enumerate(table.columns) if column.key not in left_out]
    rows = tuple(tuple(row[place] for place in shown) for row in table.rows)
    return replace(table, columns=tuple(table.columns[place] for place in shown), rows=rows)


def span_text(least: int, median: float, most: int) -> str:
    """How many candidates a query has.

    >>> span_text(5, 5.0, 5), span_text(8, 9.5, 12)
    ('5 each', '8 to 12 each, median 9.5')
    """
    return f"{least:,} each" if least == most else f"{least:,} to {most:,} each, median {median:g}"


def counts_text(record: MetricsRecord) -> str:
    """How many queries and candidates the numbers are of; and whether all right tools were right in training."""
    counts, filled = record.counts, _known_parts(record)
    span = span_text(counts.candidates_least, counts.candidates_median, counts.candidates_most)
    drawn = f", {counts.num_drawn:,} of them drawn" if counts.num_drawn else ""
    all_alike = f", right tools all {filled[0].name}" if len(filled) == 1 else ""
    queries = count(counts.num_queries, "query", "queries")
    return f"{queries}, {count(counts.num_candidates, 'candidate')}{drawn}, {span}{all_alike}"


def known_texts(record: MetricsRecord) -> list[str]:
    """How well known and unseen right tools were found; nothing where there are not both."""
    parts = _known_parts(record)
    texts = []
    for part in parts if len(parts) > 1 else ():
        served = [part.metrics[on_catalogue(name)] for name in part.metrics if on_catalogue(name) in part.metrics]
        offered = [f"{title_of(name)} {fixed(mean)}" for name, mean in part.metrics.items() if not is_served(name)]
        of_queries = ", ".join([count(part.num_queries, "query", "queries"), *offered])
        on_all = f"; {CATALOGUE} {', '.join(map(fixed, served))}" if served else ""
        texts.append(f"right tool {part.name}: {of_queries}{on_all}")
    return texts


def known_headline(record: MetricsRecord) -> str:
    """How well known and unseen right tools came first; "" where there are not both."""
    parts = _known_parts(record)
    texts = [
        f"{part.name} {fixed(part.metrics[TOP1])} ({count(part.num_queries, 'query', 'queries')})" for part in parts
    ]
    return f"top-1 by whether training knew the right tool: {', '.join(texts)}" if len(parts) > 1 else ""


def _known_parts(record: MetricsRecord) -> list[PartRecord]:
    """Known and unseen, as far as there are queries."""
    return [part for part in record.answers.parts if part.num_queries] if record.answers else []


def past_text(record: MetricsRecord) -> str:
    """What came before the queries, as the model was told; "" where nothing is known of it."""
    if record.rules.past is None:
        return ""
    beside = record.with_labels
    if beside is None:
        return f"past: {PASTS[record.rules.past]}"
    figures = ", ".join(f"{title} {fixed(beside.get(name))}" for name, title in TITLES.items())
    return f"past: {PASTS[record.rules.past]}; with right tools as the past (labels): {figures}"


def lacking_text(counts: CountsRecord) -> str:
    """How many queries the whole catalogue has no right tool for; "" without any."""
    lacking = count(counts.catalogue_lacking or 0, "query", "queries")
    return f"{lacking} with no right tool in the catalogue: counted 0 there" if counts.catalogue_lacking else ""


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
