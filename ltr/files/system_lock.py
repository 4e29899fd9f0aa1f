"""The lock of the system on a directory."""

import os
import sys
from pathlib import Path


def locked_directory(directory: Path) -> int | None:
    """The descriptor that holds the lock of the directory; None where directories cannot be locked.

    BlockingIOError: another process holds it.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    except FileNotFoundError:
        raise
    except OSError:
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:
        os.close(descriptor)
        return None
    return descriptor
