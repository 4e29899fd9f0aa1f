"""Locks: only one process at a time writes to a directory."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ltr.errors import RunError
from ltr.files.reading import AnyPath
from ltr.files.writing import make_directory


@contextmanager
def locked(directory: AnyPath) -> Iterator[None]:
    """Lock the directory for this process; make it if it is not there, and remove it if it stays empty.

    The system releases the lock when the process dies, however it dies. Where directories cannot be locked, as on
    some network disks and on Windows, two processes can write at the same time.
    """
    path = Path(directory)
    made = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
    descriptor = _lock(make_directory(path))
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
        with suppress(OSError):  # a directory that is not empty stays
            for folder in made:
                folder.rmdir()


def _lock(directory: Path) -> int | None:
    """The descriptor that holds the lock; None where directories cannot be locked."""
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise RunError(f"{directory}: another process is writing there; wait, or name another directory") from None
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
