"""The page of a bench: quality, latency and cost of rerankers, and which of them nothing beats in all."""

from collections.abc import Sequence

import msgspec

from ltr.reporting.blocks import Block, Page, Points, Row, Section, Table, Text
from ltr.reporting.charts import Estimate, Words, drawn_table, estimates
from ltr.reporting.figures import NONE, count, share, short, signed, span
from ltr.reporting.planes import Point, front
from ltr.storage.bench_record import BenchRecord, MissingReranker

PERCENTILES = ("p50_ms", "p95_ms", "p99_ms")


def bench_view(bench: BenchRecord, made: str = "") -> Page:
    """The page of the bench."""
    sections = [
        Section("Conclusions", (Points(tuple(_conclusions(bench))),)),
        Section("Quality and latency", (_front(bench),)),
        Section("Quality", tuple(_quality(bench))),
        Section("Latency", tuple(_latency(bench))),
        Section("Cost", (_cost(bench),)),
        Section("Tests", (_tests(bench),) if bench.comparisons else ()),
        Section("Left out", (_missing("Why they were left out", bench.left_out),) if bench.left_out else ()),
        Section("Failed", (_missing("Why they failed", bench.failed),) if bench.failed else ()),
        Section("What they are, and the rules", (_what(bench), _rules(bench))),
    ]
    drawn = "a seeded sample" if bench.sampled else "all of the data"
    size = f"{count(bench.queries, 'query', 'queries')}, {count(bench.documents, 'document')}"
    subtitle = f"{count(len(bench.rerankers), 'reranker')} on {size}; {drawn}."
    return Page(f"Bench {bench.name}", subtitle, [section for section in sections if section.blocks], made)


def _conclusions(bench: BenchRecord) -> list[str]:
    chosen, deciding, lines = bench.conclusions, bench.rules.deciding, []
    by_name = {reranker.name: reranker for reranker in bench.rerankers}
    for label, name in (
        ("Best quality", chosen.best_quality),
        ("Lowest latency", chosen.lowest_latency),
        ("Best balance", chosen.best_balance),
    ):
        if name in by_name:
            quality, latency = by_name[name].quality[deciding], by_name[name].latency
            lines.append(f"{label}: {name}, {deciding} {share(quality.mean)} in {short(latency.mean_ms)} ms a query.")
    if chosen.front:
        front = ", ".join(chosen.front)
        lines.append(f"On the front, which nothing beats in quality, latency and cost together: {front}.")
    missing = len(bench.left_out) + len(bench.failed)
    without = [f"{count(missing, 'reranker')} without figures, named below."] if missing else []
    return [*lines, *bench.warnings, *without]


def _front(bench: BenchRecord) -> Block:
    deciding, rows, points = bench.rules.deciding, list[Row](), list[Point]()
    for reranker in bench.rerankers:
        quality, mean_ms = reranker.quality[deciding], reranker.latency.mean_ms
        on_front = "yes" if reranker.is_on_front else "no"
        interval = span(quality.low, quality.high)
        rows.append((reranker.name, short(mean_ms), share(quality.mean), interval, on_front))
        tip = f"{reranker.name}: {deciding} {share(quality.mean)}, {short(mean_ms)} ms"
        ends = quality.low, quality.high
        points.append(Point(reranker.name, mean_ms, quality.mean, *ends, reranker.is_on_front, tip))
    table = Table("Quality over latency", ("reranker", "mean ms", deciding, "95 %", "on the front"), tuple(rows))
    references = [reranker.name for reranker in bench.rerankers if reranker.is_reference]
    beside = f" For reference only: {', '.join(references)}." if references else ""
    words = Words(
        f"{deciding} over latency",
        "Up is better, left is faster (powers of ten). Filled points lie on the front: "
        f"nothing is better, faster and cheaper.{beside}",
        table,
    )
    return front(words, points, ("mean latency per query, ms", deciding)) or table


