"""The page of a bench: quality, latency and cost of rerankers, and which of them nothing beats in all."""

from collections.abc import Iterator, Sequence
from operator import attrgetter

import msgspec

from ltr.errors import count
from ltr.reporting.charts import Estimate, PlotPoint, Words, estimates, estimates_table, front
from ltr.reporting.number_formats import share, short
from ltr.reporting.page import Block, Page, Points, Section, Text
from ltr.reporting.reranker_tables import (
    FRONT,
    NAME,
    by_latency,
    by_quality,
    cost_table,
    documents_text,
    interval_column,
    latency_table,
    quality_column,
    quality_table,
)
from ltr.reporting.table import Column, Kind, Table, table_of
from ltr.storage.bench_record import BenchRecord, MissingReranker, PairedTest


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
    mean = Column("mean_ms", "mean ms", Kind.MILLISECONDS, value=attrgetter("latency.mean_ms"))
    columns = (NAME, mean, quality_column(deciding), interval_column(deciding, "95 %"), FRONT)
    table, points = table_of(columns, bench.rerankers, "Quality over latency"), []
    for reranker in bench.rerankers:
        quality, mean_ms = reranker.quality[deciding], reranker.latency.mean_ms
        tip = f"{reranker.name}: {deciding} {share(quality.mean)}, {short(mean_ms)} ms"
        points.append(
            PlotPoint(reranker.name, mean_ms, quality.mean, quality.low, quality.high, reranker.is_on_front, tip)
        )
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
        Column("rerankers", "rerankers", value="{0.a} against {0.b}".format),
        Column("metric", "metric"),
        Column("difference", "difference", Kind.DIFFERENCE),
        Column("", "95 %", Kind.INTERVAL),
        Column("p", "p", Kind.PROBABILITY),
        Column("p_holm", "Holm p", Kind.PROBABILITY),
    )
    return table_of(columns, comparisons, "Paired tests")


def _missing(caption: str, missing: Sequence[MissingReranker]) -> Table:
    return table_of((NAME, Column("why", "why")), missing, caption)


def _rules(bench: BenchRecord) -> Iterator[Block]:
    """What the rerankers are, and what the numbers rest on."""
    revision = Column("revision", "revision", value=lambda reranker: reranker.revision or None)
    yield table_of((NAME, Column("what", "what"), revision), bench.rerankers, "Rerankers")
    rules = msgspec.structs.asdict(bench.rules)
    evaluation = rules.pop("evaluation")
    rules = {"seed": bench.seed, **rules, "metrics": ", ".join(bench.rules.metrics)}
    rules |= msgspec.structs.asdict(evaluation) if evaluation else {}
    rows = tuple((key, str(value)) for key, value in rules.items())
    yield Table((Column("rule", "rule"), Column("value", "value")), rows, "Rules")
