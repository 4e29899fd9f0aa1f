"""The files of a bench: bench.json last, which says that all others are there."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ltr.benchmark.config import relocated, render
from ltr.benchmark.judging import Row
from ltr.benchmark.measurements import BENCH, CONFIG, PER_QUERY, SAMPLED, TABLES
from ltr.benchmark.verdict import Bench
from ltr.files.writing import cell, encode_lines, write_bytes, write_lines, write_text
from ltr.reporting.report import bench_page
from ltr.results.query_records import query_records
from ltr.storage.run_directory import REPORT


def write_bench(bench: Bench, home: Path) -> None:
    """All of it in the directory."""
    write_text(home / CONFIG, render(relocated(bench.config, home)))
    write_lines(home / SAMPLED, encode_lines(sampled(bench)))
    write_lines(home / PER_QUERY, encode_lines(per_query(bench)))
    for name, file in TABLES.items():
        rows = tables(bench)[name]
        write_lines(home / file, ("\t".join(map(cell, row)).encode() for row in rows))
    document = msgspec.json.encode(bench.document())
    write_text(home / REPORT, bench_page(home, document))
    write_bytes(home / BENCH, msgspec.json.format(document, indent=2) + b"\n")


def sampled(bench: Bench) -> Iterator[dict[str, Any]]:
    """The queries that were drawn, in the order of the data."""
    candidates = bench.groups.candidates
    for group, code in enumerate(candidates.traces.tolist()):
        yield {"trace_id": candidates.trace_ids[code], "node_id": candidates.node_ids[group]}


def per_query(bench: Bench) -> Iterator[dict[str, Any]]:
    """Each query of each reranker as `evaluate` keeps it, with the mean time it took, null if it was not timed."""
    for row, measurement, measured in zip(bench.rows, bench.measurements, bench.measured, strict=True):
        times: dict[int, list[float]] = {}
        for index, elapsed in enumerate(measurement.latencies_ms):
            times.setdefault(measurement.timed[index % len(measurement.timed)], []).append(elapsed)
        for place, record in enumerate(query_records(measured)):
            took = times.get(place)
            latency = sum(took) / len(took) if took else None
            yield {"reranker": row.name, **msgspec.to_builtins(record), "latency_ms": latency}


def tables(bench: Bench) -> dict[str, list[list[Any]]]:
    """Quality, latency and cost, a row a reranker under one of headers."""
    return {"quality": _quality(bench), "latency": _latency(bench.rows), "cost": _cost(bench.rows)}


def _quality(bench: Bench) -> list[list[Any]]:
    metrics = bench.config.metrics
    heads = [f"{name}{end}" for name in metrics for end in ("", ".low", ".high")]
    rows = [[each.name, *(value for name in metrics for value in _interval(each.quality[name]))] for each in bench.rows]
    return [["reranker", *heads], *rows]


def _latency(rows: Sequence[Row]) -> list[list[Any]]:
    times = ("mean_ms", "std_ms", "p50_ms", "p95_ms", "p99_ms", "n")
    rest = ("cold_start_ms", "documents_per_second", "peak_memory_mb")
    found = [
        [each.name, *(getattr(each.latency, key) for key in times), *(getattr(each, key) for key in rest)]
        for each in rows
    ]
    return [["reranker", *times, *rest], *found]


def _cost(rows: Sequence[Row]) -> list[list[Any]]:
    prices = ("total", "per_query", "per_document")
    found = [
        [
            each.name,
            *(getattr(each.cost, key, None) for key in prices),
            each.balance,
            "yes" if each.is_on_front else "no",
        ]
        for each in rows
    ]
    return [["reranker", *prices, "balance", "is_on_front"], *found]


def _interval(quality: Any) -> Sequence[float]:
    return quality.mean, quality.low, quality.high
