"""A run directory: every file whole or absent, run.json last, with the checksums of all others."""

import hashlib
import os
import platform
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from ltr import __version__
from ltr.artifacts.model import ARRAYS, LARGEST_ARRAYS, MODEL
from ltr.columns import SourceFile
from ltr.errors import UsageError
from ltr.files import AnyPath, encode_lines, make_directory, read_bytes, remove, write_bytes, write_lines

RUN, CONFIG, METRICS, PER_QUERY, HISTORY, LOG, TOOLS = (
    "run.json",
    "config.yaml",
    "metrics.json",
    "per_query.jsonl",
    "history.jsonl",
    "log.jsonl",
    "tools.jsonl",
)
OURS = (RUN, MODEL, ARRAYS, CONFIG, METRICS, PER_QUERY, HISTORY, LOG, TOOLS)  # run.json goes first, comes last
FORMAT = "ltr-run/1"


def claim(directory: AnyPath, *, overwrite: bool) -> Path:
    """The directory, made if it is not there, and emptied of the run it holds if that is to be overwritten."""
    for name in refuse_taken(directory, overwrite=overwrite):
        remove(Path(directory, name))
    return make_directory(directory)


def refuse_taken(directory: AnyPath, *, overwrite: bool) -> list[str]:
    """The files of the run that the directory holds; refused unless they may be overwritten."""
    path = Path(directory)
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path}: a file; a run needs a directory of its own")
    found = sorted(entry.name for entry in path.iterdir()) if path.exists() else []
    held = [name for name in OURS if name in found]
    if found and not held:
        raise UsageError(f"{path}: not empty, and not a run, such as {found[0]!r}; name another directory")
    if held and not overwrite:
        raise UsageError(f"{path}: holds a run; add --overwrite, or name another directory")
    return held


def write_metrics(directory: AnyPath, metrics: Mapping[str, Any], queries: Iterable[msgspec.Struct]) -> None:
    """metrics.json, flat, and per_query.jsonl."""
    write_bytes(Path(directory, METRICS), msgspec.json.format(msgspec.json.encode(metrics), indent=2) + b"\n")
    write_lines(Path(directory, PER_QUERY), encode_lines(queries))


def write_history(directory: AnyPath, losses: Iterable[float]) -> None:
    """history.jsonl: the loss of each epoch."""
    lines = ({"epoch": number, "loss": loss} for number, loss in enumerate(losses, start=1))
    write_lines(Path(directory, HISTORY), map(msgspec.json.encode, lines))


def write_log(directory: AnyPath, events: Iterable[Mapping[str, Any]]) -> None:
    """log.jsonl: what happened, and how long it took."""
    write_lines(Path(directory, LOG), map(msgspec.json.encode, events))


def write_record(directory: AnyPath, record: Mapping[str, Any]) -> None:
    """run.json: the run is complete, and this is what its files were."""
    written = {name: _sha256(Path(directory, name)) for name in OURS if name != RUN and Path(directory, name).exists()}
    document = {"format": FORMAT, "status": "complete", **record, "artifacts": written, "machine": machine()}
    write_bytes(Path(directory, RUN), msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")


def inputs(files: Iterable[SourceFile], directory: Path) -> list[dict[str, Any]]:
    """Path, length and sha256 of each file that was read, the content decompressed."""
    named = {file.path: file for file in files}
    return [
        {
            "path": path if path.startswith("<") else Path(os.path.relpath(path, directory)).as_posix(),
            "bytes": file.byte_count,
            "sha256": file.sha256,
        }
        for path, file in named.items()
    ]


def machine() -> dict[str, Any]:
    """Versions and hardware that the last bits of a number may depend on."""
    import numpy as np

    config: Any = np.show_config(mode="dicts")
    blas = config["Build Dependencies"]["blas"]
    return {
        "ltr": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "blas": f"{blas.get('name')} {blas.get('version')}",
        "cpu_features": config["SIMD Extensions"].get("found", []),
        "platform": platform.platform(),
        "cpus": os.cpu_count(),
        "byteorder": sys.byteorder,
    }


def _sha256(path: Path) -> str:
    return hashlib.sha256(read_bytes(path, limit=LARGEST_ARRAYS * 16)).hexdigest()
