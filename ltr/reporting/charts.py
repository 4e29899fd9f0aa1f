"""Drawings of rows: values with their intervals, and bars."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ltr.reporting.blocks import Figure, Mark, Table
from ltr.reporting.drawing import (
    LEFT,
    RIGHT,
    WIDTH,
    box,
    cut,
    edge_below,
    legend,
    legend_lines,
    line,
    shape,
    text,
)
from ltr.reporting.figures import NONE, short
from ltr.reporting.scale import Scale, are_drawable, linear

ROW, TOP = 34, 8
MOST_ROWS = 40


@dataclass(frozen=True, slots=True)
class Words:
    """What a figure says in words, and its numbers."""

    title: str
    description: str
    table: Table


@dataclass(frozen=True, slots=True)
class Estimate:
    """A row: a value, its interval, and other values beside it as (name, value)."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    others: tuple[tuple[str, float | None], ...] = ()
    tip: str = ""


FORMS = ("diamond", "square", "triangle", "bar")


def estimates(
    words: Words, rows: Sequence[Estimate], names: tuple[str, ...] = (), *, zero: bool = False
) -> Figure | None:
    """Each row a point with its interval, over a line where 0 is; names: of the row's own value, then of the others."""
    whole = [row for row in rows if row.value is not None and are_drawable(_values(row))]
    rows = whole[:MOST_ROWS]
    if not rows:
        return None
    scale = linear([value for row in rows for value in _values(row)], LEFT + 8, RIGHT - 8, zero=zero)
    forms = ("circle", *FORMS)
    entries = [(forms[place % 5], kind_of(place), name) for place, name in enumerate(names)]
    top = TOP + 16 * legend_lines(entries)
    bottom = top + ROW * len(rows)
    marks = [*legend(entries, TOP + 6), *edge_below(scale, top, bottom)]
    if scale.low < 0 < scale.high:
        marks.append(line((scale(0), top), (scale(0), bottom), "axis"))
    for place, row in enumerate(rows):
        marks += _estimate(row, scale, top + ROW * place)
    return figure_of(words, marks, bottom + 22, of=len(whole))


def figure_of(words: Words, marks: Sequence[Mark], height: int, *, of: int = 0) -> Figure:
    """The drawing, its words saying so where it shows only the first MOST_ROWS of so many."""
    more = f" The first {MOST_ROWS} of {of:,} are drawn." if of > MOST_ROWS else ""
    return Figure(words.title, f"{words.description}{more}", words.table, tuple(marks), WIDTH, height)


def drawn_table(caption: str, heads: tuple[str, ...], rows: Sequence[Estimate]) -> Table:
    """The numbers that a drawing of the rows draws: heads of the row, its value, and the values beside it."""
    lines = tuple(
        (row.label, short(row.value), _interval(row), *(short(value) for _, value in row.others)) for row in rows
    )
    return Table(caption, (*heads[:2], "95 %", *heads[2:]), lines)


def _interval(row: Estimate) -> str:
    return NONE if row.low is None or row.high is None else f"[{short(row.low)}, {short(row.high)}]"


def _values(row: Estimate) -> list[float]:
    return [value for value in (row.value, row.low, row.high, *(other for _, other in row.others)) if value is not None]


def kind_of(place: int) -> str:
    """The class of the values that stand at this place of a legend."""
    return "own" if place == 0 else f"other o{(place - 1) % 4}"


def _estimate(row: Estimate, scale: Scale, top: float) -> Iterator[Mark]:
    middle = top + 24
    yield text(LEFT, top + 12, cut(row.label, RIGHT - LEFT))
    if row.low is not None and row.high is not None:
        yield line((scale(row.low), middle), (scale(row.high), middle), "interval", row.tip)
    for place, (name, value) in enumerate(row.others):
        if value is not None:
            yield shape(FORMS[place % 4], scale(value), middle, kind_of(place + 1), f"{name}: {value:.4g}")
    yield shape("circle", scale(row.value or 0.0), middle, "own", row.tip)


def bars(words: Words, rows: Sequence[tuple[str, float | None, str]]) -> Figure | None:
    """Each row a bar from 0: (label, value, tip)."""
    whole = [(label, value, tip) for label, value, tip in rows if value is not None and are_drawable([value])]
    drawn = whole[:MOST_ROWS]
    if not drawn:
        return None
    scale = linear([value for _, value, _ in drawn], LEFT + 8, RIGHT - 8, zero=True)
    bottom = TOP + ROW * len(drawn)
    marks = list(edge_below(scale, TOP, bottom))
    for place, (label, value, tip) in enumerate(drawn):
        top, start, end = TOP + ROW * place, scale(min(value, 0.0)), scale(max(value, 0.0))
        marks.append(text(LEFT, top + 12, cut(label, RIGHT - LEFT)))
        marks.append(box((start, top + 17), (max(end - start, 1.0), 11), "bar", tip))
    return figure_of(words, marks, bottom + 22, of=len(whole))
