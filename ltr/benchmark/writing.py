"""The files of a bench: bench.json last, which says that all others are there."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from ltr.benchmark.config import relocated, render
from ltr.benchmark.measurements import BENCH, CONFIG, PER_QUERY, SAMPLED, TABLES
from ltr.benchmark.verdict import Bench
from ltr.files.writing import encode_lines, write_bytes, write_lines, write_text
from ltr.reporting.bench_page import bench_view, cost_table, latency_table, quality_table
from ltr.reporting.page import page_html
from ltr.reporting.table import Table, tsv_line, tsv_rows
from ltr.results.query_records import lines
from ltr.storage.run_directory import REPORT


def write_bench(bench: Bench, home: Path) -> None:
    """All of it in the directory."""
    write_text(home / CONFIG, render(relocated(bench.config, home)))
    write_lines(home / SAMPLED, encode_lines(sampled(bench)))
    write_lines(home / PER_QUERY, encode_lines(per_query(bench)))
    for name, table in tables(bench).items():
        write_lines(home / TABLES[name], (tsv_line(row).encode() for row in tsv_rows(table)))
    write_text(home / REPORT, page_html(bench_view(bench.record())))
    write_bytes(home / BENCH, msgspec.json.format(msgspec.json.encode(bench.document()), indent=2) + b"\n")


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
        for place, line in enumerate(lines(measured)):
            took = times.get(place)
            yield {"reranker": row.name, **line, "latency_ms": sum(took) / len(took) if took else None}


def tables(bench: Bench) -> dict[str, Table]:
    """Quality, latency and cost, a row a reranker in the order of the config."""
    record = bench.record()
    return {
        "quality": quality_table(record, record.rerankers),
        "latency": latency_table(record.rerankers),
        "cost": cost_table(record, record.rerankers),
    }
