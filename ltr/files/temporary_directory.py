"""Directories for what a command writes beside its result: gone when it ends, and at the next one if it was killed."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ltr.errors import DiskError, reason
from ltr.files.system_lock import locked_directory

PREFIX = "ltr-shards-"
YOUNG = 60.0  # seconds in which a directory may not be locked yet by whoever makes it


@contextmanager
def temporary_directory() -> Iterator[Path]:
    """A new directory in the one for temporary files, locked by this process, for the time of the block.

    Those of processes that were killed are removed first: nobody holds their locks any more.
    """
    try:
        remove_left()
        folder = tempfile.TemporaryDirectory(prefix=PREFIX, ignore_cleanup_errors=True)
    except OSError as error:
        raise DiskError(folder_shown(), reason(error)) from error
    with folder as name:
        descriptor = locked_directory(Path(name))
        try:
            yield Path(name)
        finally:
            if descriptor is not None:
                os.close(descriptor)


def folder_shown() -> str:
    """Where temporary files are made, for a message."""
    try:
        return tempfile.gettempdir()
    except OSError:  # none can be used
        return "TMPDIR"


def remove_left() -> None:
    """Remove our directories in the one for temporary files that no process holds any more."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):  # it is another user's, or another process removes it
            if not folder.is_symlink() and folder.stat().st_mtime < time.time() - YOUNG:
                _remove_unless_held(folder)


def _remove_unless_held(folder: Path) -> None:
    descriptor = locked_directory(folder)
    if descriptor is None:  # locks are unknown here: it may be held
        return
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        os.close(descriptor)
