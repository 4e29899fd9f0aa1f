"""Locks: only one process at a time writes to a directory."""

import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ltr.errors import RunError
from ltr.files.crash_recovery import put_back
from ltr.files.filesystem_operations import make_directory
from ltr.files.path_arguments import AnyPath
from ltr.files.system_lock import locked_directory

WAIT = 0.05  # seconds between two looks whether another process still writes


@contextmanager
def locked(directory: AnyPath) -> Iterator[None]:
    """Lock the directory for this process; make it if it is not there, and remove it if it stays empty.

    The system releases the lock when the process dies, however it dies. Where directories cannot be locked, as on
    some network disks and on Windows, two processes can write at the same time.
    """
    path = put_back(directory)
    made = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
    descriptor = _lock(path)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
        with suppress(OSError):  # a directory that is not empty stays
            for folder in made:
                folder.rmdir()


@contextmanager
def when_free(directory: AnyPath) -> Iterator[None]:
    """Lock the directory as `locked` does, once no other process writes there."""
    with ExitStack() as stack:
        while True:
            try:
                stack.enter_context(locked(directory))
                break
            except RunError:
                time.sleep(WAIT)
        yield


def _lock(path: Path) -> int | None:
    """The descriptor that holds the lock; None where directories cannot be locked."""
    while True:
        try:
            descriptor = locked_directory(make_directory(path))
        except BlockingIOError:
            raise RunError(f"{path}: another process is writing there; wait, or name another directory") from None
        except FileNotFoundError:  # another process has just replaced it
            continue
        if descriptor is None:
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)  # of a directory that another process has replaced meanwhile
