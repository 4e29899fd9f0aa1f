"""The kinds of drawing: rows with intervals, bars, columns, curves, points in a plane."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ltr.report.blocks import Figure, Mark, Table
from ltr.report.drawing import (
    LEFT,
    RIGHT,
    WIDTH,
    box,
    cut,
    edge_below,
    edge_left,
    legend,
    legend_lines,
    line,
    path,
    shape,
    text,
)
from ltr.report.figures import NONE, short
from ltr.report.scale import Scale, are_drawable, linear, logarithmic

ROW, TOP = 34, 8
HEIGHT, LEFT_EDGE, BOTTOM = 250, 48, 40
MOST_ROWS, MOST_POINTS = 40, 200


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


@dataclass(frozen=True, slots=True)
class Point:
    """A point in a plane, with an interval along the upright axis."""

    label: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    is_marked: bool = False
    tip: str = ""


FORMS = ("diamond", "square", "triangle", "bar")


def estimates(
    words: Words, rows: Sequence[Estimate], names: tuple[str, ...] = (), *, zero: bool = False
) -> Figure | None:
    """Each row a point with its interval, over a line where 0 is; names: of the row's own value, then of the others."""
    rows = [row for row in rows if row.value is not None and are_drawable(_values(row))][:MOST_ROWS]
    if not rows:
        return None
    scale = linear([value for row in rows for value in _values(row)], LEFT + 8, RIGHT - 8, zero=zero)
    forms = ("circle", *FORMS)
    entries = [(forms[place % 5], _kind(place), name) for place, name in enumerate(names)]
    top = TOP + 16 * legend_lines(entries)
    bottom = top + ROW * len(rows)
    marks = [*legend(entries, TOP + 6), *edge_below(scale, top, bottom)]
    if scale.low < 0 < scale.high:
        marks.append(line((scale(0), top), (scale(0), bottom), "axis"))
    for place, row in enumerate(rows):
        marks += _estimate(row, scale, top + ROW * place)
    return Figure(words.title, words.description, words.table, tuple(marks), WIDTH, bottom + 22)


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


def _kind(place: int) -> str:
    return "own" if place == 0 else f"other o{(place - 1) % 4}"


def _estimate(row: Estimate, scale: Scale, top: float) -> Iterator[Mark]:
    middle = top + 24
    yield text(LEFT, top + 12, cut(row.label, RIGHT - LEFT))
    if row.low is not None and row.high is not None:
        yield line((scale(row.low), middle), (scale(row.high), middle), "interval", row.tip)
    for place, (name, value) in enumerate(row.others):
        if value is not None:
            yield shape(FORMS[place % 4], scale(value), middle, _kind(place + 1), f"{name}: {value:.4g}")
    yield shape("circle", scale(row.value or 0.0), middle, "own", row.tip)


def bars(words: Words, rows: Sequence[tuple[str, float | None, str]]) -> Figure | None:
    """Each row a bar from 0: (label, value, tip)."""
    drawn = [(label, value, tip) for label, value, tip in rows if value is not None and are_drawable([value])]
    if not drawn:
        return None
    drawn = drawn[:MOST_ROWS]
    scale = linear([value for _, value, _ in drawn], LEFT + 8, RIGHT - 8, zero=True)
    bottom = TOP + ROW * len(drawn)
    marks = list(edge_below(scale, TOP, bottom))
    for place, (label, value, tip) in enumerate(drawn):
        top, start, end = TOP + ROW * place, scale(min(value, 0.0)), scale(max(value, 0.0))
        marks.append(text(LEFT, top + 12, cut(label, RIGHT - LEFT)))
        marks.append(box((start, top + 17), (max(end - start, 1.0), 11), "bar", tip))
    return Figure(words.title, words.description, words.table, tuple(marks), WIDTH, bottom + 22)


def columns(words: Words, rows: Sequence[tuple[str, int, str]]) -> Figure | None:
    """Each row an upright column: (label, count, tip)."""
    if not rows or not any(value for _, value, _ in rows):
        return None
    scale = linear([value for _, value, _ in rows], HEIGHT - BOTTOM, TOP, zero=True)
    step = (RIGHT - LEFT_EDGE) / len(rows)
    marks = list(edge_left(scale, LEFT_EDGE, RIGHT))
    for place, (label, value, tip) in enumerate(rows):
        x = round(LEFT_EDGE + step * place, 1)
        top = scale(value)
        marks.append(box((round(x + step * 0.12, 1), top), (step * 0.76, HEIGHT - BOTTOM - top), "bar", tip))
        marks.append(text(round(x + step / 2, 1), HEIGHT - BOTTOM + 14, label, anchor="middle", kind="tick"))
    return Figure(words.title, words.description, words.table, tuple(marks), WIDTH, HEIGHT)


