"""Tables with a header: CSV with commas, semicolons or bars, and TSV, a row at a time, each with its line."""

import csv
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from ltr.data.formula_cells import unmarked
from ltr.data.value_excerpts import excerpt
from ltr.errors import DataError, SampleError, count
from ltr.files.path_arguments import AnyPath, shown
from ltr.files.reading import largest_line, split_lines, utf8_blocks

DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}


@dataclass(frozen=True, slots=True)
class TableFile:
    """A file with a header, and its rows, which are read when they are asked for."""

    path: str  # as messages show it
    delimiter: str
    header: tuple[str, ...]
    rows: Iterator[tuple[int, list[str]]]  # the line that a row begins in, and its cells, as many as the header has


def read_table(path: AnyPath) -> TableFile:
    """The table in the file. A name that stands twice in the header, and a row of another width, are refused."""
    lines, above = _decoded(path), list[str]()
    for line_text in lines:
        above.append(line_text)
        if line_text.strip():
            break
    else:
        raise DataError(f"{shown(path)}: no line; a header with the names of the columns is needed")
    delimiter = delimiter_of(above[-1])
    rows = _rows(path, chain(above, lines), delimiter)
    line, names = next(rows)
    header = tuple(name.strip() for name in names)
    for name in header:
        if name and header.count(name) > 1:
            raise SampleError(shown(path), line, "", f"the header names {excerpt(name)} twice: keep one of them")
    return TableFile(shown(path), delimiter, header, _of_width(path, rows, len(header)))


def delimiter_of(header: str) -> str:
    """What stands most often between the names of a header, outside quotes; a comma where nothing does.

    >>> delimiter_of('a;"b,c,d";e')
    ';'
    """
    outside = "".join(header.split('"')[::2])
    return max(DELIMITERS, key=outside.count)


def _decoded(path: AnyPath) -> Iterator[str]:
    end = b""
    for number, line in enumerate(split_lines(utf8_blocks(path), path, with_returns=True), start=1):
        if number == 1 and line.endswith(b"\r"):
            end = b"\r"  # lines end in CRLF; in a file whose lines do not, a CR inside quotes is the cell's
        try:
            yield line.removesuffix(end).decode() + "\n"  # a quoted cell may go on in the next line
        except UnicodeDecodeError as error:
            problem = f"byte {error.start + 1} is not UTF-8; save the table as UTF-8"
            raise SampleError(shown(path), number, "", problem) from None


def _rows(path: AnyPath, lines: Iterable[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Rows of cells without their marks, each with the line it begins in; blank lines are skipped."""
    csv.field_size_limit(largest_line())  # for the whole process: 131,072 characters are less than a long message
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        begins = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            problem = "a quote is not closed" if "end of data" in str(error) or "limit" in str(error) else str(error)
            raise SampleError(shown(path), begins, "", f"{problem}; a row of a table is needed") from None
        if row is None:
            return
        if row and (len(row) > 1 or row[0].strip()):
            yield begins, [unmarked(cell) for cell in row]


def _of_width(path: AnyPath, rows: Iterator[tuple[int, list[str]]], width: int) -> Iterator[tuple[int, list[str]]]:
    for line, row in rows:
        if len(row) != width:
            problem = f"{count(len(row), 'cell')} where the header has {count(width, 'name')}"
            raise SampleError(shown(path), line, "", f"{problem}; quote a cell that holds the separator")
        yield line, row
