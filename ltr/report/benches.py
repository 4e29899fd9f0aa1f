"""The page of a bench: quality, latency and cost of rerankers, and which of them nothing beats in all."""

from pathlib import Path
from typing import Any

import msgspec

from ltr.files import AnyPath
from ltr.report.blocks import Block, Page, Points, Row, Section, Table, Text
from ltr.report.charts import Estimate, Words, drawn_table, estimates
from ltr.report.figures import NONE, count, share, short, signed, span
from ltr.report.planes import Point, front
from ltr.report.reading import decoded, document

BENCH = "bench.json"


class Quality(msgspec.Struct):
    """A metric with its interval."""

    mean: float | None = None
    low: float | None = None
    high: float | None = None


class Latency(msgspec.Struct):
    """Times of a query."""

    mean_ms: float | None = None
    std_ms: float | None = None
    p50_ms: float | None = None
    p95_ms: float | None = None
    p99_ms: float | None = None
    n: int = 0
    too_few: list[str] = []


class Cost(msgspec.Struct):
    """What declared prices come to."""

    total: float | None = None
    per_query: float | None = None
    per_document: float | None = None


class Reranker(msgspec.Struct):
    """One row of a bench."""

    name: str
    what: str = ""
    revision: str | None = None
    quality: dict[str, Quality] = {}
    latency: Latency = msgspec.field(default_factory=Latency)
    cold_start_ms: float | None = None
    documents_per_second: float | None = None
    peak_memory_mb: float | None = None
    cost: Cost | None = None
    balance: float | None = None
    is_on_front: bool = False


class Missing(msgspec.Struct):
    """A reranker without figures."""

    name: str
    why: str = ""


class Compared(msgspec.Struct):
    """Two rerankers, query by query."""

    metric: str
    a: str
    b: str
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    p_holm: float | None = None


class Bench(msgspec.Struct):
    """bench.json."""

    name: str
    queries: int
    documents: int
    seed: int = 0
    sampled: bool = False
    rules: dict[str, Any] = {}
    rerankers: list[Reranker] = []
    left_out: list[Missing] = []
    failed: list[Missing] = []
    comparisons: list[Compared] = []
    conclusions: dict[str, Any] = {}
    warnings: list[str] = []


def read_bench(directory: AnyPath) -> Bench:
    """The bench that lies there."""
    return document(Path(directory, BENCH), Bench)


def bench_in(path: Path, content: bytes) -> Bench:
    """The bench that the content of a bench.json tells."""
    return decoded(path, content, Bench)


