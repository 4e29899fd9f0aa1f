"""What a run directory says: written file by file when a run ends, read again for the page of an older run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from ltr.data.jsonlines import records
from ltr.files.atomic_write import write_bytes, write_lines, write_text
from ltr.files.crash_recovery import put_back
from ltr.files.path_arguments import AnyPath
from ltr.files.reading import read_bytes, read_lines
from ltr.storage.evaluation_records import ExampleRecord, MetricsRecord, QueryRecord, ToolRecord
from ltr.storage.model_file import LARGEST_DOCUMENT, MODEL, ModelRecord
from ltr.storage.record_reader import Json, read_record
from ltr.storage.run_directory import BY_TOOL, CONFIG, CURVES, EXAMPLES, HISTORY, METRICS, PER_QUERY
from ltr.storage.run_file_lookup import run_file
from ltr.storage.run_record import RUN, RUN_FORMAT, RunRecord
from ltr.storage.training_record import EpochRecord

NEEDED = {"": "a line as ltr writes it is needed"}
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True)
class StoredQueries:
    """The records of the queries of a run, read from their file one by one, each time they are asked for."""

    path: Path

    def __iter__(self) -> Iterator[QueryRecord]:
        return (query for _, query in records(self.path, read_lines(self.path), QueryRecord, NEEDED))


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContents:
    """The records of a run; an evaluation has metrics, curves and queries alone."""

    path: str
    record: RunRecord
    is_recorded: bool  # an evaluation has no run.json
    metrics: MetricsRecord
    model: ModelRecord | None
    curves: dict[str, dict[str, list[float]]]
    history: list[EpochRecord]
    queries: Iterable[QueryRecord]
    examples: list[ExampleRecord]
    tools: list[ToolRecord]
    config: str

    @property
    def name(self) -> str:
        """The name of the run in its record; without one that of its directory."""
        return self.record.name or Path(self.path).name or self.path


def write_run(run: RunContents) -> None:
    """Write the files of a run into its directory: all but the model, run.json and the page."""
    home = Path(run.path)
    write_text(home / CONFIG, run.config)
    write_lines(home / HISTORY, map(msgspec.json.encode, run.history))
    write_summary(home, run.metrics, run.curves)
    if not isinstance(run.queries, StoredQueries):  # those were written as they came
        write_lines(home / PER_QUERY, map(msgspec.json.encode, run.queries))
    write_lines(home / EXAMPLES, map(msgspec.json.encode, run.examples))
    write_tools(home, run.tools)


def write_summary(directory: AnyPath, metrics: MetricsRecord, curves: Mapping[str, Json]) -> None:
    """metrics.json, and curves.json where a metric is a curve."""
    if curves:
        write_bytes(Path(directory, CURVES), msgspec.json.encode(curves) + b"\n")
    write_bytes(Path(directory, METRICS), msgspec.json.format(msgspec.json.encode(metrics), indent=2) + b"\n")


def write_tools(directory: AnyPath, tools: Sequence[ToolRecord]) -> None:
    """by_tool.jsonl, where there are tools."""
    if tools:
        write_lines(Path(directory, BY_TOOL), map(msgspec.json.encode, tools))


def read_run(directory: AnyPath) -> RunContents:
    """The run, or the evaluation, in the directory. Its files are untrusted: types are checked, texts stay texts."""
    home = put_back(directory)
    record = _optional(home / RUN, RunRecord)
    config = home / CONFIG
    return RunContents(
        path=home.as_posix(),
        record=record or RunRecord(format=RUN_FORMAT),
        is_recorded=record is not None,
        metrics=read_record(run_file(home, METRICS), MetricsRecord),
        model=_optional(home / MODEL, ModelRecord),
        curves=_optional(home / CURVES, dict[str, dict[str, list[float]]]) or {},
        history=_lines(home / HISTORY, EpochRecord),
        queries=_lines(home / PER_QUERY, QueryRecord),
        examples=_lines(home / EXAMPLES, ExampleRecord),
        tools=_lines(home / BY_TOOL, ToolRecord),
        config=read_bytes(config, limit=LARGEST_DOCUMENT).decode("utf-8", "replace") if config.exists() else "",
    )


def _optional(path: Path, kind: type[Kind]) -> Kind | None:
    return read_record(path, kind) if path.exists() else None


def _lines(path: Path, kind: type[Kind]) -> list[Kind]:
    return [line for _, line in records(path, read_lines(path), kind, NEEDED)] if path.exists() else []
