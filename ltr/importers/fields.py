"""Files of columns between white space, such as those of TREC: line numbers and tokens, a block of lines at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.errors import SampleError
from ltr.files import AnyPath, Fingerprint, read_line_blocks, shown
from ltr.jsonlines import excerpt

IS_WHITE = np.isin(np.arange(256), list(b" \t\n\r\x0b\x0c"))
NEWLINE = 10


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a format: how many a line has, the fewest it may have, what they are called, which are wanted."""

    width: int
    least: int
    form: str
    wanted: tuple[int, ...]


Columns = tuple[IntArray, list[list[bytes]]]  # line numbers, and the tokens of each wanted column


def read_fields(path: AnyPath, layout: Layout, fingerprint: Fingerprint) -> Iterator[Columns]:
    """The wanted columns. Lines that are blank or begin with # are skipped; columns beyond the last are let be."""
    for first, block in read_line_blocks(path, fingerprint=fingerprint):
        if is_regular(block, layout.width):
            tokens = block.split()
            lines = np.arange(first, first + len(tokens) // layout.width)
            yield lines, [tokens[column :: layout.width] for column in layout.wanted]
        else:
            yield _line_by_line(path, first, block, layout)


def is_regular(block: bytes, width: int) -> bool:
    r"""Whether each of the lines has so many columns and none is a comment or not UTF-8; then one split serves all.

    >>> is_regular(b"a b\nc  d\r\n", 2), is_regular(b"a\nb c d\n", 2), is_regular(b"# d\n", 2)
    (True, False, False)
    """
    if not block.isascii() or b"#" in block:
        return False
    characters = np.frombuffer(block, dtype=np.uint8)
    is_white = IS_WHITE[characters]
    starts = np.flatnonzero(is_white[:-1] & ~is_white[1:]) + 1
    if not is_white[0]:
        starts = np.concatenate([[0], starts])
    ends = np.flatnonzero(characters == NEWLINE)
    if len(starts) != width * len(ends):
        return False
    return bool((starts[width - 1 :: width] < ends).all() and (starts[width::width] > ends[:-1]).all())


def _line_by_line(path: AnyPath, first: int, block: bytes, layout: Layout) -> Columns:
    lines: list[int] = []
    columns: list[list[bytes]] = [[] for _ in layout.wanted]
    for number, line in enumerate(block.split(b"\n"), start=first):
        tokens = line.split()
        if not tokens or tokens[0].startswith(b"#"):
            continue
        if len(tokens) < layout.least:
            problem = f"found {len(tokens)} columns; {layout.form} is needed"
            raise SampleError(shown(path), number, "", problem)
        try:
            line.decode()
        except UnicodeDecodeError as error:
            raise SampleError(shown(path), number, "", f"byte {error.start + 1} is not UTF-8") from None
        lines.append(number)
        for column, place in zip(columns, layout.wanted, strict=True):
            column.append(tokens[place])
    return np.array(lines, dtype=np.int64), columns


def as_numbers(path: AnyPath, lines: IntArray, tokens: list[bytes], field: str) -> FloatArray:
    """The tokens as finite numbers; the first that is none is refused."""
    try:
        values = np.array(list(map(float, tokens)), dtype=np.float64)
        if np.isfinite(values).all() and b"_" not in b" ".join(tokens):  # float takes 1_000 for a number
            return values
    except ValueError:
        pass
    bad = next(place for place, token in enumerate(tokens) if not _is_number(token))
    problem = f"found {excerpt(tokens[bad].decode())}; a finite number is needed"
    raise SampleError(shown(path), int(lines[bad]), field, problem)


def _is_number(token: bytes) -> bool:
    try:
        return bool(np.isfinite(float(token))) and b"_" not in token
    except ValueError:
        return False
