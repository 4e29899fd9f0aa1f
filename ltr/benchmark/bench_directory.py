"""The directory of a bench: each measurement under a digest of all that decides it, then the results."""

import hashlib
import math
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from ltr.benchmark.config import relocated_bench
from ltr.benchmark.isolated_measurement import Measurement, Task
from ltr.benchmark.reranker_comparison import Bench
from ltr.configtext import yaml_and_schema_output
from ltr.data.jsonlines import encode_lines
from ltr.errors import FileError, UsageError
from ltr.experiments.resume import refuse_other_task
from ltr.files.atomic_write import TEMPORARY, write_bytes, write_lines, write_text
from ltr.files.filesystem_operations import make_directory, remove
from ltr.files.output_replacement import DirectoryKind, new_directory, refuse_foreign
from ltr.files.reading import read_bytes
from ltr.reporting.bench_page import bench_view
from ltr.reporting.lines import tsv_line
from ltr.reporting.page import page_html
from ltr.reporting.reranker_tables import bench_tables
from ltr.reporting.table import tsv_rows
from ltr.results.queries import query_records
from ltr.storage.bench_record import BENCH
from ltr.storage.checkpoints import CHECKPOINTS
from ltr.storage.evaluation_records import QueryRecord
from ltr.storage.run_directory import REPORT

CONFIG, SAMPLED, PER_QUERY = "config.yaml", "sampled.jsonl", "per_query.jsonl"
TABLES = {"quality": "quality.tsv", "latency": "latency.tsv", "cost": "cost.tsv"}
RESULTS = (BENCH, CONFIG, SAMPLED, PER_QUERY, *TABLES.values(), REPORT)  # bench.json goes first, comes last
MEASURED, TASK = "measured", "task.json"
MEASUREMENT = re.compile(r"[0-9a-f]{32}\.json|task\.json")
LARGEST_FILE = 1 << 30


