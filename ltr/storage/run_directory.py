"""A run directory: every file whole or absent, run.json last, with the checksums of all others."""

import os
import platform
import sys
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec

from ltr import __version__
from ltr.data.columns import SourceFile
from ltr.errors import DiskError, UsageError
from ltr.files.naming import path_from
from ltr.files.reading import STDIN, AnyPath, reason, shown
from ltr.files.writing import TEMPORARY, make_directory, remove, write_bytes, write_lines
from ltr.storage.checkpoints import CHECKPOINTS, holds_only_checkpoints, remove_leftovers
from ltr.storage.model_file import ARRAYS, MODEL
from ltr.storage.run_record import RUN, TOOLS, InputRecord, RunRecord, file_digest, run_record
from ltr.training.kernels.passes import is_loaded

CONFIG, METRICS, CURVES, PER_QUERY, EXAMPLES, HISTORY, LOG, REPORT = (
    "config.yaml",
    "metrics.json",
    "curves.json",
    "per_query.jsonl",
    "examples.jsonl",
    "history.jsonl",
    "log.jsonl",
    "report.html",
)
FILES = (MODEL, ARRAYS, CONFIG, METRICS, CURVES, PER_QUERY, EXAMPLES, HISTORY, LOG, TOOLS, REPORT)
OURS = (RUN, *FILES)  # run.json goes first, comes last
EVALUATION = (METRICS, CURVES, PER_QUERY)


def claim(directory: AnyPath, *, overwrite: bool, ours: Sequence[str] = OURS) -> Path:
    """The directory, made if it is not there, and emptied of what it holds of ours if that is to be overwritten.

    Checkpoints stay: they may be of the run that is being written.
    """
    for name in refuse_taken(directory, overwrite=overwrite, ours=ours):
        if name != CHECKPOINTS:
            remove(Path(directory, name))
    home = make_directory(directory)
    remove_leftovers(home)
    return home


def refuse_taken(directory: AnyPath, *, overwrite: bool, ours: Sequence[str] = OURS) -> list[str]:
    """The files of ours that the directory holds; refused unless they may be overwritten.

    Only a run is overwritten: run.json says that it is one; so does, when its writing was broken off, that
    nothing else lies there. config.yaml may be the user's own: it is written after model.json.
    """
    path = Path(directory)
    try:
        names = sorted(entry.name for entry in path.iterdir())
    except FileNotFoundError:
        names = []
    except NotADirectoryError as error:
        raise UsageError(f"{path}: not a directory; one of its own is needed") from error
    except (OSError, ValueError) as error:
        raise DiskError(str(path), reason(error)) from error
    refuse_unwritable(path)
    is_trained = RUN in ours and CHECKPOINTS in names and holds_only_checkpoints(path / CHECKPOINTS)
    begun = [CHECKPOINTS] if is_trained else []
    own = [name for name in (*ours, *begun) if name in names]
    foreign = [name for name in names if name not in own and not TEMPORARY.fullmatch(name)]
    is_begun = not foreign and RUN not in names and (CONFIG not in names or MODEL in names)
    if names and not (is_begun or (RUN in ours and run_record(path) is not None)):
        raise UsageError(f"{path}: holds other things, such as {(foreign or own)[0]!r}; name another directory")
    if own == [CHECKPOINTS] and not overwrite:
        raise UsageError(f"{path}: holds a training that was broken off; add --resume to go on, or --overwrite")
    if own and not overwrite:
        raise UsageError(f"{path}: holds a result; add --overwrite, or name another directory")
    return own


def refuse_unwritable(directory: Path) -> None:
    """Raise before the work where its result could not be kept."""
    nearest = next(parent for parent in (directory, *directory.absolute().parents) if os.path.lexists(parent))
    if not nearest.is_dir():
        raise DiskError(str(directory), f"{nearest.name} is not a directory")
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise DiskError(str(directory), f"{nearest} cannot be written to")


def recorded_task(directory: AnyPath) -> dict[str, Any] | None:
    """The task of a complete run, as its record tells it; None without one."""
    record = run_record(directory)
    return None if record is None else record.task


def is_whole(directory: AnyPath) -> bool:
    """Whether the run is complete, and every file that its record names is still there."""
    record = run_record(directory)
    return record is not None and all(
        name in OURS and Path(directory, name).is_file() for name in record.artifacts or ("",)
    )


def write_log(directory: AnyPath, events: Iterable[Mapping[str, Any]]) -> None:
    """log.jsonl: what happened, and how long it took."""
    write_lines(Path(directory, LOG), map(msgspec.json.encode, events))


def write_record(directory: AnyPath, record: RunRecord) -> None:
    """run.json: the run is complete, and this is what its files were."""
    written = {name: file_digest(Path(directory, name)) for name in FILES if Path(directory, name).exists()}
    document = msgspec.structs.replace(record, artifacts=written, machine=machine())
    write_bytes(Path(directory, RUN), msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")


def inputs(files: Iterable[SourceFile], directory: Path) -> list[InputRecord]:
    """Path, length and sha256 of each file that was read, the content decompressed."""
    named = {file.path: file for file in files}
    return [InputRecord(_as_text(path, directory), file.byte_count, file.sha256) for path, file in named.items()]


def _as_text(path: str, directory: Path) -> str:
    """The path from the directory; from ~ where only the file is below it, so that nobody reads whose home it is."""
    if path == shown(STDIN):
        return path
    from_home = path_from(Path.home(), path)
    is_relative = from_home.startswith("../") or not path_from(Path.home(), directory).startswith("../")
    text = path_from(directory, path) if is_relative else f"~/{from_home}"
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def machine() -> dict[str, Any]:
    """Versions and hardware that the last bits of a number may depend on."""
    import numpy as np

    config: Any = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]
    versions = {"numba": version("numba")} if is_loaded() else {}
    return {
        "ltr": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        **versions,
        "blas": f"{blas.get('name')} {blas.get('version')}",
        "cpu_features": config["SIMD Extensions"].get("found", []),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "byteorder": sys.byteorder,
    }
