"""Trainings that were killed go on where they stood, if they are still the same."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import msgspec

from ltr import __version__
from ltr.columns import Data
from ltr.config.run import RunConfig, relocated
from ltr.configtext.yaml_and_schema_output import plain_values
from ltr.data.config import source_names
from ltr.data.source_files import GIVEN_IN_PYTHON, SourceFile
from ltr.errors import ResumeError
from ltr.files.path_arguments import STDIN, AnyPath, expand
from ltr.progress import OnProgress, Step
from ltr.storage.checkpoints import read_progress, read_task, write_checkpoint
from ltr.storage.plain_or_featurized_samples import fingerprinted
from ltr.storage.run_directory import is_whole, recorded_task
from ltr.storage.run_provenance import inputs
from ltr.storage.run_record import TaskRecord
from ltr.training.epochs_and_progress import Progress

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
        before = read_task(home) if resume else None
        for recorded in (before, recorded_task(home) if resume else None):
            if recorded is not None:
                refuse_other_task(home, recorded, task)
        self.progress: Progress | None = None if before is None else read_progress(home)

    def __call__(self, step: Step) -> bool | None:
        """Write a checkpoint if the last one is old enough, and pass the step on."""
        if step.epoch is not None and step.epoch.progress is not None and self._clock() - self._written_at >= EVERY:
            write_checkpoint(self.home, self.task, step.epoch.progress())
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


def is_finished(config: RunConfig, home: Path, digests: Digests) -> bool:
    """Whether the run is complete, and of the same config and data: found out without reading any sample."""
    recorded = recorded_task(home)
    names = [name for paths in source_names(config.data) for name in expand(paths)] if recorded else [STDIN]
    if not {STDIN, *GIVEN_IN_PYTHON}.isdisjoint(names) or recorded is None or not is_whole(home):
        return False
    return recorded == task_of_files(config, [digests.of(name) for name in names], home)


def task_of(config: RunConfig, data: Data, home: Path) -> TaskRecord:
    """Return what decides every number of a run: its config but for name and engine, its inputs, what computes."""
    read = [file for name in ("train", "valid", "test", "calibrate") for file in data.files.get(name, ())]
    return task_of_files(config, list(dict.fromkeys(read)), home)


def task_of_files(config: RunConfig, files: Sequence[SourceFile], home: Path) -> TaskRecord:
    """The same of a run that read these files."""
    return TaskRecord(
        config={key: value for key, value in plain_values(relocated(config, home)).items() if key not in UNDECIDING},
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
