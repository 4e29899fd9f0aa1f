"""A table is declared once, a column for each value of an item; and its four forms: terminal, TSV, Markdown, a page."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

from ltr.reporting.escaping import in_markdown
from ltr.reporting.lines import aligned, width_of
from ltr.reporting.number_formats import (
    NO_NUMBER,
    NONE,
    between,
    milliseconds,
    p_value,
    share,
    short,
    signed,
    span,
    weight,
)


class Bounds(NamedTuple):
    """The two ends of an interval; None where a single unit has none."""

    low: float | None
    high: float | None


class Guess(NamedTuple):
    """A number that rests on too little."""

    value: float


@dataclass(frozen=True, slots=True)
class Kind:
    """What a column holds: how its values are written on a terminal, and on a page."""

    on_terminal: Callable[[Any], str]
    on_page: Callable[[Any], str]
    is_text: bool = False
    is_interval: bool = False  # of Bounds: two cells in a file


TEXT = Kind(str, str, is_text=True)
WRITTEN = Kind(str, str)  # what was written before: a number among numbers of other kinds, to the right
COUNT = Kind("{:,}".format, "{:,}".format)
SHARE = Kind("{:.3f}".format, share)
DIFFERENCE = Kind("{:+.3f}".format, signed)
EFFECT = Kind("{:+.2f}".format, signed)
PROBABILITY = Kind(p_value, p_value)  # of a test
SCORE = Kind("{:.3f}".format, short)
AMOUNT = Kind("{:.4g}".format, short)
LOSS = Kind("{:.4f}".format, short)
Z = Kind("{:.1f}".format, short)
WEIGHT = Kind(weight, short)
MILLISECONDS = Kind(milliseconds, short)
ROUNDED = Kind("{:,.0f}".format, "{:,.0f}".format)
BALANCE = Kind("{:,.4g}".format, short)
PRICE = Kind("{:.6f}".format, short)
INTERVAL = Kind(lambda ends: between(ends.low, ends.high), lambda ends: span(ends.low, ends.high), is_interval=True)
WEIGHT_INTERVAL = Kind(
    lambda ends: between(ends.low, ends.high, weight),
    lambda ends: span(ends.low, ends.high, short),
    is_interval=True,
)
AMOUNT_INTERVAL = Kind(
    lambda ends: between(ends.low, ends.high, AMOUNT.on_terminal),
    lambda ends: span(ends.low, ends.high, short),
    is_interval=True,
)

Value = str | int | float | Bounds | Guess | None
TableRow = tuple[Value, ...]


class Medium(Enum):
    """Where a table is shown."""

    TERMINAL = "terminal"
    TSV = "tsv"
    PAGE = "page"  # in HTML and in Markdown


EVERYWHERE = frozenset(Medium)


@dataclass(frozen=True, slots=True)
class Column:
    """What the values below it are, how they are read of an item, how they are written, and where they are shown."""

    key: str  # in TSV; an interval has two columns there, KEY.low and KEY.high
    title: str
    kind: Kind = TEXT
    media: frozenset[Medium] = EVERYWHERE
    brief: str = ""  # the title where there is little room
    value: Callable[[Any], Value] | None = None  # of an item; without it the attribute KEY, or both ends of an interval


@dataclass(frozen=True, slots=True)
class Table:
    """Values under columns; the first column that holds texts names the rows."""

    kind: ClassVar[str] = "table"  # of a block of a page
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    caption: str = ""  # above it on a page
    corner: str | None = None  # the first title on a terminal, where no caption stands above
    marked: frozenset[int] = frozenset()  # rows that stand out on a page


def table_of(
    columns: Iterable[Column],
    items: Iterable[Any],
    caption: str = "",
    *,
    corner: str | None = None,
    marked: Collection[int] = (),
) -> Table:
    """Return the table with a row for each item.

    >>> columns = (Column("real", "number", COUNT), Column("square", "square", COUNT, value=lambda number: number**2))
    >>> table_of(columns, [1, 2]).rows
    ((1, 1), (2, 4))
    """
    listed = tuple(columns)
    reads = [column.value or (_ends if column.kind.is_interval else attrgetter(column.key)) for column in listed]
    rows = tuple(tuple(read(item) for read in reads) for item in items)
    return Table(listed, rows, caption, corner, frozenset(marked))


def _ends(item: Any) -> Bounds:
    """The interval of an item."""
    return Bounds(item.low, item.high)


def written_cells(table: Table, medium: Medium) -> list[list[str]]:
    """The titles, then the values of each row, as they are written; only the columns that the medium shows."""
    missing = NO_NUMBER if medium is Medium.TERMINAL else NONE
    columns: list[list[str]] = []
    for place, column in enumerate(table.columns):
        if medium not in column.media:
            continue
        write = column.kind.on_terminal if medium is Medium.TERMINAL else column.kind.on_page
        columns.append([column.title, *(_cell(row[place], write, missing) for row in table.rows)])
    return [list(row) for row in zip(*columns, strict=True)]


def _cell(value: Value, write: Callable[[Any], str], missing: str) -> str:
    """A value as it is written; a guess has a question mark."""
    if value is None or (isinstance(value, Bounds) and None in value):
        return missing
    if isinstance(value, Guess):
        return f"{write(value.value)}?"
    return value if isinstance(value, str) else write(value)


def terminal_lines(
    table: Table, width: int, *, turned: bool = False, indent: str = "", titled: Callable[[str], str] = str
) -> list[str]:
    """The table in aligned lines, the titles first. When the lines are too wide the names of the rows give way.

    `turned`: columns become rows. Where they have no room beside each other, the table stands as it is; where that
    has no room either, turned and in several blocks below each other. `titled`: how a line of titles is shown.
    """
    rows = written_cells(table, Medium.TERMINAL)
    if table.corner is not None:
        rows[0][0] = table.corner
    blocks = [rows]
    if turned:
        across = [list(row) for row in zip(*rows, strict=True)]
        widths = [max(map(width_of, column)) + 2 for column in rows]
        brief = [column.brief for column in table.columns if Medium.TERMINAL in column.media]
        straight = [[short or title for short, title in zip(brief, rows[0], strict=True)], *rows[1:]]
        if sum(widths) - 2 <= width:
            blocks = [across]
        elif sum(max(map(width_of, column)) + 2 for column in zip(*straight, strict=True)) - 2 <= width:
            blocks = [straight]
        else:
            fitting = max((width - widths[0] + 2) // max(widths[1:]), 1)
            starts = range(1, len(rows), fitting)
            blocks = [[[row[0], *row[start : start + fitting]] for row in across] for start in starts]
    lines = []
    for block in blocks:
        titles, *others = aligned(block, width, indent=indent)
        lines += [titled(titles), *others]
    return lines


def tsv_rows(table: Table) -> Iterable[list[Value]]:
    """The keys of the columns, then each row with its values as they are; an interval in two cells."""
    columns = [(place, column) for place, column in enumerate(table.columns) if Medium.TSV in column.media]
    heads: list[Value] = []
    for _, column in columns:
        ends = (f"{column.key}.low", f"{column.key}.high") if column.kind.is_interval else (column.key,)
        heads += [end.removeprefix(".") for end in ends]
    yield heads
    for row in table.rows:
        line: list[Value] = []
        for place, column in columns:
            value = row[place]
            if column.kind.is_interval:
                line += value if isinstance(value, Bounds) else (None, None)
            else:
                line.append(value.value if isinstance(value, Guess) else value)
        yield line


def markdown_lines(table: Table) -> list[str]:
    r"""The table in Markdown; no text of it marks anything up.

    >>> column = Column("tool", "tool")
    >>> markdown_lines(Table((column,), (("a|b",),)))
    ['| tool |', '| --- |', '| a\\|b |']
    """
    heads, *rows = [[in_markdown(cell) for cell in row] for row in written_cells(table, Medium.PAGE)]
    return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]
