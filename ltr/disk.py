"""Single steps on the disk: a failure names the path, a name survives a power cut, a lock ends with its process."""

import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ltr.errors import DiskError, reason
from ltr.paths import AnyPath

TEMPORARY = re.compile(r"\.ltr-[0-9a-f]{16}\.tmp")


def temporary_name() -> str:
    """Return the name of a file that is being written."""
    return f".ltr-{os.urandom(8).hex()}.tmp"


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Turn failures of the system in the block into errors that name the path."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise DiskError(str(path), reason(error)) from error


def refuse_special(path: Path) -> None:
    """Raise for what a rename would wrongly replace: a directory, a link, a pipe, a device such as /dev/null."""
    with disk_errors(path):
        mode = path.lstat().st_mode if os.path.lexists(path) else stat.S_IFREG
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "a directory", stat.S_IFLNK: "a link"}
        kind = kinds.get(stat.S_IFMT(mode), "not a regular file")
        raise DiskError(str(path), f"{kind}; it cannot be replaced")


def sync_directory(directory: Path) -> None:
    """Make the names in the directory durable: a power cut takes none of them back."""
    if sys.platform == "win32":  # a directory cannot be opened there, and a rename is durable without
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(path: AnyPath, *, sweep: bool = False) -> Path:
    """Return the directory, made with its parents when it is not there.

    With `sweep`, files that a killed process was writing there are removed: nobody else writes there at the time.
    """
    directory = Path(path)
    with disk_errors(directory):
        directory.mkdir(parents=True, exist_ok=True)
    for entry in directory.iterdir() if sweep else ():
        if TEMPORARY.fullmatch(entry.name):
            remove(entry)
    return directory


def remove(path: AnyPath) -> None:
    """Remove the file, if it is there."""
    with disk_errors(Path(path)):
        Path(path).unlink(missing_ok=True)


def lock_directory(directory: Path) -> int | None:
    """Lock the directory, and return the descriptor that holds the lock; None where directories cannot be locked.

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


@contextmanager
def held(directory: Path) -> Iterator[bool]:
    """Hold the lock of the directory for the block; False where directories cannot be locked."""
    descriptor = lock_directory(directory)
    try:
        yield descriptor is not None
    finally:
        if descriptor is not None:
            os.close(descriptor)
