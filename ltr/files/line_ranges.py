"""Lines of a file that are read again and again, as ranges of its bytes."""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise

from ltr.errors import FileError
from ltr.files.path_arguments import STDIN, AnyPath, shown
from ltr.files.reading import BLOCK, BYTE_ORDER_MARK, read_blocks, regular_file, split_lines

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
