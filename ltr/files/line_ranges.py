"""Lines of files that are read again and again: ranges of bytes of a file, or copies in temporary files."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from ltr.errors import DiskError, FileError
from ltr.files.reading import (
    BLOCK,
    BYTE_ORDER_MARK,
    STDIN,
    AnyPath,
    read_blocks,
    reason,
    regular_file,
    shown,
    split_lines,
)

AT_ONCE = 32 << 20  # bytes of lines that wait to be written
BLANK = b" \t\r\n"


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a plain file, from one byte to another; the first has this number among the lines of all files."""

    path: str
    first: int
    begin: int
    end: int
    modified: tuple[int, int]  # length and time of the file when its lines were counted

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Number and content of each line."""
        return enumerate(split_lines(self._blocks(), self.path), start=self.first)

    def _blocks(self) -> Iterator[bytes]:
        with regular_file(self.path) as file:
            if _modified(file.fileno()) != self.modified:
                raise FileError(shown(self.path), "was changed while it was read")
            left = self.end - file.seek(self.begin)
            while left > 0:
                block = file.read(min(left, BLOCK))
                if not block:
                    raise FileError(shown(self.path), "was changed while it was read")
                yield block.removeprefix(BYTE_ORDER_MARK) if left == self.end else block
                left -= len(block)


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
        numbers = np.fromfile(names[1], dtype=np.int64).tolist()
        return zip(numbers, split_lines(read_blocks(names[0]), names[0]), strict=True)

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


def _names(folder: str, part: int) -> tuple[Path, Path]:
    return Path(folder, f"{part}.lines"), Path(folder, f"{part}.numbers")


def can_be_sought(path: AnyPath) -> bool:
    """Whether lines of the file can be read again from any byte on: a plain file of lines, no array around them."""
    name = os.fspath(path)
    if name == STDIN or name.endswith((".gz", ".zst")):
        return False
    with suppress(StopIteration):
        return not next(read_blocks(path)).removeprefix(BYTE_ORDER_MARK).lstrip(BLANK).startswith(b"[")
    return True


def line_ranges(path: AnyPath, before: int, firsts: Sequence[int]) -> list[LineRange]:
    """The lines of a plain file in ranges, each from one of the rising numbers `firsts` on, the first of them 1.

    `before`: how many lines the files before it have.
    """
    with regular_file(path) as file:
        modified = _modified(file.fileno())
    begins = [*_line_starts(path, firsts), modified[0]]
    if len(begins) == 1:  # an empty file
        return [LineRange(os.fspath(path), before + 1, 0, 0, modified)]
    return [
        LineRange(os.fspath(path), before + first, begin, end, modified)
        for first, (begin, end) in zip(firsts, pairwise(begins), strict=True)
    ]


def _line_starts(path: AnyPath, numbers: Sequence[int]) -> Iterator[int]:
    """The byte at which each line begins, of rising numbers."""
    wanted = iter(numbers)
    number, passed, line = next(wanted, None), 0, 1  # the line that the next byte belongs to
    for block in read_blocks(path):
        at, last = 0, line + block.count(b"\n")
        while number is not None and number <= last:
            while line < number:
                at, line = block.index(b"\n", at) + 1, line + 1
            yield passed + at
            number = next(wanted, None)
        passed, line = passed + len(block), last


def _modified(descriptor: int) -> tuple[int, int]:
    status = os.fstat(descriptor)
    return status.st_size, status.st_mtime_ns
