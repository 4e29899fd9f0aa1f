"""A table is declared once, a column for each value of an item; and its four forms: terminal, TSV, Markdown, a page."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from enum import Enum, Flag, auto
from functools import partial
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
    without_zero,
)


class Bounds(NamedTuple):
    """The two ends of an interval; None where a single unit has none."""

    low: float | None
    high: float | None


class Guess(NamedTuple):
    """A number that rests on too little."""

    value: float


def _between(written: Callable[[float], str], ends: Bounds) -> str:
    return between(ends.low, ends.high, written)


def _span(written: Callable[[float | None], str], ends: Bounds) -> str:
    return span(ends.low, ends.high, written)


class Kind(Enum):
    """What a column holds: how its values are written on a terminal, and on a page."""

    TEXT = str, str
    WRITTEN = "{}".format, str  # what was written before: a number among numbers of other kinds, to the right
    COUNT = "{:,}".format, "{:,}".format
    ROUNDED = "{:,.0f}".format, "{:,.0f}".format
    SHARE = "{:.3f}".format, share
    DIFFERENCE = "{:+.3f}".format, signed
    EFFECT = "{:+.2f}".format, signed
    PROBABILITY = p_value, p_value  # of a test
    SCORE = "{:.3f}".format, short
    AMOUNT = "{:.4g}".format, short
    LOSS = "{:.4f}".format, short
    NEAR_LOSS = "{:.4f}".format, "{:.4f}".format  # losses that are compared with each other
    Z = "{:.1f}".format, short
    WEIGHT = weight, short
    MILLISECONDS = milliseconds, short
    BALANCE = "{:,.4g}".format, short
    PRICE = "{:.6f}".format, short
    INTERVAL = partial(_between, without_zero), partial(_span, share)
    WEIGHT_INTERVAL = partial(_between, weight), partial(_span, short)
    AMOUNT_INTERVAL = partial(_between, "{:.4g}".format), partial(_span, short)

    def __init__(self, on_terminal: Callable[[Any], str], on_page: Callable[[Any], str]) -> None:
        self.on_terminal, self.on_page = on_terminal, on_page

    @property
    def is_interval(self) -> bool:
        """Whether its values are Bounds: two cells in a file."""
        return self in (Kind.INTERVAL, Kind.WEIGHT_INTERVAL, Kind.AMOUNT_INTERVAL)


Value = str | int | float | Bounds | Guess | None
TableRow = tuple[Value, ...]


class Medium(Flag):
    """Where a table is shown."""

    TERMINAL = auto()
    TSV = auto()
    PAGE = auto()  # in HTML and in Markdown
    WIDE = TSV | PAGE
    SHOWN = TERMINAL | PAGE
    EVERYWHERE = TERMINAL | TSV | PAGE
    NOWHERE = 0


@dataclass(frozen=True, slots=True)
class Column:
    """What the values below it are, how they are read of an item, how they are written, and where they are shown."""

    key: str  # in TSV; an interval has two columns there, KEY.low and KEY.high
    title: str
    kind: Kind = Kind.TEXT
    media: Medium = Medium.EVERYWHERE
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

    >>> columns = Column("real", "number"), Column("square", "square", value=lambda number: number**2)
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
