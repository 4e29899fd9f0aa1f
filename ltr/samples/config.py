"""The section `data` of a config: where samples and catalogues lie, and how held-out data are split off."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from ltr.errors import FileError
from ltr.paths import STDIN, expand
from ltr.samples.candidates import GIVEN_IN_PYTHON

PATHS = ("train", "valid", "test", "calibrate", "tools", "graphs")
SHARES = ("valid", "test", "calibrate")  # paths, or shares of the training traces
NO_SHARE = "; a share is a number between 0 and 1 without quotes, such as 0.2"


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Where the samples are. Paths are relative to the config file."""

    train: str | tuple[str, ...] = ()
    """Samples to learn from: files or globs."""
    valid: str | tuple[str, ...] | float | None = None
    """Samples that stop the training and choose l2: files, globs, or a share of the training traces."""
    test: str | tuple[str, ...] | float | None = None
    """Samples to measure on: files, globs, or a share of the training traces, drawn by the seed."""
    calibrate: str | tuple[str, ...] | float = 0.1
    """Samples that choose when to abstain, and nothing else: files, globs, or a share of the training traces."""
    split: Literal["trace", "time"] = "trace"
    """How shares and folds are taken out: by trace, drawn by the seed; or the latest traces, by time."""
    tools: str | None = None
    """A catalogue that gives the texts of tools."""
    graphs: str | None = None
    """A catalogue that gives the trees of graphs."""
    negatives: Literal["catalogue"] | int | None = None
    """Tools of the catalogue as further candidates of each query: all up to 200 of them, beyond 30; or so many."""
    previous: Literal["from_labels"] | None = None
    """What was done before in the trace: null, as the samples say it; from_labels, the right tools before."""
    texts: bool = True
    """Whether a run keeps the texts of queries in its records; false: a hash of each in its place."""

    def __post_init__(self) -> None:
        wrong = []
        for key in PATHS:
            value = getattr(self, key)
            names = value if isinstance(value, tuple) else (value,)
            if any(isinstance(name, str) and not name.strip() for name in names):
                wrong.append(f"{key} is blank; a path is needed")
        for key in SHARES:
            share = getattr(self, key)
            if isinstance(share, float) and not 0 < share < 1:
                wrong.append(f"{key} {share} is not a share between 0 and 1")
            if isinstance(share, str) and share.endswith("%"):
                wrong.append(f"{key} {share!r}: write a share as a number between 0 and 1, such as 0.2")
        if isinstance(self.negatives, int) and self.negatives < 1:
            wrong.append(f"negatives {self.negatives} is no number of candidates; catalogue, or 1 or more, is needed")
        if wrong:
            raise ValueError(*wrong)

    def with_paths(self, renamed: Callable[[str], str], keys: Iterable[str] = PATHS) -> Self:
        """Return the section with other names of files and globs; shares and stdin stay."""
        changes: dict[str, Any] = {}
        for key in keys:
            value = getattr(self, key)
            if isinstance(value, str | tuple):
                names = (value,) if isinstance(value, str) else value
                changed = tuple(name if name in (STDIN, *GIVEN_IN_PYTHON) else renamed(name) for name in names)
                changes[key] = changed[0] if isinstance(value, str) else changed
        return replace(self, **changes)

    def missing_files(self) -> Iterator[tuple[tuple[str | int, ...], str]]:
        """Yield each file or glob that stands for no file: where it is written, and what is wrong with it."""
        for key in PATHS:
            value = getattr(self, key)
            several = isinstance(value, tuple)
            for index, name in enumerate(value if several else (value,)):
                if not isinstance(name, str) or name in (STDIN, *GIVEN_IN_PYTHON):
                    continue
                try:
                    problem = "" if all(map(os.path.exists, expand(name))) else f"{name}: no such file or directory"
                except FileError as error:
                    problem = str(error)
                if problem:
                    at = ("data", key, index) if several else ("data", key)
                    yield at, problem + (NO_SHARE if key in SHARES else "")

    def sources(self) -> dict[str, str | tuple[str, ...]]:
        """Return the files and globs of the section, by key."""
        values = ((key, getattr(self, key)) for key in PATHS)
        return {key: value for key, value in values if value is not None and not isinstance(value, float)}