def _quality(bench: BenchRecord) -> list[Block]:
    deciding, names, rows, drawn = bench.rules.deciding, bench.rules.metrics, list[Row](), list[Estimate]()
    for reranker in bench.rerankers:
        quality = [reranker.quality[name] for name in names]
        cells = (cell for value in quality for cell in (share(value.mean), span(value.low, value.high)))
        rows.append((reranker.name, *cells))
        best = reranker.quality[deciding]
        tip = f"{reranker.name} {share(best.mean)}"
        drawn.append(Estimate(reranker.name, best.mean, best.low, best.high, tip=tip))
    heads = ("reranker", *(head for name in names for head in (name, "95 %")))
    table = Table("Quality with 95 % intervals", heads, tuple(rows))
    title = f"{deciding} of each reranker"
    numbers = drawn_table(title, ("reranker", deciding), drawn)
    figure = estimates(Words(title, f"{deciding} with its 95 % bootstrap interval.", numbers), drawn, zero=True)
    return [*([figure] if figure else []), table]


def _latency(bench: BenchRecord) -> list[Block]:
    heads = ("reranker", "mean ms", "std", "p50", "p95", "p99", "n", "cold start ms", "documents/s", "peak MB")
    rows = list[Row]()
    for reranker in bench.rerankers:
        times = reranker.latency
        percentiles = [f"{short(getattr(times, name))}{' *' if name in times.too_few else ''}" for name in PERCENTILES]
        rest = map(short, (reranker.cold_start_ms, reranker.documents_per_second, reranker.peak_memory_mb))
        rows.append((reranker.name, short(times.mean_ms), short(times.std_ms), *percentiles, f"{times.n:,}", *rest))
    table = Table("Time of a query, one after the other", heads, tuple(rows))
    has_few = any(reranker.latency.too_few for reranker in bench.rerankers)
    return [table, Text("* too few times for this percentile: an estimate from the slowest.")] if has_few else [table]


def _cost(bench: BenchRecord) -> Table:
    heads = ("reranker", "total", "per query", "per document", "balance")
    caption = f"Cost by declared prices; balance is {bench.rules.deciding} / (mean latency in seconds · cost_weight)"
    rows = list[Row]()
    for reranker in bench.rerankers:
        cost = reranker.cost
        prices = (cost.total, cost.per_query, cost.per_document) if cost else (None, None, None)
        rows.append((reranker.name, *map(short, (*prices, reranker.balance))))
    return Table(caption, heads, tuple(rows))


def _tests(bench: BenchRecord) -> Table:
    heads = ("rerankers", "metric", "difference", "95 %", "p", "Holm p")
    rows = [
        (
            f"{test.a} against {test.b}",
            test.metric,
            signed(test.difference),
            span(test.low, test.high),
            short(test.p),
            short(test.p_holm),
        )
        for test in bench.comparisons
    ]
    return Table("Paired tests", heads, tuple(rows), words=frozenset({0, 1}))


def _missing(caption: str, missing: Sequence[MissingReranker]) -> Table:
    rows = tuple((reranker.name, reranker.why) for reranker in missing)
    return Table(caption, ("reranker", "why"), rows, words=frozenset({0, 1}))


def _what(bench: BenchRecord) -> Table:
    rows = tuple((reranker.name, reranker.what, reranker.revision or NONE) for reranker in bench.rerankers)
    return Table("Rerankers", ("reranker", "what", "revision"), rows, words=frozenset({0, 1, 2}))


def _rules(bench: BenchRecord) -> Table:
    rules = msgspec.structs.asdict(bench.rules)
    evaluation = rules.pop("evaluation")
    values = {"seed": bench.seed, **rules, "metrics": ", ".join(bench.rules.metrics)}
    values |= msgspec.structs.asdict(evaluation) if evaluation else {}
    rows = tuple((key, str(value)) for key, value in values.items())
    return Table("Rules", ("rule", "value"), rows, words=frozenset({0, 1}))
