"""Drawings between two edges: columns, curves, points."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ltr.reporting.blocks import Figure, Mark
from ltr.reporting.charts import FORMS, MOST_ROWS, TOP, Words, figure_of, kind_of
from ltr.reporting.drawing import (
    LEFT,
    RIGHT,
    apart,
    box,
    edge_below,
    edge_left,
    legend,
    legend_lines,
    line,
    path,
    shape,
    text,
)
from ltr.reporting.scale import Scale, are_drawable, linear, logarithmic

HEIGHT, LEFT_EDGE, BOTTOM = 250, 48, 40
EDGES = (LEFT_EDGE, RIGHT - 6)
MOST_POINTS = 200
Item = TypeVar("Item")


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


def columns(words: Words, rows: Sequence[tuple[str, int, str]], axes: tuple[str, str]) -> Figure | None:
    """Each row an upright column: (label, count, tip)."""
    if not rows or not any(value for _, value, _ in rows):
        return None
    scale = linear([value for _, value, _ in rows], HEIGHT - BOTTOM, TOP + 18, zero=True)
    step = (RIGHT - LEFT_EDGE) / len(rows)
    marks = [*edge_left(scale, LEFT_EDGE, RIGHT), *_axes(scale, RIGHT, axes)]
    for place, (label, value, tip) in enumerate(rows):
        x = round(LEFT_EDGE + step * place, 1)
        top = scale(value)
        marks.append(box((round(x + step * 0.12, 1), top), (step * 0.76, HEIGHT - BOTTOM - top), "bar", tip))
        marks.append(text(round(x + step / 2, 1), HEIGHT - BOTTOM + 14, label, anchor="middle", kind="tick"))
    return figure_of(words, marks, HEIGHT)


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
    entries = [(("circle", *FORMS)[place], kind_of(place), name) for place, (name, _) in enumerate(kept)]
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
            marks += [shape(form, x(a), y(b), f"dot {kind_of(place)}", f"{a:g}: {b:.6g}") for a, b in points]
    return figure_of(words, marks, HEIGHT)


def thinned(points: Sequence[Item], most: int = MOST_POINTS) -> list[Item]:
    """At most so many of the points, evenly, the first and the last among them.

    >>> thinned(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(points) <= most:
        return list(points)
    step = (len(points) - 1) / (most - 1)
    return [points[round(step * place)] for place in range(most)]


def front(words: Words, points: Sequence[Point], axes: tuple[str, str]) -> Figure | None:
    """Points over powers of ten, numbered from 1, and a line through those that are marked."""
    whole = [each for each in points if are_drawable([each.x, each.y]) and each.x > 0]
    shown = whole[:MOST_ROWS]
    if not shown:
        return None
    entries = _numbered(shown)
    top = TOP + 18 + 16 * legend_lines(entries)
    x = logarithmic([each.x for each in shown], *EDGES)
    y = linear([value for each in shown for value in (each.y, each.low, each.high)], HEIGHT + top - BOTTOM, top + 4)
    through = sorted((x(each.x), y(each.y)) for each in shown if each.is_marked)
    marks = [*_plane(x, y, axes), path(through, "front"), *_points(x, y, shown), *legend(entries, TOP + 6)]
    for number, place in enumerate(apart([(x(each.x), y(each.y)) for each in shown]), start=1):
        marks.append(text(*place, str(number), kind="number"))
    return figure_of(words, marks, HEIGHT + top, of=len(whole))


def diagonal(words: Words, points: Sequence[Point], axes: tuple[str, str]) -> Figure | None:
    """Points from 0 to 1 both ways, over the line where both are the same."""
    shown = [each for each in points if are_drawable([each.x, each.y])]
    if not shown:
        return None
    top = TOP + 18
    x, y = Scale(0.0, 1.0, *EDGES), Scale(0.0, 1.0, HEIGHT + top - BOTTOM, top + 4)
    level = path([(x(0.0), y(0.0)), (x(1.0), y(1.0))], "level")
    return figure_of(words, [*_plane(x, y, axes), level, *_points(x, y, shown)], HEIGHT + top)


def _points(x: Scale, y: Scale, points: Sequence[Point]) -> Iterator[Mark]:
    for each in points:
        if each.low is not None and each.high is not None:
            yield line((x(each.x), y(each.low)), (x(each.x), y(each.high)), "interval", each.tip)
        form, kind = _look(each)
        yield shape(form, x(each.x), y(each.y), kind, each.tip)


def _look(point: Point) -> tuple[str, str]:
    """Form and class of a point."""
    return ("circle", "own") if point.is_marked else ("diamond", "other o0")


def _numbered(points: Sequence[Point]) -> list[tuple[str, str, str]]:
    return [(*_look(each), f"{place} {each.label[:40]}") for place, each in enumerate(points, start=1)]


def _plane(x: Scale, y: Scale, axes: tuple[str, str]) -> Iterator[Mark]:
    yield from edge_below(x, y.last, y.first)
    yield from edge_left(y, x.first, x.last)
    yield from _axes(y, x.last, axes)


def _axes(y: Scale, right: float, axes: tuple[str, str]) -> Iterator[Mark]:
    """What the edges tell: below, and left."""
    yield text(right, y.first + 30, axes[0], anchor="end", kind="note")
    yield text(LEFT, y.last - 11, axes[1], kind="note")
