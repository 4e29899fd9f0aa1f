"""A bench as tables and as a page: quality, latency and cost of rerankers, and which of them nothing beats in all."""

from collections.abc import Iterator, Sequence

import msgspec

from ltr.errors import count
from ltr.reporting.cell_formats import (
    BALANCE,
    COUNT,
    DIFFERENCE,
    INTERVAL,
    MILLISECONDS,
    PRICE,
    PROBABILITY,
    ROUNDED,
    SHARE,
    WRITTEN,
    Bounds,
    Guess,
)
from ltr.reporting.charts import Estimate, PlotPoint, Words, estimates, estimates_table, front
from ltr.reporting.number_formats import share, short
from ltr.reporting.page import Block, Page, Points, Section, Text
from ltr.reporting.table import Column, Medium, Table, Value
from ltr.storage.bench_record import BenchRecord, MissingReranker, PairedTest, RerankerResult

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
        rows.append((reranker.name, *prices, reranker.balance, _front_cell(reranker)))
    caption = f"Cost by declared prices; balance is {bench.rules.deciding} / (mean latency in seconds · cost_weight)"
    return Table(columns, tuple(rows), caption, corner="cost")


def _front_cell(reranker: RerankerResult) -> str | None:
    return "yes" if reranker.is_on_front else None if reranker.is_reference else "no"


def by_quality(bench: BenchRecord) -> list[RerankerResult]:
    """The rerankers, the best by the deciding metric first."""
    return sorted(bench.rerankers, key=lambda reranker: -reranker.quality[bench.rules.deciding].mean)


def by_latency(bench: BenchRecord) -> list[RerankerResult]:
    """The rerankers, the quickest first."""
    return sorted(bench.rerankers, key=lambda reranker: reranker.latency.mean_ms)


def bench_view(bench: BenchRecord, made: str = "") -> Page:
    """The page of the bench."""
    latency: list[Block] = [latency_table(by_latency(bench))]
    if any(reranker.latency.too_few for reranker in bench.rerankers):
        latency.append(Text("? too few times for this percentile: an estimate from the slowest."))
    sections = [
        Section("Conclusions", (Points(tuple(_conclusions(bench))),)),
        Section("Quality and latency", (_front(bench),)),
        Section("Quality", tuple(_quality(bench))),
        Section("Latency", latency),
        Section("Cost", (cost_table(bench, bench.rerankers),)),
        Section("Tests", (_tests(bench.comparisons),) if bench.comparisons else ()),
        Section("Left out", (_missing("Why they were left out", bench.left_out),) if bench.left_out else ()),
        Section("Failed", (_missing("Why they failed", bench.failed),) if bench.failed else ()),
        Section("What they are, and the rules", tuple(_rules(bench))),
    ]
    drawn = "a seeded sample" if bench.sampled else "all of the data"
    size = f"{count(bench.queries, 'query', 'queries')}, {documents_text(bench)}"
    subtitle = f"{count(len(bench.rerankers), 'reranker')} on {size}; {drawn}."
    return Page(f"{bench.name}: rerankers compared", subtitle, sections, made)


def documents_text(bench: BenchRecord) -> str:
    """How many documents there are, and whether each query has all of a catalogue."""
    whole = ", every tool of the catalogue for each" if bench.catalogue else ""
    return f"{count(bench.documents, 'document')}{whole}"


def _conclusions(bench: BenchRecord) -> Iterator[str]:
    """What to choose, with the figures that it is chosen by; and what is missing."""
    chosen, deciding = bench.conclusions, bench.rules.deciding
    by_name = {reranker.name: reranker for reranker in bench.rerankers}
    for label, name in (
        ("Best quality", chosen.best_quality),
        ("Lowest latency", chosen.lowest_latency),
        ("Best balance", chosen.best_balance),
    ):
        if name in by_name:
            quality, latency = by_name[name].quality[deciding], by_name[name].latency
            yield f"{label}: {name}, {deciding} {share(quality.mean)} in {short(latency.mean_ms)} ms a query."
    if chosen.front:
        names = ", ".join(chosen.front)
        yield f"On the front, which nothing beats in quality, latency and cost together: {names}."
    yield from (f"{warning}." for warning in bench.warnings)
    if missing := len(bench.left_out) + len(bench.failed):
        yield f"Without figures: {count(missing, 'reranker')}; the reason stands below."


