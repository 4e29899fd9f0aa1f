"""What a command keeps in temporary files: lines and states that it, or its workers, read again.

They lie in a directory that is gone when the command ends, and at the next one if it was killed.
"""

import math
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np

from ltr.arrays import Array, State
from ltr.disk import held
from ltr.errors import DiskError, FileError, reason
from ltr.files import TextFile
from ltr.paths import AnyPath

PREFIX = "ltr-shards-"
YOUNG = 60.0  # seconds in which a directory may not be locked yet by whoever makes it
AT_ONCE = 32 << 20  # bytes of lines that wait to be written
LARGEST_IN_MEMORY = 1 << 18  # bytes of an array of a stored state; a larger one goes to the file


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
    with folder as name, held(Path(name)):
        yield Path(name)


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
                with held(folder) as is_locked:
                    if is_locked:  # where locks are unknown, another process may use it
                        shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True, slots=True)
class StoredLines:
    """Lines in a temporary file, and their numbers in another."""

    folder: str
    part: int

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Number and content of each line."""
        names = _names(self.folder, self.part)
        if not names[0].exists():
            return iter(())
        numbers, file = np.fromfile(names[1], dtype=np.int64).tolist(), TextFile(names[0])
        return zip(numbers, (line for _, line in file.split(file.raw_blocks())), strict=True)

    def remove(self) -> None:
        """Give the space back."""
        for name in _names(self.folder, self.part):
            name.unlink(missing_ok=True)


class LineWriter:
    """Writes lines into the parts of a folder, some megabytes at a time, so that any number of parts can grow."""

    def __init__(self, folder: AnyPath) -> None:
        self.folder = os.fspath(folder)
        self.byte_count = 0
        self._lines: dict[int, list[bytes]] = {}
        self._numbers: dict[int, list[int]] = {}
        self._waiting = 0

    def write(self, part: int, number: int, line: bytes) -> None:
        """Add a line to a part; a line end inside it, which JSON allows between values, becomes a blank."""
        if part not in self._lines:
            self._lines[part], self._numbers[part] = [], []
        self._lines[part].append(line.replace(b"\n", b" "))
        self._numbers[part].append(number)
        self._waiting += len(line) + 1
        if self._waiting > AT_ONCE:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        try:
            Path(self.folder).mkdir(exist_ok=True)
            for part, lines in self._lines.items():
                names = _names(self.folder, part)
                with names[0].open("ab") as file:
                    file.write(b"\n".join([*lines, b""]))
                with names[1].open("ab") as file:
                    file.write(np.array(self._numbers[part], dtype=np.int64).tobytes())
        except OSError as error:
            raise DiskError(os.fspath(Path(self.folder).parent), reason(error)) from error
        self.byte_count += self._waiting
        self._lines, self._numbers, self._waiting = {}, {}, 0

    def part(self, number: int) -> StoredLines:
        """Return the lines of a part, as far as they are written."""
        return StoredLines(self.folder, number)


def _names(folder: str, part: int) -> tuple[Path, Path]:
    return Path(folder, f"{part}.lines"), Path(folder, f"{part}.numbers")


@dataclass(frozen=True, slots=True)
class ArrayPlace:
    """Where an array lies in a file, and what it is."""

    begin: int
    dtype: str
    shape: tuple[int, ...]
    is_turned: bool  # column after column, as it was in memory: a product may round otherwise in another order


@dataclass(frozen=True, slots=True)
class StoredState:
    """A state whose large arrays lie in a file, which any process that sees it reads when it needs them."""

    path: str
    content: Any  # the state, with an ArrayPlace for each of these arrays

    @classmethod
    def written(cls, path: Path, state: State) -> Self:
        """Write the large arrays of the state into the file.

        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder:
        ...     stored = StoredState.written(Path(folder, "one"), {"learned": {"numbers": np.arange(40_000)}})
        ...     stored.content["learned"], stored.read()["learned"]["numbers"].sum().item()
        ({'numbers': ArrayPlace(begin=0, dtype='<i8', shape=(40000,), is_turned=False)}, 799980000)
        """
        try:
            with path.open("wb") as file:

                def put(array: Array) -> Array | ArrayPlace:
                    if array.nbytes <= LARGEST_IN_MEMORY:
                        return array
                    is_turned = array.flags.f_contiguous and not array.flags.c_contiguous
                    place = ArrayPlace(file.tell(), array.dtype.str, array.shape, is_turned)
                    laid_out = np.ascontiguousarray(array.T if is_turned else array)
                    file.write(laid_out.reshape(-1).view(np.uint8).data)
                    return place

                return cls(str(path), _changed(state, np.ndarray, put))
        except OSError as error:
            raise DiskError(str(path.parent), reason(error)) from error

    def read(self) -> State:
        """Return the state, all in memory."""
        state: State = _changed(self.content, ArrayPlace, self._array)
        return state

    def _array(self, place: ArrayPlace) -> Array:
        length = math.prod(place.shape)
        try:
            numbers = np.fromfile(self.path, place.dtype, length, offset=place.begin)
        except FileNotFoundError as error:
            raise FileError(self.path, f"{reason(error)}; TMPDIR must lie where all nodes see it") from error
        except OSError as error:
            raise FileError(self.path, reason(error)) from error
        if len(numbers) < length:
            raise FileError(self.path, "is shorter than what was written")
        return numbers.reshape(place.shape, order="F" if place.is_turned else "C")


def _changed(value: Any, kind: type, change: Callable[[Any], Any]) -> Any:
    """The value, in which everything of the kind is changed; it may lie in mappings."""
    if isinstance(value, dict):
        return {key: _changed(inner, kind, change) for key, inner in value.items()}
    return change(value) if isinstance(value, kind) else value
