"""What a long training leaves on its way, so that it can go on after it was killed: checkpoints/ of its run."""

import hashlib
import re
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ltr.errors import FileError
from ltr.files.atomic_write import remove_leftovers, write_bytes
from ltr.files.filesystem_operations import make_directory, remove
from ltr.files.path_arguments import AnyPath
from ltr.files.reading import read_bytes
from ltr.storage.model_file import LARGEST_ARRAYS
from ltr.storage.run_record import TaskRecord
from ltr.training.epochs_and_progress import Progress

CHECKPOINTS, TASK, PROGRESS = "checkpoints", "task.json", "progress.json"
CHECKPOINT = re.compile(r"(task|progress)\.json")
FORMAT = "ltr-checkpoint/2"


class _Progress(msgspec.Struct):
    format: str
    w: list[float]
    history: list[float]
    watched: list[float]
    best: list[float] | None
    checksum: str  # of the numbers


def write_checkpoint(directory: AnyPath, task: TaskRecord, progress: Progress) -> None:
    """The progress, after the task it belongs to."""
    home = make_directory(Path(directory, CHECKPOINTS))
    remove_leftovers(home)
    if not _is_of(directory, task):
        remove(home / PROGRESS)  # of another task
        write_bytes(home / TASK, msgspec.json.encode(task))
    best = None if progress.best is None else progress.best.tolist()
    numbers = (progress.w.tolist(), list(progress.history), list(progress.watched), best)
    write_bytes(home / PROGRESS, msgspec.json.encode(_Progress(FORMAT, *numbers, _checksum(*numbers))))


def _is_of(directory: AnyPath, task: TaskRecord) -> bool:
    """Whether what is kept there belongs to the task; what cannot be read belongs to none."""
    try:
        return read_task(directory) == task
    except FileError:
        return False


def _checksum(*numbers: list[float] | None) -> str:
    return hashlib.sha256(msgspec.json.encode(numbers)).hexdigest()


def read_task(directory: AnyPath) -> TaskRecord | None:
    """The task whose progress is kept in the run; None without one."""
    path = Path(directory, CHECKPOINTS, TASK)
    return _decoded(path, TaskRecord) if path.exists() else None


def read_progress(directory: AnyPath) -> Progress | None:
    """Where the training stood; None where it had not come so far."""
    path = Path(directory, CHECKPOINTS, PROGRESS)
    if not path.exists():
        return None
    record = _decoded(path, _Progress)
    best = None if record.best is None else np.array(record.best)
    if record.format != FORMAT:
        raise FileError(str(path), f"not a checkpoint of the format {FORMAT}")
    if record.checksum != _checksum(record.w, record.history, record.watched, record.best):
        raise FileError(str(path), "its checksum does not fit its numbers: damaged; add --overwrite to start anew")
    return Progress(np.array(record.w), tuple(record.history), tuple(record.watched), best, str(path))


def _decoded(path: Path, kind: Any) -> Any:
    try:
        return msgspec.json.decode(read_bytes(path, limit=LARGEST_ARRAYS), type=kind)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FileError(str(path), f"not a checkpoint: {error}") from error
