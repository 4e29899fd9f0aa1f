"""A bench as lines to read: three tables, what is missing, what to choose."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ltr.cli.result import between, signed
from ltr.cli.terminal import count, emphasis, number, shortened, table, visible, wrapped

if TYPE_CHECKING:
    from ltr.benchmark.judging import Comparison, Quality, Row
    from ltr.benchmark.verdict import Bench

LONGEST_NAME = 28


def bench_lines(bench: "Bench") -> list[str]:
    """All that a person wants of a bench."""
    queries = count(len(bench.groups.offsets) - 1, "query", "queries")
    drawn = f" of {bench.queries_in_data:,}" if bench.document()["sampled"] else ""
    title = f"{queries}{drawn}, {count(int(bench.groups.offsets[-1]), 'document')}"
    return [
        emphasis(title),
        *quality_lines(bench),
        "",
        *latency_lines(bench.rows),
        "",
        *cost_lines(bench.rows),
        "",
        *(line for text in conclusion_lines(bench) for line in wrapped(text)),
    ]


def quality_lines(bench: "Bench") -> list[str]:
    """Every metric, the best first by the deciding one, with its interval."""
    from ltr.benchmark.config import DECIDING
    from ltr.benchmark.judging import by_quality

    names = bench.config.metrics
    rows = [
        [_named(each), *(number(each.quality[name].mean) for name in names), _interval(each.quality[DECIDING])]
        for each in by_quality(bench.rows)
    ]
    return table(["quality", *names, "95 % of ndcg@10"], rows, flexible=0, indent="")


def latency_lines(rows: Sequence["Row"]) -> list[str]:
    """Milliseconds a query, the quickest first; a percentile that so few queries cannot tell bears a question mark."""
    found = []
    for each in sorted(rows, key=lambda each: each.latency.mean_ms):
        took = each.latency
        parts = [_told(getattr(took, name), name in took.too_few) for name in ("p50_ms", "p95_ms", "p99_ms")]
        found.append(
            [
                _named(each),
                *(_ms(took.mean_ms), _ms(took.std_ms), *parts),
                _ms(each.cold_start_ms),
                "-" if each.documents_per_second is None else f"{each.documents_per_second:,.0f}",
                "-" if each.peak_memory_mb is None else f"{each.peak_memory_mb:,.0f}",
            ]
        )
    return table(
        ["latency, ms", "mean", "std", "p50", "p95", "p99", "cold start", "docs/s", "MB"], found, flexible=0, indent=""
    )


def cost_lines(rows: Sequence["Row"]) -> list[str]:
    """What it costs by the declared prices, the balance, and who is on the front."""
    found = [
        [
            _named(each),
            *(_price(getattr(each.cost, name, None)) for name in ("total", "per_query", "per_document")),
            "undefined" if each.balance is None else f"{each.balance:,.4g}",
            "yes" if each.is_on_front else "-" if each.is_reference else "no",
        ]
        for each in rows
    ]
    return table(["cost", "total", "per query", "per document", "balance", "front"], found, flexible=0, indent="")


def conclusion_lines(bench: "Bench") -> list[str]:
    """What to choose, how sure that is, and who is missing."""
    told = bench.conclusions
    lines = [
        f"best quality: {visible(told.best_quality or '-')}{_lead(bench.comparisons, told.best_quality)}",
        f"lowest latency: {visible(told.lowest_latency or '-')}",
        f"best balance, ndcg@10 / (mean seconds * {bench.config.cost_weight:g}): {visible(told.best_balance or '-')}",
        f"front (nothing is better in quality, latency and cost): {visible(', '.join(told.front) or '-')}",
    ]
    lines += [f"{visible(each.name)}: left out: {visible(each.why)}" for each in bench.left_out]
    return lines + [f"{visible(each.name)}: failed: {visible(each.why)}" for each in bench.failed]


def _lead(comparisons: Sequence["Comparison"], best: str | None) -> str:
    """How far the best is ahead of the next."""
    first = next((each for each in comparisons if each.a == best), None)
    if first is None:
        return ""
    ends = between(first.low, first.high, signed)
    return f", {signed(first.difference)} {ends} over {visible(first.b)} (Holm p {first.p_holm:.4f})"


def _named(row: "Row") -> str:
    return shortened(visible(row.name), LONGEST_NAME)


def _interval(quality: "Quality") -> str:
    return between(quality.low, quality.high)


def _ms(value: float) -> str:
    """Milliseconds in three digits that say something.

    >>> _ms(0.0123), _ms(12.345), _ms(1234.5)
    ('0.012', '12.3', '1,234')
    """
    return f"{value:.3f}" if value < 1 else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"


def _told(value: float, is_guess: bool) -> str:
    return f"{_ms(value)}{'?' if is_guess else ''}"


def _price(value: float | None) -> str:
    return "-" if value is None else f"{value:.6f}"
