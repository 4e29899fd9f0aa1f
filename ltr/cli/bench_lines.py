"""A bench as lines to read: three tables, what is missing, what to choose."""

from dataclasses import replace
from typing import TYPE_CHECKING

from ltr.cli.output import emphasis, table_lines, wrapped
from ltr.errors import count
from ltr.reporting.escaping import visible
from ltr.reporting.lines import shortened
from ltr.reporting.number_formats import between, p_value
from ltr.reporting.table import Kind, Table

if TYPE_CHECKING:
    from ltr.storage.bench_record import BenchRecord

LONGEST_NAME = 28


def bench_lines(bench: "BenchRecord") -> list[str]:
    """The three tables, the best or the quickest first, and the conclusions."""
    from ltr.reporting.reranker_tables import (
        by_latency,
        by_quality,
        cost_table,
        documents_text,
        latency_table,
        quality_table,
    )

    queries = count(bench.queries, "query", "queries")
    drawn = f" of {bench.queries_in_data:,}" if bench.sampled else ""
    tables = (
        quality_table(bench, by_quality(bench)),
        latency_table(by_latency(bench)),
        cost_table(bench, bench.rerankers),
    )
    return [
        emphasis(f"{queries}{drawn}, {documents_text(bench)}"),
        *(line for table in tables for line in (*table_lines(with_short_names(table)), "")),
        *(line for text in conclusion_lines(bench) for line in wrapped(text)),
    ]


def with_short_names(table: Table) -> Table:
    """The table, its names as long as a terminal has room for."""
    rows = tuple((shortened(visible(str(name)), LONGEST_NAME), *values) for name, *values in table.rows)
    return replace(table, rows=rows)


def conclusion_lines(bench: "BenchRecord") -> list[str]:
    """What to choose, how sure that is, and what is missing."""
    chosen, rules = bench.conclusions, bench.rules
    lead = ""
    for test in bench.comparisons[:1]:  # the best against the next
        ends = between(test.low, test.high, Kind.DIFFERENCE.on_terminal)
        lead = f", {test.difference:+.3f} {ends} over {visible(test.b)} (Holm p {p_value(test.p_holm)})"
    balance = f"best balance, {rules.deciding} / (mean seconds * {rules.cost_weight:g})"
    return [
        f"best quality: {visible(chosen.best_quality or '-')}{lead}",
        f"lowest latency: {visible(chosen.lowest_latency or '-')}",
        f"{balance}: {visible(chosen.best_balance or '-')}",
        f"front (nothing is better in quality, latency and cost): {visible(', '.join(chosen.front) or '-')}",
        *(f"{visible(missing.name)}: left out: {visible(missing.why)}" for missing in bench.left_out),
        *(f"{visible(missing.name)}: failed: {visible(missing.why)}" for missing in bench.failed),
    ]
