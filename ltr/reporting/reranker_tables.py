"""Rerankers beside each other: quality, latency and cost."""

from collections.abc import Sequence

from ltr.errors import count
from ltr.reporting.cell_formats import (
    BALANCE,
    COUNT,
    INTERVAL,
    MILLISECONDS,
    PRICE,
    ROUNDED,
    SHARE,
    WRITTEN,
    Bounds,
    Guess,
)
from ltr.reporting.table import Column, Medium, Table, Value
from ltr.storage.bench_record import BenchRecord, RerankerResult

NAME = Column("reranker", "reranker")
WIDE = frozenset({Medium.TSV, Medium.PAGE})
TIMES = {"mean_ms": "mean", "std_ms": "std", "p50_ms": "p50", "p95_ms": "p95", "p99_ms": "p99"}
FIELDS = {  # of the tables of a bench, which stand beside each other: a metric of such a name is renamed
    *("reranker", "mean_ms", "std_ms", "p50_ms", "p95_ms", "p99_ms", "n"),
    *("cold_start_ms", "documents_per_second", "peak_memory_mb"),
    *("total", "per_query", "per_document", "balance", "is_on_front"),
}
PRICES = {"total": "total", "per_query": "per query", "per_document": "per document"}


def quality_table(bench: BenchRecord, rerankers: Sequence[RerankerResult]) -> Table:
    """Every metric with its interval; a terminal has room for the interval of the deciding one."""
    names, deciding = bench.rules.metrics, bench.rules.deciding
    columns = [NAME]
    for name in names:
        key = f"metric:{name}" if name in FIELDS else name
        columns += [Column(key, name, SHARE), Column(key, "95 %", INTERVAL, WIDE)]
    columns.append(Column(deciding, f"95 % of {deciding}", INTERVAL, frozenset({Medium.TERMINAL})))
    rows = []
    for reranker in rerankers:
        values: list[Value] = [reranker.name]
        for name in names:
            quality = reranker.quality[name]
            values += [quality.mean, Bounds(quality.low, quality.high)]
        best = reranker.quality[deciding]
        rows.append((*values, Bounds(best.low, best.high)))
    return Table(tuple(columns), tuple(rows), "Quality with 95 % intervals", corner="quality")


def latency_table(rerankers: Sequence[RerankerResult]) -> Table:
    """Milliseconds a query; a percentile of too few times is a guess."""
    columns = (
        NAME,
        *(Column(key, title, MILLISECONDS) for key, title in TIMES.items()),
        Column("n", "n", COUNT, WIDE),
        Column("cold_start_ms", "cold start", MILLISECONDS),
        Column("documents_per_second", "docs/s", ROUNDED),
        Column("peak_memory_mb", "MB", ROUNDED),
    )
    rows = []
    for reranker in rerankers:
        times = {key: getattr(reranker.latency, key) for key in TIMES}
        times |= {key: Guess(times[key]) for key in reranker.latency.too_few if key in times}
        rest = (reranker.cold_start_ms, reranker.documents_per_second, reranker.peak_memory_mb)
        rows.append((reranker.name, *times.values(), reranker.latency.n, *rest))
    return Table(columns, tuple(rows), "Milliseconds a query, one after the other", corner="latency, ms")


def cost_table(bench: BenchRecord, rerankers: Sequence[RerankerResult]) -> Table:
    """The cost by the declared prices, the balance, and who is on the front; a reference takes no part in it."""
    columns = (
        NAME,
        *(Column(key, title, PRICE) for key, title in PRICES.items()),
        Column("balance", "balance", BALANCE),
        Column("is_on_front", "front", WRITTEN),
    )
    rows = []
    for reranker in rerankers:
        cost = reranker.cost
        prices = (cost.total, cost.per_query, cost.per_document) if cost else (None, None, None)
        rows.append((reranker.name, *prices, reranker.balance, front_cell(reranker)))
    caption = f"Cost by declared prices; balance is {bench.rules.deciding} / (mean latency in seconds · cost_weight)"
    return Table(columns, tuple(rows), caption, corner="cost")


def front_cell(reranker: RerankerResult) -> str | None:
    """Whether no reranker is better in one respect and as good in the others; nothing of a reference."""
    return "yes" if reranker.is_on_front else None if reranker.is_reference else "no"


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
