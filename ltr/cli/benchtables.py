"""A bench as lines to read: three tables, what is missing, what to choose."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ltr.cli.result import between, signed
from ltr.cli.terminal import count, emphasis, number, shortened, table, visible, wrapped

if TYPE_CHECKING:
    from ltr.storage.bench_record import BenchRecord, RerankerResult

LONGEST_NAME = 28


def bench_lines(bench: "BenchRecord") -> list[str]:
    """All that a person wants of a bench."""
    queries = count(bench.queries, "query", "queries")
    drawn = f" of {bench.queries_in_data:,}" if bench.sampled else ""
    return [
        emphasis(f"{queries}{drawn}, {count(bench.documents, 'document')}"),
        *quality_lines(bench),
        "",
        *latency_lines(bench.rerankers),
        "",
        *cost_lines(bench.rerankers),
        "",
        *(line for text in conclusion_lines(bench) for line in wrapped(text)),
    ]


def quality_lines(bench: "BenchRecord") -> list[str]:
    """Every metric, the best first by the deciding one, with the interval of that one."""
    from ltr.benchmark.judging import by_quality

    names, deciding = bench.rules.metrics, bench.rules.deciding
    rows = []
    for result in by_quality(bench.rerankers):
        best = result.quality[deciding]
        rows.append(
            [_named(result), *(number(result.quality[name].mean) for name in names), between(best.low, best.high)]
        )
    return table(["quality", *names, f"95 % of {deciding}"], rows, flexible=0, indent="")


def latency_lines(results: Sequence["RerankerResult"]) -> list[str]:
    """Milliseconds of a query, the fastest first; a percentile of too few times has a question mark."""
    rows = []
    for result in sorted(results, key=lambda result: result.latency.mean_ms):
        times = result.latency
        percentiles = [
            f"{_ms(getattr(times, name))}{'?' if name in times.too_few else ''}"
            for name in ("p50_ms", "p95_ms", "p99_ms")
        ]
        rows.append(
            [
                _named(result),
                *(_ms(times.mean_ms), _ms(times.std_ms), *percentiles),
                _ms(result.cold_start_ms),
                "-" if result.documents_per_second is None else f"{result.documents_per_second:,.0f}",
                "-" if result.peak_memory_mb is None else f"{result.peak_memory_mb:,.0f}",
            ]
        )
    return table(
        ["latency, ms", "mean", "std", "p50", "p95", "p99", "cold start", "docs/s", "MB"], rows, flexible=0, indent=""
    )


def cost_lines(results: Sequence["RerankerResult"]) -> list[str]:
    """What it costs by the declared prices, the balance, and who is on the front."""
    rows = []
    for result in results:
        cost = result.cost
        prices = (cost.total, cost.per_query, cost.per_document) if cost else (None, None, None)
        rows.append(
            [
                _named(result),
                *("-" if price is None else f"{price:.6f}" for price in prices),
                "undefined" if result.balance is None else f"{result.balance:,.4g}",
                "yes" if result.is_on_front else "-" if result.is_reference else "no",
            ]
        )
    return table(["cost", "total", "per query", "per document", "balance", "front"], rows, flexible=0, indent="")


def conclusion_lines(bench: "BenchRecord") -> list[str]:
    """What to choose, how sure that is, and who is missing."""
    chosen, rules = bench.conclusions, bench.rules
    lead = ""
    for test in bench.comparisons[:1]:  # the best against the next
        ends = between(test.low, test.high, signed)
        lead = f", {signed(test.difference)} {ends} over {visible(test.b)} (Holm p {test.p_holm:.4f})"
    balance = f"best balance, {rules.deciding} / (mean seconds * {rules.cost_weight:g})"
    return [
        f"best quality: {visible(chosen.best_quality or '-')}{lead}",
        f"lowest latency: {visible(chosen.lowest_latency or '-')}",
        f"{balance}: {visible(chosen.best_balance or '-')}",
        f"front (nothing is better in quality, latency and cost): {visible(', '.join(chosen.front) or '-')}",
        *(f"{visible(missing.name)}: left out: {visible(missing.why)}" for missing in bench.left_out),
        *(f"{visible(missing.name)}: failed: {visible(missing.why)}" for missing in bench.failed),
    ]


def _named(result: "RerankerResult") -> str:
    return shortened(visible(result.name), LONGEST_NAME)


def _ms(value: float) -> str:
    """Milliseconds with three digits.

    >>> _ms(0.0123), _ms(12.345), _ms(1234.5)
    ('0.012', '12.3', '1,234')
    """
    return f"{value:.3f}" if value < 1 else f"{value:.3g}" if value < 1000 else f"{value:,.0f}"
