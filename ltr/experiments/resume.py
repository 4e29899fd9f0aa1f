"""Trainings that were killed go on where they stood, if they are still the same."""

from collections.abc import Callable, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ltr import __version__
from ltr.config.run import RunConfig, relocated
from ltr.configtext.rendering import plain_values
from ltr.data.columns import SourceFile
from ltr.data.sources import source_names
from ltr.experiments.loading import Loaded
from ltr.files.reading import STDIN, expand
from ltr.storage.checkpoints import read_progress, read_task, refuse_other_task, write_checkpoint
from ltr.storage.read_samples import fingerprinted
from ltr.storage.run_directory import inputs, is_whole, recorded_task
from ltr.training.config import Epoch, OnEpoch, Progress

EVERY = 0.5  # seconds between checkpoints; a shorter training leaves none
DECIDING = ("numpy", "numba")  # packages whose version may move the last bits

Clock = Callable[[], float]


class Keeper:
    """Watches a training for its run: tells where to start, keeps where it stands."""

    def __init__(self, home: Path, config: RunConfig, on_epoch: OnEpoch, clock: Clock, *, resume: bool) -> None:
        self.home, self.config, self.on_epoch, self.clock, self.resume = home, config, on_epoch, clock, resume
        self.kept_at = clock()
        self.has_kept = False
        self.task: dict[str, Any] = {}

    def begin(self, loaded: Loaded) -> Progress | None:
        """Where to go on from, once it is sure that neither data nor config are others."""
        self.task = task_of(self.config, loaded, self.home)
        before = read_task(self.home) if self.resume else None
        for known in (before, recorded_task(self.home) if self.resume else None):
            if known is not None:
                refuse_other_task(self.home, known, self.task)
        return None if before is None else read_progress(self.home)

    def __call__(self, epoch: Epoch) -> bool | None:
        """Keep the epoch if the last one kept is old enough, and pass it on."""
        if epoch.progress is not None and self.clock() - self.kept_at >= EVERY:
            self._keep(epoch)
        return self.on_epoch(epoch)

    def _keep(self, epoch: Epoch) -> None:
        if epoch.progress is not None:
            write_checkpoint(self.home, self.task, epoch.progress())
            self.has_kept, self.kept_at = True, self.clock()


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
    known = recorded_task(home)
    names = [name for paths in source_names(config.data) for name in expand(paths)] if known else [STDIN]
    if STDIN in names or known is None or not is_whole(home):
        return False
    return known == _task(config, [digests.of(name) for name in names], home)


def task_of(config: RunConfig, loaded: Loaded, home: Path) -> dict[str, Any]:
    """What decides every number of a run: its config but for the name, its inputs, the packages that compute."""
    read = [groups.candidates for groups in (loaded.train[0], loaded.valid, loaded.test) if groups]
    return _task(config, [file for each in read for file in (*each.files, *each.catalogues)], home)


def _task(config: RunConfig, files: Sequence[SourceFile], home: Path) -> dict[str, Any]:
    found = inputs(files, home)
    return {
        "config": {key: value for key, value in plain_values(relocated(config, home)).items() if key != "name"},
        "inputs": {file.path: file.sha256 for file in found},
        "versions": {"ltr": __version__, **{name: _version(name) for name in DECIDING}},
    }


@cache
def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None
