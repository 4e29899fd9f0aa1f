"""Single steps on the disk, whose failure names the path."""

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ltr.errors import DiskError, reason
from ltr.files.path_arguments import AnyPath


def refuse_special(path: Path) -> None:
    """Raise for what a rename would wrongly replace: a directory, a link, a pipe, a device such as /dev/null."""
    with named_failures(path):
        mode = path.lstat().st_mode if os.path.lexists(path) else stat.S_IFREG
    if not stat.S_ISREG(mode):
        kinds = {stat.S_IFDIR: "a directory", stat.S_IFLNK: "a link"}
        kind = kinds.get(stat.S_IFMT(mode), "not a regular file")
        raise DiskError(str(path), f"{kind}; it cannot be replaced")


@contextmanager
def named_failures(path: Path) -> Iterator[None]:
    """Failures of the system in the block become errors that name the path."""
    try:
        yield
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise DiskError(str(path), reason(error)) from error


def sync_directory(directory: Path) -> None:
    """Make the names in the directory durable: a power cut takes none of them back."""
    if sys.platform == "win32":  # a directory cannot be opened there, and a rename is durable without
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(path: AnyPath) -> Path:
    """The directory, made with its parents when it is not there."""
    directory = Path(path)
    with named_failures(directory):
        directory.mkdir(parents=True, exist_ok=True)
    return directory


def remove(path: AnyPath) -> None:
    """Remove the file, if it is there."""
    with named_failures(Path(path)):
        Path(path).unlink(missing_ok=True)