def curves(
    words: Words,
    series: Sequence[tuple[str, Sequence[tuple[float, float]]]],
    axes: tuple[str, str],
    *,
    level: float | None,
) -> Figure | None:
    """Each series a line through its points, over a broken line at the level."""
    kept = [(name, thinned([each for each in points if are_drawable(each)])) for name, points in series]
    kept = [(name, points) for name, points in kept if points]
    if not kept:
        return None
    levels = [] if level is None else [level]
    entries = [(("circle", *FORMS)[place], _kind(place), name) for place, (name, _) in enumerate(kept)]
    entries = entries if len(kept) > 1 else []
    top = TOP + 18 + 16 * legend_lines(entries)
    x = linear([point[0] for _, points in kept for point in points], LEFT_EDGE, RIGHT - 6)
    y = linear([*(point[1] for _, points in kept for point in points), *levels], HEIGHT - BOTTOM, top)
    marks = [*legend(entries, TOP + 6), *_plane(x, y, axes)]
    marks += [line((LEFT_EDGE, y(each)), (RIGHT - 6, y(each)), "level", f"{each:.6g}") for each in levels]
    for place, (_, points) in enumerate(kept):
        marks.append(path([(x(a), y(b)) for a, b in points], f"curve c{place}"))
        if len(points) <= 30:
            form = ("circle", *FORMS)[place]
            marks += [shape(form, x(a), y(b), f"dot {_kind(place)}", f"{a:g}: {b:.6g}") for a, b in points]
    return Figure(words.title, words.description, words.table, tuple(marks), WIDTH, HEIGHT)


def thinned(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most MOST_POINTS of the points, evenly, the first and the last among them.

    >>> len(thinned([(float(n), 0.0) for n in range(1000)]))
    200
    """
    if len(points) <= MOST_POINTS:
        return list(points)
    step = (len(points) - 1) / (MOST_POINTS - 1)
    return [points[round(step * place)] for place in range(MOST_POINTS)]


def plane(
    words: Words, points: Sequence[Point], axes: tuple[str, str], *, front: bool, is_log: bool = False
) -> Figure | None:
    """Points in a plane, numbered from 1; with a front, a line through those that are marked, else the diagonal."""
    shown = [each for each in points if are_drawable([each.x, each.y]) and (each.x > 0 or not is_log)][:MOST_ROWS]
    if not shown:
        return None
    top = TOP + 18 + (16 * legend_lines(_numbered(shown)) if front else 0)
    height = HEIGHT + top
    edges = (LEFT_EDGE, RIGHT - 6)
    scale = logarithmic if is_log else linear
    x = scale([each.x for each in shown], *edges) if front else Scale(0.0, 1.0, *edges)
    y = (
        linear([value for each in shown for value in (each.y, each.low, each.high)], height - BOTTOM, top + 4)
        if front
        else Scale(0.0, 1.0, height - BOTTOM, top + 4)
    )
    marks = list(_plane(x, y, axes))
    through = sorted((each.x, each.y) for each in shown if each.is_marked) if front else [(0.0, 0.0), (1.0, 1.0)]
    marks.append(path([(x(a), y(b)) for a, b in through], "front" if front else "level"))
    for place, each in enumerate(shown, start=1):
        if each.low is not None and each.high is not None:
            marks.append(line((x(each.x), y(each.low)), (x(each.x), y(each.high)), "interval", each.tip))
        kind = "own" if each.is_marked or not front else "other o0"
        marks.append(shape("circle" if kind == "own" else "diamond", x(each.x), y(each.y), kind, each.tip))
        if front:
            marks.append(text(x(each.x) + 8, y(each.y) + 13, str(place), kind="number"))
    if front:
        marks += legend(_numbered(shown), TOP + 6)
    return Figure(words.title, words.description, words.table, tuple(marks), WIDTH, height)


def _numbered(points: Sequence[Point]) -> list[tuple[str, str, str]]:
    return [
        (
            "circle" if each.is_marked else "diamond",
            "own" if each.is_marked else "other o0",
            f"{place} {each.label[:40]}",
        )
        for place, each in enumerate(points, start=1)
    ]


def _plane(x: Scale, y: Scale, axes: tuple[str, str]) -> Iterator[Mark]:
    bottom, top = y.first, y.last
    yield from edge_below(x, top, bottom)
    yield from edge_left(y, x.first, x.last)
    yield text(x.last, bottom + 30, axes[0], anchor="end", kind="note")
    yield text(LEFT, top - 11, axes[1], kind="note")
