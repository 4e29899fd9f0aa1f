"""Where the samples of a run are: the paths in its config."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ltr.configtext.document import Document
from ltr.files.naming import path_from
from ltr.files.reading import STDIN

PATHS = ("train", "valid", "test", "tools", "graphs")


@dataclass(frozen=True, kw_only=True)
class DataConfig:
    """Where the samples are. Paths are relative to the config file."""

    train: str | tuple[str, ...] = ()
    """Samples to learn from: files or globs."""
    valid: str | tuple[str, ...] | float | None = None
    """Samples that stop the training and choose l2: files, globs, or a share of the training traces."""
    test: str | tuple[str, ...] | float | None = None
    """Samples to measure on: files, globs, or a share of the training traces, drawn by the seed."""
    split: Literal["trace", "time"] = "trace"
    """How shares and folds are taken out: by trace, drawn by the seed; or the latest traces, by time."""
    tools: str | None = None
    """A catalogue that gives the texts of tools."""
    graphs: str | None = None
    """A catalogue that gives the trees of graphs."""

    def __post_init__(self) -> None:
        wrong = [f"{key} is blank; a path is needed" for key in PATHS if _has_blank(getattr(self, key))]
        for name in ("valid", "test"):
            share = getattr(self, name)
            if isinstance(share, float) and not 0 < share < 1:
                wrong.append(f"{name} {share} is not a share between 0 and 1")
        if wrong:
            raise ValueError(*wrong)


def _has_blank(paths: object) -> bool:
    names = paths if isinstance(paths, tuple) else (paths,)
    return any(isinstance(name, str) and not name.strip() for name in names)


def resolved(data: DataConfig, document: Document, base: Path) -> DataConfig:
    """The data with the paths that stand in the file put against its directory; flags mean the current one."""
    changes: dict[str, Any] = {}
    for key in PATHS:
        value, place = getattr(data, key), document.place(("data", key))
        if place.source != document.source or value is None or isinstance(value, float):
            continue
        names = (value,) if isinstance(value, str) else value
        joined = tuple(name if name == STDIN else str(base / _from_home(name)) for name in names)
        changes[key] = joined[0] if isinstance(value, str) else joined
    return replace(data, **changes)


def _from_home(name: str) -> Path:
    return Path.home() / name[2:] if name.startswith("~/") else Path(name)


def source_names(data: DataConfig) -> tuple[str | tuple[str, ...], ...]:
    """The files and globs that a run reads."""
    values = (getattr(data, key) for key in PATHS)
    return tuple(value for value in values if value is not None and not isinstance(value, float))


def moved(data: DataConfig, directory: Path) -> DataConfig:
    """The same data as they are named from another directory."""
    changes: dict[str, Any] = {}
    for key in PATHS:
        value = getattr(data, key)
        if isinstance(value, str):
            changes[key] = _from(value, directory)
        elif isinstance(value, tuple):
            changes[key] = tuple(_from(name, directory) for name in value)
    return replace(data, **changes)


def _from(name: str, directory: Path) -> str:
    return name if name == STDIN else path_from(directory, name)
