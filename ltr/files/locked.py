"""A directory that one process writes at a time."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ltr.errors import RunError
from ltr.files.reading import AnyPath
from ltr.files.writing import make_directory


@contextmanager
def held(directory: AnyPath) -> Iterator[None]:
    """The directory for this process alone; made if it is not there, and taken away again if it stays empty.

    The system lets go of it when the process dies, however it dies. Where directories cannot be locked, as on some
    network disks and on Windows, two processes are not told of each other.
    """
    path = Path(directory)
    made = [each for each in (path, *path.parents) if not os.path.lexists(each)]
    descriptor = _locked(make_directory(path))
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
        with suppress(OSError):  # something lies in it
            for each in made:
                each.rmdir()


def _locked(directory: Path) -> int | None:
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
