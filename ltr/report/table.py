"""A table is declared once, a column for each value of an item; and its four forms: terminal, TSV, Markdown, a page."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum, Flag, auto
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple

from ltr.report.words import (
    NO_NUMBER,
    NONE,
    between,
    in_markdown,
    milliseconds,
    p_value,
    share,
    short,
    shortened,
    signed,
    span,
    visible,
    weight,
    width_of,
    without_zero,
)

SHORTEST_CELL = 12  # a column of a terminal gives way down to so much


class Bounds(NamedTuple):
    """The two ends of an interval; None where a single unit has none."""

    low: float | None
    high: float | None


class Guess(NamedTuple):
    """A number that rests on too little."""

    value: float


class Kind(Enum):
    """What a column holds: how its values are written on a terminal, and on a page; and whether they are Bounds."""

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
    INTERVAL = without_zero, share, "interval"
    WEIGHT_INTERVAL = weight, short, "interval"
    AMOUNT_INTERVAL = "{:.4g}".format, short, "interval"

    def __init__(self, on_terminal: Callable[[Any], str], on_page: Callable[[Any], str], of: str = "") -> None:
        self.is_interval = of == "interval"  # its values are Bounds: two cells in a file
        self.on_terminal: Callable[[Any], str] = on_terminal
        self.on_page: Callable[[Any], str] = on_page
        if self.is_interval:
            self.on_terminal = lambda ends: between(ends.low, ends.high, on_terminal)
            self.on_page = lambda ends: span(ends.low, ends.high, on_page)


Value = str | int | float | Bounds | Guess | None
TableRow = tuple[Value, ...]


class Medium(Flag):
    """Where a column is shown."""

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
    value: str | Callable[[Any], Value] = ""  # of an item: a path, or a function; else the path KEY, or both ends

    def read(self, item: Any) -> Value:
        """Return the value of an item."""
        if callable(self.value):
            return self.value(item)
        if self.kind.is_interval:
            item = attrgetter(self.value)(item) if self.value else item
            return Bounds(item.low, item.high)
        value: Value = attrgetter(self.value or self.key)(item)
        return value


@dataclass(frozen=True, slots=True)
class Table:
    """Values under columns; the first column that holds texts names the rows.

    On a terminal the column that names the rows gives way where lines are too wide. A `turned` table shows columns as
    rows where they have room beside each other; a `folded` one continues its last column below itself, and cuts
    nothing.
    """

    kind: ClassVar[str] = "table"  # of a block of a page
    columns: tuple[Column, ...]
    rows: tuple[TableRow, ...]
    caption: str = ""  # above it on a page
    corner: str | None = None  # the first title on a terminal, where no caption stands above
    marked: frozenset[int] = frozenset()  # rows that stand out on a page
    layout: Literal["plain", "turned", "folded"] = "plain"
    indent: str = ""

    @classmethod
    def of(cls, columns: Iterable[Column], items: Iterable[Any], caption: str = "", **options: Any) -> "Table":
        """Return the table with a row for each item.

        >>> columns = Column("real", "number"), Column("square", "square", value=lambda number: number**2)
        >>> Table.of(columns, [1, 2]).rows
        ((1, 1), (2, 4))
        """
        listed = tuple(columns)
        return cls(listed, tuple(tuple(column.read(item) for column in listed) for item in items), caption, **options)

    @classmethod
    def of_texts(cls, titles: Sequence[str], rows: Iterable[Sequence[str]]) -> "Table":
        """Return a folded table of texts; titles that are all empty are not shown."""
        return cls(tuple(Column(title, title) for title in titles), tuple(map(tuple, rows)), layout="folded")

    @classmethod
    def pairs(cls, titles: tuple[str, str], rows: Iterable[tuple[str, str]], caption: str = "") -> "Table":
        """Return a table of names, each with a text."""
        return cls((Column("name", titles[0]), Column("value", titles[1])), tuple(rows), caption)

    def cells(self, medium: Medium = Medium.PAGE) -> list[list[str]]:
        """Return the titles, then the values of each row as they are written; only the columns the medium shows."""
        is_terminal = medium is Medium.TERMINAL
        missing, columns = NO_NUMBER if is_terminal else NONE, []
        for column, place in self._shown(medium):
            write = column.kind.on_terminal if is_terminal else column.kind.on_page
            columns.append([column.title, *(_cell(row[place], write, missing) for row in self.rows)])
        return [list(row) for row in zip(*columns, strict=True)]

    def _shown(self, medium: Medium) -> list[tuple[Column, int]]:
        return [(column, place) for place, column in enumerate(self.columns) if medium in column.media]

    def names_at(self, medium: Medium = Medium.PAGE) -> int:
        """Return which of the shown columns names the rows."""
        kinds = [column.kind for column, _ in self._shown(medium)]
        return kinds.index(Kind.TEXT) if Kind.TEXT in kinds else 0

    def is_left(self) -> list[bool]:
        """Return of each column of a page whether it stands to the left: texts, and what names the rows."""
        names = self.names_at()
        return [column.kind is Kind.TEXT or at == names for at, (column, _) in enumerate(self._shown(Medium.PAGE))]

    def tsv(self) -> Iterator[list[Value]]:
        """Yield the keys of the columns, then each row with its values as they are; an interval in two cells."""
        columns = self._shown(Medium.TSV)
        ends = {True: (".low", ".high"), False: ("",)}
        yield [f"{column.key}{end}".removeprefix(".") for column, _ in columns for end in ends[column.kind.is_interval]]
        for row in self.rows:
            line: list[Value] = []
            for column, place in columns:
                value = row[place]
                if column.kind.is_interval:
                    line += value if isinstance(value, Bounds) else (None, None)
                else:
                    line.append(value.value if isinstance(value, Guess) else value)
            yield line

    def markdown(self) -> list[str]:
        r"""Return the lines of the table in Markdown; no text of it marks anything up.

        >>> Table((Column("tool", "tool"),), (("a|b",),)).markdown()
        ['| tool |', '| --- |', '| a\\|b |']
        """
        heads, *rows = [[in_markdown(cell) for cell in row] for row in self.cells()]
        return [f"| {' | '.join(row)} |" for row in (heads, ["---"] * len(heads), *rows)]

    def lines(self, width: int, titled: Callable[[str], str] = str) -> list[str]:
        """Return the table in aligned lines of a terminal; `titled` says how a line of titles is shown."""
        cells = [[visible(cell) for cell in row] for row in self.cells(Medium.TERMINAL)]
        if self.corner is not None:
            cells[0][0] = visible(self.corner)
        heads = zip(self._shown(Medium.TERMINAL), cells[0], strict=True)
        brief = [visible(column.brief) or title for (column, _), title in heads]
        if self.layout == "folded":
            blocks = [_folded([brief, *cells[1:]], width)]
        else:
            parts = _turned(cells, brief, width) if self.layout == "turned" else [cells]
            blocks = [_aligned(part, width, self.names_at(Medium.TERMINAL), self.indent) for part in parts]
        return [line for first, *rest in blocks for line in ([titled(first), *rest] if any(cells[0]) else rest)]


def _cell(value: Value, write: Callable[[Any], str], missing: str) -> str:
    """Return a value as it is written; a guess has a question mark."""
    if value is None or (isinstance(value, Bounds) and None in value):
        return missing
    if isinstance(value, Guess):
        return f"{write(value.value)}?"
    return value if isinstance(value, str) else write(value)


def tsv_line(row: Sequence[object]) -> str:
    r"""Return the values between tabs, nothing for None; what would end a cell, or move a terminal, is written out.

    >>> tsv_line(["a\tb", None, 0.5])
    'a\\tb\t\t0.5'
    """
    return "\t".join("" if value is None else visible(str(value)) for value in row)


# The forms below take cells that are safe to show.


def _widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(map(width_of, column)) for column in zip(*rows, strict=True)]


def _turned(rows: list[list[str]], brief: list[str], width: int) -> list[list[list[str]]]:
    """Return columns as rows; without room for them the rows under brief titles; else columns as rows in blocks."""
    across = [list(row) for row in zip(*rows, strict=True)]
    widths, straight = _widths(across), [brief, *rows[1:]]
    if sum(widths) + 2 * (len(widths) - 1) <= width:
        return [across]
    if sum(_widths(straight)) + 2 * (len(brief) - 1) <= width:
        return [straight]
    fitting = max((width - widths[0]) // (max(widths[1:]) + 2), 1)
    starts = range(1, len(rows), fitting)
    return [[[row[0], *row[start : start + fitting]] for row in across] for start in starts]


def _aligned(rows: list[list[str]], width: int, flexible: int, indent: str) -> list[str]:
    """Return lines without a box: the first and the flexible column to the left, the others to the right."""
    widths = _widths(rows)
    over = len(indent) + sum(widths) + 2 * (len(widths) - 1) - width
    widths[flexible] = max(widths[flexible] - max(over, 0), min(widths[flexible], SHORTEST_CELL))
    lines = []
    for row in rows:
        padded = []
        for place, (cell, room) in enumerate(zip(row, widths, strict=True)):
            shown = shortened(cell, room)
            blanks = " " * (room - width_of(shown))
            padded.append(shown + blanks if place in (0, flexible) else blanks + shown)
        lines.append((indent + "  ".join(padded)).rstrip())
    return lines


def _folded(rows: list[list[str]], width: int) -> list[str]:
    """Return aligned lines; where they reach the width the last column goes on below itself."""
    import textwrap

    widths = _widths(rows)[:-1]
    left = sum(widths) + 2 * len(widths)
    lines: list[str] = []
    for *row, last in rows:
        first, *more = textwrap.wrap(last, max(width - left, SHORTEST_CELL)) or [""]
        begun = "".join(cell + " " * (room - width_of(cell) + 2) for cell, room in zip(row, widths, strict=True))
        lines += [(begun + first).rstrip(), *(" " * left + part for part in more)]
    return lines