class BenchSettings(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a config that decide a measurement."""

    seed: int
    catalogue: bool
    sample: int | None
    timed: int | None
    repeats: int
    warm_up: int


class BenchTask(msgspec.Struct, frozen=True, kw_only=True):
    """task.json: what decides a measurement besides the reranker."""

    settings: BenchSettings
    inputs: dict[str, str]  # sha256 of each file, by its path
    machine: dict[str, str | int | list[str] | None]


class Identity(msgspec.Struct, frozen=True, kw_only=True):
    """What decides a measurement of the reranker's own."""

    name: str
    options: dict[str, object]
    revision: str
    source: str


class BenchQuery(QueryRecord, kw_only=True):
    """A line of per_query.jsonl: a query of a reranker."""

    reranker: str
    latency_ms: float | None  # mean; None: it was not timed


def _is_bench(home: Path) -> bool:
    """Whether measurements lie there, of a complete bench or of one that was broken off."""
    return (home / MEASURED / TASK).exists() or {entry.name for entry in home.iterdir()} == {CHECKPOINTS}


BENCH_KIND = DirectoryKind(files=RESULTS, folders={MEASURED: MEASUREMENT, CHECKPOINTS: MEASUREMENT}, is_one=_is_bench)


def refuse_taken_bench(home: Path, *, may_go_on: bool) -> None:
    """Raise unless the directory is free, or a bench that may be replaced or gone on with; before the work."""
    if refuse_foreign(home, BENCH_KIND) and not may_go_on:
        raise UsageError(f"{home}: holds a bench; add --resume to keep what was measured, or --overwrite")


def refuse_other_bench(home: Path, task: BenchTask) -> None:
    """Raise where the directory holds measurements of another task; a bench that was broken off comes first."""
    path = next((home / name / TASK for name in (CHECKPOINTS, MEASURED) if (home / name / TASK).exists()), None)
    if path is not None:
        refuse_other_task(home, _read_task(path), task)


def _read_task(path: Path) -> BenchTask:
    try:
        return msgspec.json.decode(read_bytes(path, limit=LARGEST_FILE), type=BenchTask)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FileError(str(path), f"not the task of a bench: {error}; add --overwrite to start anew") from error


def begin_bench(home: Path, task: BenchTask, *, resume: bool) -> None:
    """Make the directory of the measurements to come; with `resume` those of the same task stay.

    They are made beside an earlier bench, which stays complete until the new one is.
    """
    refuse_taken_bench(home, may_go_on=True)
    if resume:
        refuse_other_bench(home, task)
    folder = make_directory(home / CHECKPOINTS)
    for path in [*folder.iterdir()]:
        if not resume or TEMPORARY.fullmatch(path.name):
            remove(path)
    write_bytes(folder / TASK, msgspec.json.encode(task))


def measurement_file(home: Path, task: BenchTask, identity: Identity, *, resume: bool) -> Path:
    """The file of a measurement, named by a digest of the task and of the reranker; one that is there, if any is."""
    content = msgspec.json.encode([task, identity], order="sorted")
    name = f"{hashlib.sha256(content).hexdigest()[:32]}.json"
    earlier = home / MEASURED / name
    return earlier if resume and earlier.exists() else home / CHECKPOINTS / name


def read_measurement(path: Path, task: Task) -> Measurement | None:
    """The measurement in the file, which must fit the task; None where there is no such file."""
    if not path.exists():
        return None
    try:
        measurement = msgspec.json.decode(read_bytes(path, limit=LARGEST_FILE), type=Measurement)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FileError(str(path), f"not a measurement: {error}; remove it to measure again") from error
    if not measurement.answers(task):
        raise FileError(str(path), "not a measurement of these queries; remove it to measure again")
    return measurement


def write_bench(bench: Bench, home: Path, *, resume: bool) -> None:
    """Write the results and the measurements as a directory that replaces what is there."""
    with new_directory(home) as new:
        write_results(bench, new)
        folder, begun, earlier = make_directory(new / MEASURED), home / CHECKPOINTS, home / MEASURED
        is_continued = resume and earlier.exists() and _read_task(earlier / TASK) == _read_task(begun / TASK)
        for source in (earlier, begun) if is_continued else (begun,):
            for path in sorted(source.iterdir()):
                if MEASUREMENT.fullmatch(path.name):
                    write_bytes(folder / path.name, read_bytes(path, limit=LARGEST_FILE))


def write_results(bench: Bench, home: Path) -> None:
    """The results of a bench, without the measurements."""
    write_text(home / CONFIG, yaml_and_schema_output.yaml_text(relocated_bench(bench.config, home)))
    candidates = bench.groups.candidates
    keys = zip(candidates.traces.tolist(), candidates.node_ids, strict=True)
    sampled = ({"trace_id": candidates.trace_ids[code], "node_id": node} for code, node in keys)
    write_lines(home / SAMPLED, encode_lines(sampled))
    write_lines(home / PER_QUERY, encode_lines(bench_queries(bench)))
    tables = bench_tables(bench.record)
    for name, file in TABLES.items():
        write_lines(home / file, (tsv_line(row).encode() for row in tsv_rows(tables[name])))
    write_text(home / REPORT, page_html(bench_view(bench.record)))
    write_bytes(home / BENCH, msgspec.json.format(msgspec.json.encode(bench.record), indent=2) + b"\n")


def bench_queries(bench: Bench) -> Iterator[BenchQuery]:
    """Each query of each reranker, with its mean latency and its metrics."""
    for result, measurement, ranking in zip(bench.record.rerankers, bench.measurements, bench.rankings, strict=True):
        times: dict[int, list[float]] = {}
        for index, elapsed in enumerate(measurement.latencies_ms):
            times.setdefault(measurement.timed[index % len(measurement.timed)], []).append(elapsed)
        values = {name: ranking.evaluation.values[name].tolist() for name in bench.config.metrics}
        for number, query in enumerate(query_records(ranking)):
            latencies = times.get(number)
            metrics = {name: None if math.isnan(column[number]) else column[number] for name, column in values.items()}
            yield BenchQuery(
                **msgspec.structs.asdict(query) | {"metrics": metrics},
                reranker=result.name,
                latency_ms=sum(latencies) / len(latencies) if latencies else None,
            )
