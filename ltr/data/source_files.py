"""The files that were read, and which of them a line number that counts through all of them means."""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

FRAME, LIST, DATASET = "<data frame>", "<list>", "<dataset>"  # samples that were given in Python: they have no path
GIVEN_IN_PYTHON = (FRAME, LIST, DATASET)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was read, and how many lines the files before it have."""

    path: str
    before: int
    line_count: int = 0
    sha256: str = ""
    byte_count: int = 0


def place(files: Sequence[SourceFile], line: int) -> tuple[str, int]:
    """The file, and the line number in it, of a line number that counts through all files.

    >>> place([SourceFile("a.jsonl", 0), SourceFile("b.jsonl", 10)], 12)
    ('b.jsonl', 2)
    """
    source = files[bisect_left(files, line, key=lambda source: source.before) - 1]
    return source.path, line - source.before
