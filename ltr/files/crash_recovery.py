"""What a process that was killed between two renames has put aside stands again where it stood."""

import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from ltr.files.system_lock import locked_directory

RENAMING = 1.0  # seconds for another process to finish its renames, which take less than one of them


def put_back(path: str | os.PathLike[str]) -> Path:
    """The path. If nothing is there, and an earlier directory or earlier files lie beside it, they are put back.

    They lie there when the process that replaced them was killed between its renames: see `output_replacement`. A
    process that is still at work holds their lock; its result is waited for.
    """
    place = Path(path)
    if place.name in ("", "..") or os.path.lexists(place):
        return place
    with suppress(ValueError):  # of a NUL
        real = Path(os.path.realpath(place.parent), place.name)  # q/../q leads nowhere without q
        for aside, restore in ((earlier_directory(real), _directory), (earlier_files(real), _files)):
            if os.path.isdir(aside) and not aside.is_symlink():  # noqa: PTH112  # False for a name that no file can have
                _restored(aside, real, restore)
    return place


def earlier_directory(place: Path) -> Path:
    """Where the directory lies that is being replaced."""
    return place.with_name(f".{place.name}.old")


def earlier_files(place: Path) -> Path:
    """Where the file and those that belong to it lie while they are replaced."""
    return place.with_name(f".{place.name}.old-files")


def newly_named(aside: Path) -> Path:
    """Where an empty file stands for each of the files that replace nothing: after a kill they are removed again."""
    return aside / ".new"


def _restored(aside: Path, place: Path, restore: Callable[[Path, Path], None]) -> None:
    deadline = time.monotonic() + RENAMING
    while not os.path.lexists(place) and time.monotonic() < deadline:
        with suppress(OSError):  # where nothing can be renamed, the reader says what it misses
            try:
                descriptor = locked_directory(aside)
            except BlockingIOError:
                time.sleep(0.01)
                continue
            try:
                if not os.path.lexists(place):
                    restore(aside, place)
            finally:
                if descriptor is not None:
                    os.close(descriptor)
        return


def _directory(aside: Path, place: Path) -> None:
    aside.rename(place)


def _files(aside: Path, place: Path) -> None:
    """The file itself last: as long as it is missing, the others are not sure to be the earlier ones."""
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
