"""A bench as lines to read: three tables, what is missing, what to choose."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ltr.cli.terminal import emphasis, table_lines, wrapped
from ltr.reporting.escaping import visible
from ltr.reporting.numbers import DIFFERENCE, between, count, fixed
from ltr.reporting.table import Table, shortened

if TYPE_CHECKING:
    from ltr.benchmark.judging import Comparison
    from ltr.benchmark.verdict import Bench

LONGEST_NAME = 28


def bench_lines(bench: "Bench") -> list[str]:
    """The three tables, the best or the quickest first, and the conclusions."""
    from ltr.reporting.bench_page import by_latency, by_quality, cost_table, latency_table, quality_table

    record = bench.record()
    queries = count(record.queries, "query", "queries")
    drawn = f" of {bench.queries_in_data:,}" if record.sampled else ""
    tables = (
        quality_table(record, by_quality(record)),
        latency_table(by_latency(record)),
        cost_table(record, record.rerankers),
    )
    return [
        emphasis(f"{queries}{drawn}, {count(record.documents, 'document')}"),
        *(line for table in tables for line in (*table_lines(with_short_names(table)), "")),
        *(line for text in conclusion_lines(bench) for line in wrapped(text)),
    ]


def with_short_names(table: Table) -> Table:
    """The table, its names as long as a terminal has room for."""
    rows = tuple((shortened(visible(str(name)), LONGEST_NAME), *values) for name, *values in table.rows)
    return replace(table, rows=rows)


def conclusion_lines(bench: "Bench") -> list[str]:
    """What to choose, how sure that is, and what is missing."""
    chosen = bench.conclusions
    lines = [
        f"best quality: {visible(chosen.best_quality or '-')}{_lead(bench.comparisons, chosen.best_quality)}",
        f"lowest latency: {visible(chosen.lowest_latency or '-')}",
        f"best balance, ndcg@10 / (mean seconds * {bench.config.cost_weight:g}): {visible(chosen.best_balance or '-')}",
        f"front (nothing is better in quality, latency and cost): {visible(', '.join(chosen.front) or '-')}",
    ]
    lines += [f"{visible(each.name)}: left out: {visible(each.why)}" for each in bench.left_out]
    return lines + [f"{visible(each.name)}: failed: {visible(each.why)}" for each in bench.failed]


def _lead(comparisons: Sequence["Comparison"], best: str | None) -> str:
    """How far the best is ahead of the next."""
    first = next((each for each in comparisons if each.a == best), None)
    if first is None:
        return ""
    ends = between(first.low, first.high, DIFFERENCE.on_terminal)
    return f", {first.difference:+.3f} {ends} over {visible(first.b)} (Holm p {fixed(first.p_holm, 4)})"
