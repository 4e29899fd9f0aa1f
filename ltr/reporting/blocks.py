"""What a page is made of: sections of texts, tables, drawings. Plain values; only the templates know any markup."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A paragraph."""

    kind: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class Points:
    """A list of sentences."""

    kind: ClassVar[str] = "points"
    items: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under heads; the first column names the row."""

    kind: ClassVar[str] = "table"
    caption: str
    head: Row
    rows: tuple[Row, ...]
    words: frozenset[int] = frozenset({0})  # columns of words, to the left; numbers stand to the right
    marked: frozenset[int] = frozenset()  # rows that stand out


@dataclass(frozen=True, slots=True)
class Mark:
    """One element of a drawing."""

    tag: str
    attributes: dict[str, str | float]
    text: str = ""
    tip: str = ""  # what a pointer over it, or a reader of the drawing, is told


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its description, and the numbers it draws as a table."""

    kind: ClassVar[str] = "figure"
    title: str
    description: str
    table: Table
    marks: tuple[Mark, ...]
    width: int
    height: int


@dataclass(frozen=True, slots=True)
class Code:
    """A text whose blanks and lines count."""

    kind: ClassVar[str] = "code"
    caption: str
    text: str


@dataclass(frozen=True, slots=True)
class Folded:
    """Blocks behind a line that opens them."""

    kind: ClassVar[str] = "folded"
    summary: str
    blocks: "tuple[Block, ...]"
    is_open: bool = False


Block = Text | Points | Table | Figure | Code | Folded


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it."""

    title: str
    blocks: Sequence[Block]


@dataclass(frozen=True, slots=True)
class Page:
    """A whole page."""

    title: str
    subtitle: str
    sections: Sequence[Section]
    made: str = ""  # when and by what it was written; "" on the page of a run, whose bytes follow from its input
    facts: Sequence[Row] = field(default_factory=tuple)  # the few numbers that stand at the top: what, value, note
