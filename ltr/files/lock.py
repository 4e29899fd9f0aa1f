"""Locks of directories, and what a process that was killed while it held one has left: it is put back.

A directory, or files that belong together, are replaced by renames (`directory`). Between two of them nothing stands
under the name; what stood there lies aside, and whoever looks for it next puts it back.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ltr.disk import held, lock_directory, make_directory
from ltr.errors import RunError
from ltr.paths import AnyPath

RENAMING = 1.0  # seconds for another process to finish its renames, which take less than one of them
WAIT = 0.05  # seconds between two looks whether another process still writes


@contextmanager
def locked(directory: AnyPath, *, wait: bool = False) -> Iterator[None]:
    """Lock the directory for this process; make it if it is not there, and remove it if it stays empty.

    Where another process holds the lock, wait for it, or raise a RunError. The system releases the lock when the
    process dies, however it dies. Where directories cannot be locked, as on some network disks and on Windows, two
    processes can write at the same time.
    """
    while True:
        path = put_back(directory)
        made = [folder for folder in (path, *path.parents) if not os.path.lexists(folder)]
        try:
            descriptor = _lock(path)
            break
        except BlockingIOError:
            if not wait:
                problem = "another process is writing there; wait, or name another directory"
                raise RunError(f"{path}: {problem}") from None
            time.sleep(WAIT)
    try:
        yield
    finally:
        if descriptor is not None:
            os.close(descriptor)
        with suppress(OSError):  # a directory that is not empty stays
            for folder in made:
                folder.rmdir()


def _lock(path: Path) -> int | None:
    """Return the descriptor that holds the lock; None where directories cannot be locked."""
    while True:
        try:
            descriptor = lock_directory(make_directory(path))
        except FileNotFoundError:  # another process has just replaced it
            continue
        if descriptor is None:
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                return descriptor
        os.close(descriptor)  # of a directory that another process has replaced meanwhile


def put_back(path: str | os.PathLike[str]) -> Path:
    """Return the path; if nothing is there, and an earlier directory or earlier files lie beside it, put them back.

    They lie there when the process that replaced them was killed between its renames: see `directory`. A
    process that is still at work holds their lock; its result is waited for.
    """
    place = Path(path)
    if place.name in ("", "..") or os.path.lexists(place):
        return place
    with suppress(ValueError):  # of a NUL
        real = Path(os.path.realpath(place.parent), place.name)  # q/../q leads nowhere without q
        for aside, restore in ((earlier_directory(real), _put_directory), (earlier_files(real), _put_files)):
            if os.path.isdir(aside) and not aside.is_symlink():  # noqa: PTH112  # False for a name that no file can have
                _restored(aside, real, restore)
    return place


def earlier_directory(place: Path) -> Path:
    """Return where the directory lies that is being replaced."""
    return place.with_name(f".{place.name}.old")


def earlier_files(place: Path) -> Path:
    """Return where the file and those that belong to it lie while they are replaced."""
    return place.with_name(f".{place.name}.old-files")


def newly_named(aside: Path) -> Path:
    """Return where an empty file stands for each file that replaces nothing: after a kill these are removed again."""
    return aside / ".new"


def _restored(aside: Path, place: Path, restore: Callable[[Path, Path], None]) -> None:
    deadline = time.monotonic() + RENAMING
    while not os.path.lexists(place) and time.monotonic() < deadline:
        with suppress(OSError):  # where nothing can be renamed, the reader says what it misses
            try:
                with held(aside):
                    if not os.path.lexists(place):
                        restore(aside, place)
            except BlockingIOError:
                time.sleep(0.01)
                continue
        return


def _put_directory(aside: Path, place: Path) -> None:
    aside.rename(place)


def _put_files(aside: Path, place: Path) -> None:
    """Put back the file itself last: as long as it is missing, the others are not sure to be the earlier ones."""
    new = newly_named(aside)
    for mark in sorted(new.rglob("*")):
        if not mark.is_dir():
            (place.parent / mark.relative_to(new)).unlink(missing_ok=True)
            mark.unlink()
    for path in sorted(aside.rglob("*")):
        if not path.is_dir() and path != aside / place.name:
            path.replace(place.parent / path.relative_to(aside))
    if os.path.lexists(aside / place.name):
        (aside / place.name).replace(place)
    for folder in sorted(aside.rglob("*"), reverse=True):
        folder.rmdir()
    aside.rmdir()
