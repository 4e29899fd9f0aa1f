"""Trainings that were killed go on where they stood, if they are still the same: checkpoints/ of a run says where."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ltr import __version__
from ltr.config import RunConfig, plain_values
from ltr.disk import make_directory, remove
from ltr.errors import FileError, ResumeError
from ltr.featurized import fingerprinted
from ltr.files import read_bytes, write_file
from ltr.paths import STDIN, AnyPath, expand
from ltr.progress import OnProgress, Step
from ltr.records.run import LARGEST_ARRAYS, TaskRecord
from ltr.runs.directory import Part, RunDirectory, inputs
from ltr.samples import GIVEN_IN_PYTHON, SourceFile
from ltr.training import Progress

TASK, PROGRESS = "task.json", "progress.json"
FORMAT = "ltr-checkpoint/2"
EVERY = 0.5  # seconds between checkpoints; a shorter training leaves none
DECIDING = ("numpy", "numba")  # packages whose version may move the last bits
UNDECIDING = ("name", "engine")  # keys of a config that change no number

Clock = Callable[[], float]


class Checkpoints:
    """Writes where a training stands, every so often; `progress` is where one that was broken off stood."""

    def __init__(self, home: Path, task: TaskRecord, on_progress: OnProgress, clock: Clock, *, resume: bool) -> None:
        self.home, self.task, self._on_progress, self._clock = home, task, on_progress, clock
        self._written_at = clock()
        self.are_written = False
        before = _read_task(home) if resume else None
        for recorded in (before, RunDirectory(home).task if resume else None):
            if recorded is not None:
                refuse_other_task(home, recorded, task)
        self.progress: Progress | None = None if before is None else _read_progress(home)

    @staticmethod
    def task_before(home: Path) -> TaskRecord | None:
        """Return the task of the run that was begun there, complete or not; None without one."""
        return _read_task(home) or RunDirectory(home).task

    def __call__(self, step: Step) -> bool | None:
        """Write a checkpoint if the last one is old enough, and pass the step on."""
        if step.epoch is not None and step.epoch.progress is not None and self._clock() - self._written_at >= EVERY:
            _write_checkpoint(self.home, self.task, step.epoch.progress())
            self.are_written, self._written_at = True, self._clock()
        return self._on_progress(step)


class Digests:
    """Fingerprints of files, each file read once."""

    def __init__(self) -> None:
        self._known: dict[str, SourceFile] = {}

    def of(self, path: str) -> SourceFile:
        """The file with its fingerprint."""
        if path not in self._known:
            self._known[path] = fingerprinted(path)
        return self._known[path]

    def are_of(self, config: RunConfig, home: Path) -> bool:
        """Whether the run there is complete, and of the same config and data: no sample is read to find out."""
        recorded = RunDirectory(home).task
        names = [name for paths in config.data.sources().values() for name in expand(paths)] if recorded else [STDIN]
        if not {STDIN, *GIVEN_IN_PYTHON}.isdisjoint(names) or recorded is None or not RunDirectory(home).is_whole:
            return False
        return recorded == _task(config, [self.of(name) for name in names], home)


def task_of(config: RunConfig, files: Mapping[str, Sequence[SourceFile]], home: Path) -> TaskRecord:
    """Return what decides every number of a run: its config but for name and engine, its files, what computes."""
    read = [file for name in ("train", "valid", "test", "calibrate") for file in files.get(name, ())]
    return _task(config, list(dict.fromkeys(read)), home)


def _task(config: RunConfig, files: Sequence[SourceFile], home: Path) -> TaskRecord:
    return TaskRecord(
        config={key: value for key, value in plain_values(config.seen_from(home)).items() if key not in UNDECIDING},
        inputs={file.path: file.sha256 for file in inputs(files, home)},
        versions={"ltr": __version__, **{name: _version(name) for name in DECIDING}},
    )


@cache
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def refuse_other_task(directory: AnyPath, before: msgspec.Struct, now: msgspec.Struct) -> None:
    """Raise, naming each difference, unless what was begun is what is asked for."""
    differing = _differences("", msgspec.to_builtins(before), msgspec.to_builtins(now))
    differences = [f"{key}: {old!r} became {new!r}" for key, old, new in differing]
    if differences:
        raise ResumeError(str(directory), tuple(differences))


def _differences(path: str, before: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for key in dict.fromkeys([*before, *now]):
            yield from _differences(f"{path}.{key}" if path else key, before.get(key), now.get(key))
    elif before != now:
        yield path, before, now


class _Progress(msgspec.Struct):
    format: str
    w: list[float]
    history: list[float]
    watched: list[float]
    best: list[float] | None
    checksum: str  # of the numbers


def _write_checkpoint(directory: AnyPath, task: TaskRecord, progress: Progress) -> None:
    """The progress, after the task it belongs to."""
    home = make_directory(Path(directory, Part.CHECKPOINTS), sweep=True)
    if not _is_of(directory, task):
        remove(home / PROGRESS)  # of another task
        write_file(home / TASK, msgspec.json.encode(task))
    best = None if progress.best is None else progress.best.tolist()
    numbers = (progress.w.tolist(), list(progress.history), list(progress.watched), best)
    write_file(home / PROGRESS, msgspec.json.encode(_Progress(FORMAT, *numbers, _checksum(*numbers))))


def _is_of(directory: AnyPath, task: TaskRecord) -> bool:
    """Whether what is kept there belongs to the task; what cannot be read belongs to none."""
    try:
        return _read_task(directory) == task
    except FileError:
        return False


def _checksum(*numbers: list[float] | None) -> str:
    return hashlib.sha256(msgspec.json.encode(numbers)).hexdigest()


def _read_task(directory: AnyPath) -> TaskRecord | None:
    """The task whose progress is kept in the run; None without one."""
    path = Path(directory, Part.CHECKPOINTS, TASK)
    return _decoded(path, TaskRecord) if path.exists() else None


def _read_progress(directory: AnyPath) -> Progress | None:
    """Where the training stood; None where it had not come so far."""
    path = Path(directory, Part.CHECKPOINTS, PROGRESS)
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
