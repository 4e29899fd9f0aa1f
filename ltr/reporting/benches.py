"""The page of a bench: quality, latency and cost of rerankers, and which of them nothing beats in all."""

from ltr.reporting.bench_files import Bench, Compared, Cost, Missing, Quality, Reranker
from ltr.reporting.blocks import Block, Page, Points, Row, Section, Table, Text
from ltr.reporting.charts import Estimate, Words, drawn_table, estimates
from ltr.reporting.figures import NONE, count, share, short, signed, span
from ltr.reporting.planes import Point, front


def bench_view(bench: Bench, made: str = "") -> Page:
    """The page of the bench."""
    sections = [
        Section("Conclusions", (Points(tuple(_conclusions(bench))),)),
        Section("Quality and latency", (_front(bench),)),
        Section("Quality", tuple(_quality(bench))),
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
    told = [
        f"{label}: {_figures(bench, str(found))}."
        for key, label in labels.items()
        if (found := bench.conclusions.get(key))
    ]
    front = bench.conclusions.get("front")
    if isinstance(front, list) and front:
        told.append(
            f"On the front, which nothing beats in quality, latency and cost together: {', '.join(map(str, front))}."
        )
    missing = len(bench.left_out) + len(bench.failed)
    without = [f"{count(missing, 'reranker')} without figures, told below."] if missing else []
    return [*told, *bench.warnings, *without]


def _figures(bench: Bench, name: str) -> str:
    """The reranker with the figures that it is chosen by."""
    found = next((each for each in bench.rerankers if each.name == name), None)
    if found is None:
        return name
    quality = found.quality.get(bench.deciding, Quality())
    return f"{name}, {bench.deciding} {share(quality.mean)} in {short(found.latency.mean_ms)} ms a query"


def _front(bench: Bench) -> Block:
    deciding = bench.deciding
    heads = ("reranker", "mean ms", deciding, "95 %", "on the front")
    table = Table("Quality over latency", heads, tuple(_placed(each, deciding) for each in bench.rerankers))
    references = [each.name for each in bench.rerankers if each.is_reference]
    beside = f" For reference only: {', '.join(references)}." if references else ""
    words = Words(
        f"{deciding} over latency",
        "Up is better, left is faster (powers of ten). Filled points lie on the front: "
        f"nothing is better, faster and cheaper.{beside}",
        table,
    )
    points = [point for each in bench.rerankers if (point := _point(each, deciding))]
    return front(words, points, ("mean latency per query, ms", deciding)) or table


def _placed(each: Reranker, deciding: str) -> Row:
    metric, interval = _interval(each.quality.get(deciding, Quality()))
    return each.name, short(each.latency.mean_ms), metric, interval, "yes" if each.is_on_front else "no"


def _point(each: Reranker, deciding: str) -> Point | None:
    found, mean_ms = each.quality.get(deciding, Quality()), each.latency.mean_ms
    if found.mean is None or mean_ms is None:
        return None
    tip = f"{each.name}: {deciding} {share(found.mean)}, {short(mean_ms)} ms"
    return Point(each.name, mean_ms, found.mean, found.low, found.high, each.is_on_front, tip)


def _quality(bench: Bench) -> list[Block]:
    deciding = bench.deciding
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
    times = (found.mean_ms, found.std_ms, found.p50_ms, found.p95_ms, found.p99_ms)
    names = ("mean_ms", "std_ms", "p50_ms", "p95_ms", "p99_ms")
    told = [f"{short(time)}{' *' if name in found.too_few else ''}" for name, time in zip(names, times, strict=True)]
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
    heads = ("reranker", "total", "per query", "per document", "balance")
    caption = f"Cost by declared prices; balance is {bench.deciding} / (mean latency in seconds · cost_weight)"
    return Table(caption, heads, tuple(map(_prices, bench.rerankers)))


def _prices(each: Reranker) -> Row:
    cost = each.cost or Cost()
    return each.name, *map(short, (cost.total, cost.per_query, cost.per_document, each.balance))


def _tests(bench: Bench) -> Table:
    heads = ("rerankers", "metric", "difference", "95 %", "p", "Holm p")
    return Table("Paired tests", heads, tuple(map(_test, bench.comparisons)), words=frozenset({0, 1}))


def _test(each: Compared) -> Row:
    chances = map(short, (each.p, each.p_holm))
    return f"{each.a} against {each.b}", each.metric, signed(each.difference), span(each.low, each.high), *chances


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