def bench_view(bench: Bench, made: str = "") -> Page:
    """The page of the bench."""
    deciding = str(bench.rules.get("deciding", next(iter(bench.rerankers[0].quality), "")) if bench.rerankers else "")
    sections = [
        Section("Conclusions", (Points(tuple(_conclusions(bench))),)),
        Section("Quality and latency", tuple(_front(bench, deciding))),
        Section("Quality", tuple(_quality(bench, deciding))),
        Section("Latency", (_latency(bench), *_few(bench))),
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


def _conclusions(bench: Bench) -> list[str]:
    labels = {"best_quality": "Best quality", "lowest_latency": "Lowest latency", "best_balance": "Best balance"}
    told = [f"{label}: {found}." for key, label in labels.items() if (found := bench.conclusions.get(key))]
    front = bench.conclusions.get("front")
    if isinstance(front, list) and front:
        told.append(
            f"On the front, which nothing beats in quality, latency and cost together: {', '.join(map(str, front))}."
        )
    missing = len(bench.left_out) + len(bench.failed)
    return [
        *told,
        *bench.warnings,
        *([f"{count(missing, 'reranker')} without figures, told below."] if missing else []),
    ]


def _front(bench: Bench, deciding: str) -> list[Block]:
    points, rows = [], []
    for each in bench.rerankers:
        quality = each.quality.get(deciding, Quality())
        rows.append(
            (
                each.name,
                short(each.latency.mean_ms),
                share(quality.mean),
                span(quality.low, quality.high),
                "yes" if each.is_on_front else "no",
            )
        )
        if quality.mean is not None and each.latency.mean_ms is not None:
            tip = f"{each.name}: {deciding} {share(quality.mean)}, {short(each.latency.mean_ms)} ms"
            points.append(
                Point(each.name, each.latency.mean_ms, quality.mean, quality.low, quality.high, each.is_on_front, tip)
            )
    table = Table("Quality over latency", ("reranker", "mean ms", deciding, "95 %", "on the front"), tuple(rows))
    words = Words(
        f"{deciding} over latency",
        "Up is better, left is faster (powers of ten). Filled points lie on the front: "
        "nothing is better, faster and cheaper.",
        table,
    )
    figure = front(words, points, ("mean latency per query, ms", deciding))
    return [figure] if figure else [table]


def _quality(bench: Bench, deciding: str) -> list[Block]:
    names = list(dict.fromkeys(name for each in bench.rerankers for name in each.quality))
    rows = tuple(
        (each.name, *(cell for name in names for cell in _interval(each.quality.get(name, Quality()))))
        for each in bench.rerankers
    )
    heads = ("reranker", *(head for name in names for head in (name, "95 %")))
    table = Table("Quality with 95 % intervals", heads, rows)
    drawn = [
        Estimate(each.name, found.mean, found.low, found.high, tip=f"{each.name} {share(found.mean)}")
        for each in bench.rerankers
        for found in [each.quality.get(deciding, Quality())]
    ]
    title = f"{deciding} of each reranker"
    numbers = drawn_table(title, ("reranker", deciding), drawn)
    figure = estimates(Words(title, f"{deciding} with its 95 % bootstrap interval.", numbers), drawn, zero=True)
    return [*([figure] if figure else []), table]


def _interval(found: Quality) -> tuple[str, str]:
    return share(found.mean), span(found.low, found.high)


def _latency(bench: Bench) -> Table:
    heads = ("reranker", "mean ms", "std", "p50", "p95", "p99", "n", "cold start ms", "documents/s", "peak MB")
    return Table("Time of a query, one after the other", heads, tuple(map(_times, bench.rerankers)))


def _times(each: Reranker) -> Row:
    found = each.latency
    times = {
        "mean_ms": found.mean_ms,
        "std_ms": found.std_ms,
        "p50_ms": found.p50_ms,
        "p95_ms": found.p95_ms,
        "p99_ms": found.p99_ms,
    }
    few = {name.removesuffix("_ms") for name in found.too_few}
    told = [f"{short(value)}{' *' if name.removesuffix('_ms') in few else ''}" for name, value in times.items()]
    return (
        each.name,
        *told,
        f"{found.n:,}",
        *map(short, (each.cold_start_ms, each.documents_per_second, each.peak_memory_mb)),
    )


def _few(bench: Bench) -> list[Text]:
    return (
        [Text("* too few times for this percentile: a guess from the slowest.")]
        if any(each.latency.too_few for each in bench.rerankers)
        else []
    )


def _cost(bench: Bench) -> Table:
    rows = tuple(
        (
            each.name,
            *map(short, (each.cost.total, each.cost.per_query, each.cost.per_document) if each.cost else (None,) * 3),
            short(each.balance),
        )
        for each in bench.rerankers
    )
    return Table(
        "Cost by declared prices, and quality over latency",
        ("reranker", "total", "per query", "per document", "balance"),
        rows,
    )


def _tests(bench: Bench) -> Table:
    rows = tuple(
        (
            f"{each.a} against {each.b}",
            each.metric,
            signed(each.difference),
            span(each.low, each.high),
            short(each.p),
            short(each.p_holm),
        )
        for each in bench.comparisons
    )
    return Table(
        "Paired tests", ("rerankers", "metric", "difference", "95 %", "p", "Holm p"), rows, words=frozenset({0, 1})
    )


def _missing(caption: str, missing: list[Missing]) -> Table:
    return Table(
        caption, ("reranker", "why"), tuple((each.name, each.why) for each in missing), words=frozenset({0, 1})
    )


def _what(bench: Bench) -> Table:
    rows = tuple((each.name, each.what, each.revision or NONE) for each in bench.rerankers)
    return Table("Rerankers", ("reranker", "what", "revision"), rows, words=frozenset({0, 1, 2}))


def _rules(bench: Bench) -> Table:
    rows = (("seed", str(bench.seed)), *((key, str(value)) for key, value in bench.rules.items()))
    return Table("Rules", ("rule", "value"), rows, words=frozenset({0, 1}))
