"""A run directory: what lies in it, and run.json with the checksums of all other files."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ltr.errors import FileError, UsageError
from ltr.files.atomic_write import write_bytes, write_lines
from ltr.files.output_replacement import DirectoryKind, refuse_foreign
from ltr.files.path_arguments import AnyPath
from ltr.storage.checkpoints import CHECKPOINT, CHECKPOINTS
from ltr.storage.evaluation_records import MetricsRecord
from ltr.storage.model_file import ARRAYS, MODEL
from ltr.storage.record_reader import read_record
from ltr.storage.run_provenance import machine
from ltr.storage.run_record import RUN, TOOLS, RunRecord, TaskRecord, file_digest, run_record
from ltr.storage.update_state import TRAINING

CONFIG, METRICS, CURVES, PER_QUERY, BY_TOOL, EXAMPLES, HISTORY, LOG, REPORT = (
    "config.yaml",
    "metrics.json",
    "curves.json",
    "per_query.jsonl",
    "by_tool.jsonl",
    "examples.jsonl",
    "history.jsonl",
    "log.jsonl",
    "report.html",
)
FILES = (MODEL, ARRAYS, CONFIG, METRICS, CURVES, PER_QUERY, BY_TOOL, EXAMPLES, HISTORY, LOG, TOOLS, TRAINING, REPORT)


def _is_run(directory: Path) -> bool:
    """Whether run.json says so, or nothing but the checkpoints of a training that was broken off lie there."""
    return run_record(directory) is not None or {entry.name for entry in directory.iterdir()} == {CHECKPOINTS}


def _is_evaluation(directory: Path) -> bool:
    try:
        return bool(read_record(directory / METRICS, MetricsRecord))
    except FileError:
        return False


EARLIER = ("update.npz", "compacted.npz")  # of runs that an earlier version made: they are replaced like any other
RUN_KIND = DirectoryKind(files=(*FILES, RUN, *EARLIER), folders={CHECKPOINTS: CHECKPOINT}, is_one=_is_run)
EVALUATION_KIND = DirectoryKind(files=(METRICS, CURVES, PER_QUERY, BY_TOOL), is_one=_is_evaluation)


def refuse_taken(directory: AnyPath, *, overwrite: bool, kind: DirectoryKind = RUN_KIND) -> None:
    """Raise unless the directory is free, or holds an earlier result of the kind, which may be overwritten."""
    names = refuse_foreign(directory, kind)
    if names == [CHECKPOINTS] and not overwrite:
        raise UsageError(f"{directory}: holds a training that was broken off; add --resume to go on, or --overwrite")
    if names and not overwrite:
        raise UsageError(f"{directory}: holds a result; add --overwrite, or name another directory")


def recorded_task(directory: AnyPath) -> TaskRecord | None:
    """The task of a complete run, as its record tells it; None without one."""
    record = run_record(directory)
    return None if record is None else record.task


def is_whole(directory: AnyPath) -> bool:
    """Whether the run is complete, and every file that its record names is still there."""
    record = run_record(directory)
    return record is not None and all(
        name in FILES and Path(directory, name).is_file() for name in record.artifacts or ("",)
    )


def write_log(directory: AnyPath, events: Iterable[Mapping[str, Any]]) -> None:
    """log.jsonl: what happened, and how long it took."""
    write_lines(Path(directory, LOG), map(msgspec.json.encode, events))


def write_record(directory: AnyPath, record: RunRecord) -> None:
    """run.json: the run is complete, and this is what its files were."""
    written = {name: file_digest(Path(directory, name)) for name in FILES if Path(directory, name).exists()}
    document = msgspec.structs.replace(record, artifacts=written, machine=machine())
    write_bytes(Path(directory, RUN), msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
