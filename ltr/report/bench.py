"""Rerankers beside each other: quality, latency and cost, in tables, on a page and on a terminal."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from ltr.errors import count
from ltr.files import write_file, write_lines
from ltr.records.bench import TABLES, BenchRecord, RerankerResult
from ltr.report.charts import Estimate, PlotPoint, front, ranges
from ltr.report.metrics import queries_text
from ltr.report.page import Block, Blocks, Figure, Line, Page, Points, Shown, TerminalBlock
from ltr.report.table import Bounds, Column, Guess, Kind, Medium, Table, Value, tsv_line
from ltr.report.words import between, p_value, share, short, shortened, visible
from ltr.runs import Part

LONGEST_NAME = 28  # on a terminal


def _front(reranker: RerankerResult) -> str | None:
    """Say whether no reranker is better in one respect and as good in the others; nothing of a reference."""
    return "yes" if reranker.is_on_front else None if reranker.is_reference else "no"


def _time(key: str, reranker: RerankerResult) -> Value:
    """Return milliseconds; a percentile of too few times is a guess."""
    value: float = getattr(reranker.latency, key)
    return Guess(value) if key in reranker.latency.too_few else value


def _price(key: str, reranker: RerankerResult) -> Value:
    return getattr(reranker.cost, key) if reranker.cost else None


NAME = Column("reranker", "reranker", value="name")
FRONT = Column("is_on_front", "front", Kind.WRITTEN, value=_front)
TIMES = {"mean_ms": "mean", "std_ms": "std", "p50_ms": "p50", "p95_ms": "p95", "p99_ms": "p99"}
PRICES = {"total": "total", "per_query": "per query", "per_document": "per document"}
LATENCY = (
    NAME,
    *(Column(key, title, Kind.MILLISECONDS, value=partial(_time, key)) for key, title in TIMES.items()),
    Column("n", "n", Kind.COUNT, Medium.WIDE, value="latency.n"),
    Column("cold_start_ms", "cold start", Kind.MILLISECONDS),
    Column("documents_per_second", "docs/s", Kind.ROUNDED),
    Column("peak_memory_mb", "MB", Kind.ROUNDED),
)
COST = (
    NAME,
    *(Column(key, title, Kind.PRICE, value=partial(_price, key)) for key, title in PRICES.items()),
    Column("balance", "balance", Kind.BALANCE),
    FRONT,
)
FIELDS = {column.key for column in (*LATENCY, *COST)}  # beside metrics: one of such a name is renamed
WHY = (NAME, Column("why", "why"))
TESTS = (
    Column("rerankers", "rerankers", value="{0.a} against {0.b}".format),
    Column("metric", "metric"),
    Column("difference", "difference", Kind.DIFFERENCE),
    Column("", "95 %", Kind.INTERVAL),
    Column("p", "p", Kind.PROBABILITY),
    Column("p_holm", "Holm p", Kind.PROBABILITY),
)
WHAT = (NAME, Column("what", "what"), Column("revision", "revision", value=lambda reranker: reranker.revision or None))


def _quality(metric: str, key: str) -> Column:
    return Column(key, metric, Kind.SHARE, value=lambda reranker: reranker.quality[metric].mean)


def _interval(metric: str, key: str, title: str, media: Medium = Medium.EVERYWHERE) -> Column:
    def ends(reranker: RerankerResult) -> Bounds:
        return Bounds(reranker.quality[metric].low, reranker.quality[metric].high)

    return Column(key, title, Kind.INTERVAL, media, value=ends)


def _quality_table(bench: BenchRecord, rerankers: Sequence[RerankerResult]) -> Table:
    """Return every metric with its interval; a terminal has room for the interval of the deciding one."""
    columns, deciding = [NAME], bench.rules.deciding
    for name in bench.rules.metrics:
        key = f"metric:{name}" if name in FIELDS else name
        columns += [_quality(name, key), _interval(name, key, "95 %", Medium.WIDE)]
    columns.append(_interval(deciding, deciding, f"95 % of {deciding}", Medium.TERMINAL))
    return Table.of(columns, rerankers, "Quality with 95 % intervals", corner="quality")


def _latency_table(rerankers: Sequence[RerankerResult]) -> Table:
    return Table.of(LATENCY, rerankers, "Milliseconds a query, one after the other", corner="latency, ms")


def _cost_table(bench: BenchRecord) -> Table:
    """Return the cost by the declared prices, the balance, and who is on the front, where no reference stands."""
    caption = f"Cost by declared prices; balance is {bench.rules.deciding} / (mean latency in seconds · cost_weight)"
    return Table.of(COST, bench.rerankers, caption, corner="cost")


def _tables(bench: BenchRecord) -> dict[str, Table]:
    """Return quality, latency and cost: a row a reranker, in the order of the config."""
    latency, cost = _latency_table(bench.rerankers), _cost_table(bench)
    return {"quality": _quality_table(bench, bench.rerankers), "latency": latency, "cost": cost}


def _by_quality(bench: BenchRecord) -> list[RerankerResult]:
    return sorted(bench.rerankers, key=lambda reranker: -reranker.quality[bench.rules.deciding].mean)


def _by_latency(bench: BenchRecord) -> list[RerankerResult]:
    return sorted(bench.rerankers, key=lambda reranker: reranker.latency.mean_ms)


def _documents_text(bench: BenchRecord) -> str:
    """Say how many documents there are, and whether each query has all of a catalogue."""
    whole = ", every tool of the catalogue for each" if bench.catalogue else ""
    return f"{count(bench.documents, 'document')}{whole}"


# Files and the page.


def write_bench(home: Path, bench: BenchRecord) -> None:
    """Write the tables of the bench and its page into home."""
    for name, table in _tables(bench).items():
        write_lines(home / TABLES[name], (tsv_line(row).encode() for row in table.tsv()))
    write_file(home / Part.REPORT, bench_page(bench))


def bench_page(bench: BenchRecord, made: str = "") -> str:
    """Return the page of the bench as HTML."""
    is_guessed = any(reranker.latency.too_few for reranker in bench.rerankers)
    guess = "? too few times for this percentile: an estimate from the slowest." if is_guessed else None
    sections: dict[str, Blocks] = {
        "Conclusions": [Points(tuple(_conclusions(bench)))],
        "Quality and latency": [_quality_over_latency(bench)],
        "Quality": _quality_section(bench),
        "Latency": [_latency_table(_by_latency(bench)), guess],
        "Cost": [_cost_table(bench)],
        "Tests": [Table.of(TESTS, bench.comparisons, "Paired tests")] if bench.comparisons else [],
        "Left out": [Table.of(WHY, bench.left_out, "Why they were left out")] if bench.left_out else [],
        "Failed": [Table.of(WHY, bench.failed, "Why they failed")] if bench.failed else [],
        "What they are, and the rules": _rules(bench),
    }
    drawn = "a seeded sample" if bench.sampled else "all of the data"
    size = f"{queries_text(bench.queries)}, {_documents_text(bench)}"
    subtitle = f"{count(len(bench.rerankers), 'reranker')} on {size}; {drawn}."
    return Page(f"{bench.name}: rerankers compared", subtitle, sections, made).html()


def _conclusions(bench: BenchRecord) -> Iterator[str]:
    """Say what to choose, with the figures that it is chosen by; and what is missing."""
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


def _quality_over_latency(bench: BenchRecord) -> Block:
    """Return quality over latency, drawn; the table alone where nothing can be drawn."""
    deciding, points = bench.rules.deciding, []
    mean = Column("mean_ms", "mean ms", Kind.MILLISECONDS, value="latency.mean_ms")
    columns = (NAME, mean, _quality(deciding, deciding), _interval(deciding, deciding, "95 %"), FRONT)
    table = Table.of(columns, bench.rerankers, "Quality over latency")
    for reranker in bench.rerankers:
        quality, ms = reranker.quality[deciding], reranker.latency.mean_ms
        tip = f"{reranker.name}: {deciding} {share(quality.mean)}, {short(ms)} ms"
        points.append(PlotPoint(reranker.name, ms, quality.mean, quality.low, quality.high, reranker.is_on_front, tip))
    references = [reranker.name for reranker in bench.rerankers if reranker.is_reference]
    beside = f" For reference only: {', '.join(references)}." if references else ""
    blank = Figure(
        f"{deciding} over latency",
        "Up is better, left is faster (powers of ten). Filled points lie on the front: "
        f"nothing is better, faster and cheaper.{beside}",
        table,
    )
    return front(blank, points, ("mean latency per query, ms", deciding)) or table


def _quality_section(bench: BenchRecord) -> Iterator[Block | None]:
    """Yield the deciding metric of each reranker, drawn; and all metrics in a table."""
    deciding, rerankers, drawn = bench.rules.deciding, _by_quality(bench), []
    for reranker in rerankers:
        quality, name = reranker.quality[deciding], reranker.name
        drawn.append(Estimate(name, quality.mean, quality.low, quality.high, tip=f"{name} {share(quality.mean)}"))
    description = f"{deciding} with its 95 % bootstrap interval."
    yield ranges(f"{deciding} of each reranker", description, drawn, ("reranker", deciding), zero=True)
    yield _quality_table(bench, rerankers)


def _rules(bench: BenchRecord) -> Iterator[Block]:
    """Yield what the rerankers are, and what the numbers rest on."""
    yield Table.of(WHAT, bench.rerankers, "Rerankers")
    rules = msgspec.structs.asdict(bench.rules)
    evaluation = rules.pop("evaluation")
    rules = {"seed": bench.seed, **rules, "metrics": ", ".join(bench.rules.metrics)}
    rules |= msgspec.structs.asdict(evaluation) if evaluation else {}
    yield Table.pairs(("rule", "value"), ((key, str(value)) for key, value in rules.items()), "Rules")


# On a terminal.


def shown_bench(bench: BenchRecord) -> Shown:
    """Return the bench: its three tables side by side in a file, below each other to read."""
    parts = zip(*(table.tsv() for table in _tables(bench).values()), strict=True)
    return Shown(bench, ([*quality, *latency[1:], *cost[1:]] for quality, latency, cost in parts), _blocks(bench))


def _blocks(bench: BenchRecord) -> Iterator[TerminalBlock]:
    """Yield the three tables, the best or the quickest first, and what to choose."""
    drawn = f" of {bench.queries_in_data:,}" if bench.sampled else ""
    yield Line(f"{queries_text(bench.queries)}{drawn}, {_documents_text(bench)}", is_bold=True)
    for table in (_quality_table(bench, _by_quality(bench)), _latency_table(_by_latency(bench)), _cost_table(bench)):
        rows = ((shortened(visible(str(name)), LONGEST_NAME), *values) for name, *values in table.rows)
        yield from (replace(table, rows=tuple(rows)), Line())
    yield from _choices(bench)


def _choices(bench: BenchRecord) -> Iterator[str]:
    """Say what to choose, how sure that is, and what is missing."""
    chosen, rules, lead = bench.conclusions, bench.rules, ""
    for test in bench.comparisons[:1]:  # the best against the next
        ends = between(test.low, test.high, Kind.DIFFERENCE.on_terminal)
        lead = f", {test.difference:+.3f} {ends} over {test.b} (Holm p {p_value(test.p_holm)})"
    yield f"best quality: {chosen.best_quality or '-'}{lead}"
    yield f"lowest latency: {chosen.lowest_latency or '-'}"
    balance = f"best balance, {rules.deciding} / (mean seconds * {rules.cost_weight:g})"
    yield f"{balance}: {chosen.best_balance or '-'}"
    yield f"front (nothing is better in quality, latency and cost): {', '.join(chosen.front) or '-'}"
    yield from (f"{missing.name}: left out: {missing.why}" for missing in bench.left_out)
    yield from (f"{missing.name}: failed: {missing.why}" for missing in bench.failed)
