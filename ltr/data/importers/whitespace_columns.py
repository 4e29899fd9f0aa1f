"""Files of columns between white space, such as those of TREC, read a block of lines at a time."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ltr.arrays import LARGEST, FloatArray, IntArray
from ltr.data.importers.packed_tokens import WORD, Words, as_tokens, as_words
from ltr.data.value_excerpts import excerpt
from ltr.errors import SampleError
from ltr.files.content_digests import ContentDigest
from ltr.files.path_arguments import AnyPath, shown
from ltr.files.reading import read_line_blocks

LONGEST_TOKEN = 256
FIRST_BYTES = np.array(
    [(1 << 8 * count) - 1 for count in range(9)], dtype=np.uint64
)  # the first 0 .. 8 bytes of a word
TAB, NEWLINE, RETURN, SPACE = np.frombuffer(b"\t\n\r ", dtype=np.uint8)  # the white characters: tab to return, space


@dataclass(frozen=True, slots=True)
class Layout:
    """A format: how many columns a line has, the fewest it may have, what they are called, which are wanted.

    The last wanted column is a number. Lines that begin with `comment` are none of the data.
    """

    width: int
    least: int
    form: str
    wanted: tuple[int, ...]
    comment: bytes = b"#"  # b"": there are no comments


@dataclass(frozen=True, slots=True, eq=False)
class Fields:
    """The wanted columns of some lines."""

    lines: IntArray  # numbers
    columns: list[Words]
    likely_data: int = 0  # comments that have the columns of data


def read_fields(path: AnyPath, layout: Layout, digest: ContentDigest) -> Iterator[Fields]:
    """The wanted columns. Blank lines and comments are skipped, and so are columns beyond the last."""
    for first, block in read_line_blocks(path, digest=digest):
        has_comment = layout.comment and (block.startswith(layout.comment) or b"\n" + layout.comment in block)
        edges = None if has_comment else regular_edges(block, layout.width)
        yield _line_by_line(path, first, block, layout) if edges is None else _at_edges(first, block, edges, layout)


def regular_edges(block: bytes, width: int) -> IntArray | None:
    r"""Start and end of each token, a row for each line; None unless every line is plain and has `width` columns.

    >>> regular_edges(b"a b\nc  d\r\n", 2).tolist()
    [[0, 1, 2, 3], [4, 5, 7, 8]]
    >>> regular_edges(b"a\nb c d\n", 2) is None
    True
    """
    if not block.isascii():
        return None
    characters = np.frombuffer(block, dtype=np.uint8)
    is_white = characters <= SPACE
    edges = np.flatnonzero(is_white[1:] != is_white[:-1]) + 1
    if not is_white[0]:
        edges = np.concatenate([[0], edges])
    ends = np.flatnonzero(characters == NEWLINE)
    is_odd = is_white & (characters != SPACE) & (characters - TAB > RETURN - TAB)  # wraps round below the tab
    if len(edges) != 2 * width * len(ends) or is_odd.any():
        return None
    rows = edges.reshape(-1, 2 * width)
    fits = (rows[:, -1] <= ends).all() and (rows[1:, 0] > ends[:-1]).all()
    longest = (rows[:, 1::2] - rows[:, ::2]).max(initial=0)
    return rows if fits and longest <= LONGEST_TOKEN else None


def _at_edges(first: int, block: bytes, edges: IntArray, layout: Layout) -> Fields:
    padded = block + bytes(LONGEST_TOKEN)
    windows: Words = np.ndarray(len(padded) - 7, dtype=WORD, buffer=padded, strides=(1,))  # a word from every byte on
    columns = []
    for column in layout.wanted:
        starts, ends = edges[:, 2 * column], edges[:, 2 * column + 1]
        lengths = ends - starts
        words = range(0, int(lengths.max()), 8)
        columns.append(
            np.column_stack([windows[starts + at] & FIRST_BYTES[np.clip(lengths - at, 0, 8)] for at in words])
        )
    return Fields(np.arange(first, first + len(edges)), columns)


def _line_by_line(path: AnyPath, first: int, block: bytes, layout: Layout) -> Fields:
    lines: list[int] = []
    columns: list[list[bytes]] = [[] for _ in layout.wanted]
    likely_data = 0
    for number, line in enumerate(block.split(b"\n"), start=first):
        tokens = line.split()
        if not tokens:
            continue
        if layout.comment and line.startswith(layout.comment):
            likely_data += len(tokens) >= layout.least and _is_number(tokens[layout.wanted[-1]])
            continue
        problem = _problem(line, tokens, layout)
        if problem:
            raise SampleError(shown(path), number, "", problem)
        lines.append(number)
        for column, place in zip(columns, layout.wanted, strict=True):
            column.append(tokens[place])
    return Fields(np.array(lines, dtype=np.int64), list(map(as_words, columns)), likely_data)


def _problem(line: bytes, tokens: list[bytes], layout: Layout) -> str:
    if len(tokens) < layout.least:
        return f"found {len(tokens)} columns; {layout.form} is needed"
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return f"byte {error.start + 1} is not UTF-8"
    if b"\0" in line:
        return "found a zero byte; text is needed"
    longest = max(len(tokens[place]) for place in layout.wanted)
    return f"found {longest} bytes in one column; at most {LONGEST_TOKEN} are read" if longest > LONGEST_TOKEN else ""


def as_numbers(path: AnyPath, lines: IntArray, words: Words, field: str) -> FloatArray:
    """The tokens as finite numbers with finite differences; an error names the first other token."""
    tokens = as_tokens(words)
    try:
        values = np.array(list(map(float, tokens)), dtype=np.float64)
        if (np.abs(values) <= LARGEST).all() and b"_" not in b" ".join(tokens):  # float takes 1_000 for a number
            return values
    except ValueError:
        pass
    bad = next(place for place, token in enumerate(tokens) if not _is_number(token))
    problem = f"found {excerpt(tokens[bad].decode())}; a finite number is needed, from {-LARGEST:g} to {LARGEST:g}"
    raise SampleError(shown(path), int(lines[bad]), field, problem)


def _is_number(token: bytes) -> bool:
    try:
        return abs(float(token)) <= LARGEST and b"_" not in token
    except ValueError:
        return False