def _front(bench: BenchRecord) -> Block:
    """Quality over latency, drawn; the table alone where nothing can be drawn."""
    deciding = bench.rules.deciding
    columns = (
        NAME,
        Column("mean_ms", "mean ms", MILLISECONDS),
        Column(deciding, deciding, SHARE),
        Column(deciding, "95 %", INTERVAL),
        Column("is_on_front", "front", WRITTEN),
    )
    rows, points = [], []
    for reranker in bench.rerankers:
        quality, mean_ms = reranker.quality[deciding], reranker.latency.mean_ms
        rows.append((reranker.name, mean_ms, quality.mean, Bounds(quality.low, quality.high), _front_cell(reranker)))
        tip = f"{reranker.name}: {deciding} {share(quality.mean)}, {short(mean_ms)} ms"
        points.append(
            PlotPoint(reranker.name, mean_ms, quality.mean, quality.low, quality.high, reranker.is_on_front, tip)
        )
    table = Table(columns, tuple(rows), "Quality over latency")
    references = [reranker.name for reranker in bench.rerankers if reranker.is_reference]
    beside = f" For reference only: {', '.join(references)}." if references else ""
    words = Words(
        f"{deciding} over latency",
        "Up is better, left is faster (powers of ten). Filled points lie on the front: "
        f"nothing is better, faster and cheaper.{beside}",
        table,
    )
    return front(words, points, ("mean latency per query, ms", deciding)) or table


def _quality(bench: BenchRecord) -> Iterator[Block]:
    """The deciding metric of each reranker, drawn; and all metrics in a table."""
    deciding, rerankers = bench.rules.deciding, by_quality(bench)
    drawn = []
    for reranker in rerankers:
        quality = reranker.quality[deciding]
        drawn.append(
            Estimate(
                reranker.name, quality.mean, quality.low, quality.high, tip=f"{reranker.name} {share(quality.mean)}"
            )
        )
    title = f"{deciding} of each reranker"
    numbers = estimates_table(title, ("reranker", deciding), drawn)
    figure = estimates(Words(title, f"{deciding} with its 95 % bootstrap interval.", numbers), drawn, zero=True)
    yield from [figure] if figure else []
    yield quality_table(bench, rerankers)


def _tests(comparisons: Sequence[PairedTest]) -> Table:
    """Every two rerankers, query by query."""
    columns = (
        Column("rerankers", "rerankers"),
        Column("metric", "metric"),
        Column("difference", "difference", DIFFERENCE),
        Column("", "95 %", INTERVAL),
        Column("p", "p", PROBABILITY),
        Column("p_holm", "Holm p", PROBABILITY),
    )
    rows = tuple(
        (f"{test.a} against {test.b}", test.metric, test.difference, Bounds(test.low, test.high), test.p, test.p_holm)
        for test in comparisons
    )
    return Table(columns, rows, "Paired tests")


def _missing(caption: str, missing: Sequence[MissingReranker]) -> Table:
    return Table((NAME, Column("why", "why")), tuple((reranker.name, reranker.why) for reranker in missing), caption)


def _rules(bench: BenchRecord) -> Iterator[Block]:
    """What the rerankers are, and what the numbers rest on."""
    columns = (NAME, Column("what", "what"), Column("revision", "revision"))
    yield Table(
        columns,
        tuple((reranker.name, reranker.what, reranker.revision or None) for reranker in bench.rerankers),
        "Rerankers",
    )
    rules = msgspec.structs.asdict(bench.rules)
    evaluation = rules.pop("evaluation")
    rules = {"seed": bench.seed, **rules, "metrics": ", ".join(bench.rules.metrics)}
    rules |= msgspec.structs.asdict(evaluation) if evaluation else {}
    rows = tuple((key, str(value)) for key, value in rules.items())
    yield Table((Column("rule", "rule"), Column("value", "value")), rows, "Rules")
