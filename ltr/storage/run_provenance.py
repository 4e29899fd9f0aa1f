"""What the numbers of a run came from: its inputs, versions and machine."""

import os
import platform
import sys
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from ltr import __version__
from ltr.data.source_files import GIVEN_IN_PYTHON, SourceFile
from ltr.files.path_arguments import STDIN, shown
from ltr.files.relative_paths import path_from
from ltr.storage.run_record import InputRecord
from ltr.training.kernels.dispatch_by_size import is_loaded


def inputs(files: Iterable[SourceFile], directory: Path) -> list[InputRecord]:
    """Path, length and sha256 of each file that was read, the content decompressed."""
    named = {file.path: file for file in files}
    return [InputRecord(_as_text(path, directory), file.byte_count, file.sha256) for path, file in named.items()]


def _as_text(path: str, directory: Path) -> str:
    """The path from the directory; from ~ where only the file is below it, so that nobody reads whose home it is."""
    if path in (shown(STDIN), *GIVEN_IN_PYTHON):
        return path
    from_home = path_from(Path.home(), path)
    is_relative = from_home.startswith("../") or not path_from(Path.home(), directory).startswith("../")
    text = path_from(directory, path) if is_relative else f"~/{from_home}"
    return os.fsencode(text).decode("utf-8", "backslashreplace")


def machine() -> dict[str, str | int | list[str] | None]:
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
