"""Rerankers beside each other: quality, latency and cost."""

from collections.abc import Sequence
from functools import partial
from operator import attrgetter

from ltr.errors import count
from ltr.reporting.table import Bounds, Column, Guess, Kind, Medium, Table, Value, table_of
from ltr.storage.bench_record import BenchRecord, RerankerResult

TIMES = {"mean_ms": "mean", "std_ms": "std", "p50_ms": "p50", "p95_ms": "p95", "p99_ms": "p99"}
FIELDS = {  # of the tables of a bench, which stand beside each other: a metric of such a name is renamed
    *("reranker", "mean_ms", "std_ms", "p50_ms", "p95_ms", "p99_ms", "n"),
    *("cold_start_ms", "documents_per_second", "peak_memory_mb"),
    *("total", "per_query", "per_document", "balance", "is_on_front"),
}
PRICES = {"total": "total", "per_query": "per query", "per_document": "per document"}


def front_cell(reranker: RerankerResult) -> str | None:
    """Whether no reranker is better in one respect and as good in the others; nothing of a reference."""
    return "yes" if reranker.is_on_front else None if reranker.is_reference else "no"


NAME = Column("reranker", "reranker", value=attrgetter("name"))
FRONT = Column("is_on_front", "front", Kind.WRITTEN, value=front_cell)


def quality_table(bench: BenchRecord, rerankers: Sequence[RerankerResult]) -> Table:
    """Every metric with its interval; a terminal has room for the interval of the deciding one."""
    columns = [NAME]
    for name in bench.rules.metrics:
        key = f"metric:{name}" if name in FIELDS else name
        columns += [quality_column(name, key=key), interval_column(name, "95 %", Medium.WIDE, key=key)]
    deciding = bench.rules.deciding
    columns.append(interval_column(deciding, f"95 % of {deciding}", Medium.TERMINAL))
    return table_of(columns, rerankers, "Quality with 95 % intervals", corner="quality")


def quality_column(metric: str, *, key: str = "") -> Column:
    """The mean of a metric."""
    return Column(key or metric, metric, Kind.SHARE, value=lambda reranker: reranker.quality[metric].mean)


def interval_column(metric: str, title: str, media: Medium = Medium.EVERYWHERE, *, key: str = "") -> Column:
    """The interval of a metric."""

    def ends(reranker: RerankerResult) -> Bounds:
        return Bounds(reranker.quality[metric].low, reranker.quality[metric].high)

    return Column(key or metric, title, Kind.INTERVAL, media, value=ends)


def latency_table(rerankers: Sequence[RerankerResult]) -> Table:
    """Milliseconds a query; a percentile of too few times is a guess."""
    columns = (
        NAME,
        *(Column(key, title, Kind.MILLISECONDS, value=partial(_time, key)) for key, title in TIMES.items()),
        Column("n", "n", Kind.COUNT, Medium.WIDE, value=attrgetter("latency.n")),
        Column("cold_start_ms", "cold start", Kind.MILLISECONDS),
        Column("documents_per_second", "docs/s", Kind.ROUNDED),
        Column("peak_memory_mb", "MB", Kind.ROUNDED),
    )
    return table_of(columns, rerankers, "Milliseconds a query, one after the other", corner="latency, ms")


def _time(key: str, reranker: RerankerResult) -> Value:
    time = getattr(reranker.latency, key)
    return Guess(time) if key in reranker.latency.too_few else time


def cost_table(bench: BenchRecord, rerankers: Sequence[RerankerResult]) -> Table:
    """The cost by the declared prices, the balance, and who is on the front; a reference takes no part in it."""
    columns = (
        NAME,
        *(Column(key, title, Kind.PRICE, value=partial(_price, key)) for key, title in PRICES.items()),
        Column("balance", "balance", Kind.BALANCE),
        FRONT,
    )
    caption = f"Cost by declared prices; balance is {bench.rules.deciding} / (mean latency in seconds · cost_weight)"
    return table_of(columns, rerankers, caption, corner="cost")


def _price(key: str, reranker: RerankerResult) -> Value:
    return getattr(reranker.cost, key) if reranker.cost else None


def by_quality(bench: BenchRecord) -> list[RerankerResult]:
    """The rerankers, the best by the deciding metric first."""
    return sorted(bench.rerankers, key=lambda reranker: -reranker.quality[bench.rules.deciding].mean)


def by_latency(bench: BenchRecord) -> list[RerankerResult]:
    """The rerankers, the quickest first."""
    return sorted(bench.rerankers, key=lambda reranker: reranker.latency.mean_ms)


def documents_text(bench: BenchRecord) -> str:
    """How many documents there are, and whether each query has all of a catalogue."""
    whole = ", every tool of the catalogue for each" if bench.catalogue else ""
    return f"{count(bench.documents, 'document')}{whole}"


def bench_tables(record: BenchRecord) -> dict[str, Table]:
    """Quality, latency and cost: a row a reranker, in the order of the config."""
    return {
        "quality": quality_table(record, record.rerankers),
        "latency": latency_table(record.rerankers),
        "cost": cost_table(record, record.rerankers),
    }
