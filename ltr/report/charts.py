"""Drawings of numbers as elements of SVG. A class says what an element means; the style sheet says how that looks."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from ltr.report.page import Figure, Mark
from ltr.report.table import Column, Kind, Table
from ltr.report.words import tick

LARGEST_DRAWN, SMALLEST_DRAWN = 1e12, 1e-12  # what lies beyond is not drawn; the table has it
TICKS = 5
WIDTH = 420
LETTER = 6.6  # width of a letter of the drawings' text, at most
LEFT, RIGHT = 8, WIDTH - 8
ROW, TOP = 34, 8
MOST_ROWS, MOST_POINTS, MOST_DOTS = 40, 200, 30
HEIGHT, LEFT_EDGE, BOTTOM = 250, 48, 40
EDGES = (LEFT_EDGE, RIGHT - 6)
FORMS = ("circle", "diamond", "square", "triangle", "bar")  # a form of its own for each series, beside its colour
LOOKS = ("own", "other o0", "other o1", "other o2", "other o3")  # and its class
CORNERS = {
    "diamond": ((0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)),
    "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
    "triangle": ((0, -5), (5, 4), (-5, 4)),
    "bar": ((-1, -6), (1, -6), (1, 6), (-1, 6)),
}
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A row: a value, its interval, and up to four other values beside it as (name, value)."""

    label: str
    value: float | None
    low: float | None = None
    high: float | None = None
    others: tuple[tuple[str, float | None], ...] = ()
    tip: str = ""


@dataclass(frozen=True, slots=True)
class PlotPoint:
    """A point in a plane, with an interval along the upright axis."""

    label: str
    x: float
    y: float
    low: float | None = None
    high: float | None = None
    is_marked: bool = False
    tip: str = ""


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight line from numbers to places on a drawing, or from their logarithms."""

    low: float
    high: float
    first: float  # the place of low
    last: float
    ticks: list[float]  # the round numbers that stand along the edge
    is_log: bool = False

    def __call__(self, value: float) -> float:
        """Return the place of the value; what lies outside stands at the edge."""
        low, high, value = (math.log10(number) if self.is_log else number for number in (self.low, self.high, value))
        share = (value - low) / (high - low)
        return round(self.first + min(max(share, 0.0), 1.0) * (self.last - self.first), 1)


def linear(values: Iterable[float | None], first: float, last: float, *, zero: bool = False) -> Scale:
    """Return a scale that holds the values, its ends and ticks round; with zero, that number too.

    The step between ticks is 1, 2 or 5 times a power of ten, and goes about TICKS times into the span.

    >>> linear([0.0, 1.0], 0, 100).ticks, linear([7.0, 230.0], 0, 100).ticks
    ([0.0, 0.2, 0.4, 0.6, 0.8, 1.0], [0.0, 50.0, 100.0, 150.0, 200.0, 250.0])
    """
    numbers = [*drawable(values), *([0.0] if zero else [])] or [0.0, 1.0]
    low, high = min(numbers), max(numbers)
    if high - low < max(SMALLEST_DRAWN, 1e-9 * abs(high)):
        low, high = low - max(abs(low), 1.0) / 2, high + max(abs(high), 1.0) / 2
    rough = (high - low) / TICKS
    power = 10.0 ** math.floor(math.log10(rough))
    step = power * next(factor for factor in (1, 2, 5, 10) if factor * power >= rough * (1 - 1e-9))
    start, end = math.floor(low / step), math.ceil(high / step)
    digits = max(0, -math.floor(math.log10(step)))
    ticks = [round(number * step, digits) + 0.0 for number in range(start, end + 1)]
    return Scale(start * step, end * step, first, last, ticks)


def logarithmic(values: Iterable[float | None], first: float, last: float) -> Scale:
    """Return a scale of powers of ten that holds the values, all above 0.

    >>> logarithmic([0.2, 50.0], 0, 100).ticks
    [0.1, 1.0, 10.0, 100.0]
    """
    numbers = [value for value in drawable(values) if value > SMALLEST_DRAWN] or [1.0]
    low, high = math.floor(math.log10(min(numbers))), math.ceil(math.log10(max(numbers)))
    high = max(high, low + 1)
    ticks = [10.0**power for power in range(low, high + 1, max(1, (high - low) // TICKS))]
    return Scale(10.0**low, 10.0**high, first, last, ticks, is_log=True)


def drawable(values: Iterable[float | None]) -> list[float]:
    """Return the values that can be drawn.

    >>> drawable([1.0, None, 1e300, float("nan")])
    [1.0]
    """
    return [value for value in values if value is not None and abs(value) <= LARGEST_DRAWN]


def thinned(points: Sequence[Item], most: int = MOST_POINTS) -> list[Item]:
    """Return at most so many of the points, evenly, the first and the last among them.

    >>> thinned(range(10), 4)
    [0, 3, 6, 9]
    """
    if len(points) <= most:
        return list(points)
    step = (len(points) - 1) / (most - 1)
    return [points[round(step * place)] for place in range(most)]


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "label") -> Mark:
    """Words at a place."""
    return Mark("text", {"x": x, "y": y, "text-anchor": anchor, "class": kind}, text=words)


def line(start: tuple[float, float], end: tuple[float, float], kind: str, tip: str = "") -> Mark:
    """A straight line."""
    return Mark("line", {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1], "class": kind}, tip=tip)


def box(x: float, y: float, width: float, height: float, tip: str) -> Mark:
    """A bar."""
    width, height = (round(max(length, 0.0), 1) for length in (width, height))
    return Mark("rect", {"x": x, "y": y, "width": width, "height": height, "class": "bar"}, tip=tip)


def path(points: Sequence[tuple[float, float]], kind: str) -> Mark:
    """A line through the points."""
    return Mark("polyline", {"points": " ".join(f"{x:g},{y:g}" for x, y in points), "class": kind})


def shape(form: str, x: float, y: float, kind: str, tip: str = "") -> Mark:
    """A point in one of FORMS, so that colour is not all that distinguishes points."""
    if form == "circle":
        return Mark("circle", {"cx": x, "cy": y, "r": 4.5, "class": kind}, tip=tip)
    points = " ".join(f"{x + dx:g},{y + dy:g}" for dx, dy in CORNERS[form])
    return Mark("polygon", {"points": points, "class": kind}, tip=tip)


def cut(words: str, width: float) -> str:
    """Return the words, as many as fit.

    >>> cut("weather in Paris", 60)
    'weather …'
    """
    room = int(width / LETTER)
    return words if len(words) <= room else f"{words[: room - 1]}…"


def legend(entries: Sequence[tuple[str, str, str]]) -> tuple[list[Mark], int]:
    """Draw what each form means, from entries of (form, class, words); return its height too, 16 for each line."""
    marks: list[Mark] = []
    x, y = float(LEFT), TOP + 6
    for form, kind, words in entries:
        words = cut(words, RIGHT - LEFT - 20)
        needed = 26 + LETTER * len(words)
        if x > LEFT and x + needed > RIGHT:
            x, y = float(LEFT), y + 16
        marks += [shape(form, round(x + 6, 1), y, kind), text(round(x + 15, 1), y + 4, words, kind="note")]
        x += needed
    return marks, (y - TOP - 6) + 16 if entries else 0


def grid_below(scale: Scale, top: float, bottom: float) -> Iterator[Mark]:
    """Draw lines at the round numbers of a level scale, the numbers below them."""
    for number in scale.ticks:
        yield line((scale(number), top), (scale(number), bottom), "grid")
        yield text(scale(number), bottom + 14, tick(number), anchor="middle", kind="tick")


def plane(x: Scale | None, y: Scale, axes: tuple[str, str]) -> Iterator[Mark]:
    """Draw lines at the round numbers of both scales, their numbers, and what the axes are: level, upright."""
    left, right = (x.first, x.last) if x else (LEFT_EDGE, RIGHT)
    if x:
        yield from grid_below(x, y.last, y.first)
    for number in y.ticks:
        yield line((left, y(number)), (right, y(number)), "grid")
        yield text(left - 5, y(number) + 4, tick(number), anchor="end", kind="tick")
    yield text(right, y.first + 30, axes[0], anchor="end", kind="note")
    yield text(LEFT, y.last - 11, axes[1], kind="note")


def drawn_in(blank: Figure, marks: Iterable[Mark], height: int, *, of: int = 0) -> Figure:
    """Return the drawing, its words saying so where it shows only the first MOST_ROWS of so many."""
    more = f" The first {MOST_ROWS} of {of:,} are drawn." if of > MOST_ROWS else ""
    return replace(blank, description=blank.description + more, marks=tuple(marks), width=WIDTH, height=height)


def ranges(
    title: str, description: str, rows: Sequence[Estimate], heads: Sequence[str], *, zero: bool = False
) -> Figure | None:
    """Return the estimates with the table of their numbers; heads: of the row, then of its value."""
    return estimates(Figure(title, description, estimates_table(title, heads, rows)), rows, zero=zero)


def estimates_table(caption: str, heads: Sequence[str], rows: Sequence[Estimate]) -> Table:
    """Return the numbers of the rows; heads: of the row, of its value, and of the values beside it."""
    row, value, *others = heads
    columns = (
        Column("label", row),
        Column("value", value, Kind.AMOUNT),
        Column("interval", "95 %", Kind.AMOUNT_INTERVAL),
        *(Column(other, other, Kind.AMOUNT, value=partial(_beside, place)) for place, other in enumerate(others)),
    )
    return Table.of(columns, rows, caption)


def _beside(place: int, row: Estimate) -> float | None:
    return row.others[place][1]


def estimates(
    blank: Figure, rows: Sequence[Estimate], names: tuple[str, ...] = (), *, zero: bool = False
) -> Figure | None:
    """Draw each row as a point with its interval; names: of the row's own value, then of the others.

    A line stands where 0 is.
    """
    complete = []
    for row in rows:
        numbers = [row.value, row.low, row.high, *(value for _, value in row.others)]
        values = [number for number in numbers if number is not None]
        if row.value is not None and len(drawable(values)) == len(values):
            complete.append((row, values))
    drawn = complete[:MOST_ROWS]
    if not drawn:
        return None
    scale = linear([value for _, values in drawn for value in values], LEFT + 8, RIGHT - 8, zero=zero)
    marks, above = legend(list(zip(FORMS, LOOKS, names, strict=False)))
    top = TOP + above
    bottom = top + ROW * len(drawn)
    marks += grid_below(scale, top, bottom)
    if scale.low <= 0 <= scale.high:
        marks.append(line((scale(0), top), (scale(0), bottom), "axis"))
    for number, (row, _) in enumerate(drawn):
        middle = top + ROW * number + 24
        marks.append(text(LEFT, middle - 12, cut(row.label, RIGHT - LEFT)))
        if row.low is not None and row.high is not None:
            marks.append(line((scale(row.low), middle), (scale(row.high), middle), "interval", row.tip))
        for form, look, (name, value) in zip(FORMS[1:], LOOKS[1:], row.others, strict=False):
            if value is not None:
                marks.append(shape(form, scale(value), middle, look, f"{name}: {value:.4g}"))
        marks.append(shape("circle", scale(row.value or 0.0), middle, "own", row.tip))
    return drawn_in(blank, marks, bottom + 22, of=len(complete))


def bars(blank: Figure, rows: Sequence[tuple[str, float | None, str]]) -> Figure | None:
    """Draw each row as a bar from 0: (label, value, tip)."""
    complete = [(label, value, tip) for label, value, tip in rows if value is not None and drawable([value])]
    drawn = complete[:MOST_ROWS]
    if not drawn:
        return None
    scale = linear([value for _, value, _ in drawn], LEFT + 8, RIGHT - 8, zero=True)
    bottom = TOP + ROW * len(drawn)
    marks = list(grid_below(scale, TOP, bottom))
    for place, (label, value, tip) in enumerate(drawn):
        top, start, end = TOP + ROW * place, scale(min(value, 0.0)), scale(max(value, 0.0))
        marks += [text(LEFT, top + 12, cut(label, RIGHT - LEFT)), box(start, top + 17, max(end - start, 1.0), 11, tip)]
    return drawn_in(blank, marks, bottom + 22, of=len(complete))


def columns(blank: Figure, rows: Sequence[tuple[str, int, str]], axes: tuple[str, str]) -> Figure | None:
    """Draw each row as an upright column: (label, count, tip)."""
    if not rows or not any(value for _, value, _ in rows):
        return None
    bottom = HEIGHT - BOTTOM
    scale = linear([value for _, value, _ in rows], bottom, TOP + 18, zero=True)
    step = (RIGHT - LEFT_EDGE) / len(rows)
    marks = list(plane(None, scale, axes))
    for place, (label, value, tip) in enumerate(rows):
        x, top = round(LEFT_EDGE + step * place, 1), scale(value)
        marks.append(box(round(x + step * 0.12, 1), top, step * 0.76, bottom - top, tip))
        marks.append(text(round(x + step / 2, 1), bottom + 14, label, anchor="middle", kind="tick"))
    return drawn_in(blank, marks, HEIGHT)


def curve(
    blank: Figure, points: Sequence[tuple[float, float]], axes: tuple[str, str], *, level: float | None = None
) -> Figure | None:
    """Draw a line through the points, with a dot at each where they are few, over a broken line at the level."""
    shown = thinned([point for point in points if len(drawable(point)) == 2])
    if not shown:
        return None
    levels = [] if level is None else [level]
    x = linear([point[0] for point in shown], *EDGES)
    y = linear([*(point[1] for point in shown), *levels], HEIGHT - BOTTOM, TOP + 18)
    marks = list(plane(x, y, axes))
    marks += [line((EDGES[0], y(number)), (EDGES[1], y(number)), "level", f"{number:.6g}") for number in levels]
    marks.append(path([(x(a), y(b)) for a, b in shown], "curve c0"))
    if len(shown) <= MOST_DOTS:
        marks += [shape("circle", x(a), y(b), "dot own", f"{a:g}: {b:.6g}") for a, b in shown]
    return drawn_in(blank, marks, HEIGHT)


def diagonal(blank: Figure, points: Sequence[PlotPoint], axes: tuple[str, str]) -> Figure | None:
    """Draw points from 0 to 1 both ways, over the line where both are the same."""
    shown = [point for point in points if len(drawable((point.x, point.y))) == 2]
    if not shown:
        return None
    top = TOP + 18
    x, y = linear((0.0, 1.0), *EDGES), linear((0.0, 1.0), HEIGHT + top - BOTTOM, top + 4)
    level = path([(x(0.0), y(0.0)), (x(1.0), y(1.0))], "level")
    return drawn_in(blank, [*plane(x, y, axes), level, *scatter(x, y, shown)], HEIGHT + top)


def front(blank: Figure, points: Sequence[PlotPoint], axes: tuple[str, str]) -> Figure | None:
    """Draw points over powers of ten, numbered from 1, and a line through those that are marked."""
    complete = [point for point in points if len(drawable((point.x, point.y))) == 2 and point.x > 0]
    shown = complete[:MOST_ROWS]
    if not shown:
        return None
    entries = []
    for number, point in enumerate(shown, start=1):
        entries.append((FORMS[not point.is_marked], LOOKS[not point.is_marked], f"{number} {point.label[:40]}"))
    legends, above = legend(entries)
    top = TOP + 18 + above
    x = logarithmic([point.x for point in shown], *EDGES)
    y = linear([value for point in shown for value in (point.y, point.low, point.high)], HEIGHT + top - BOTTOM, top + 4)
    through = sorted((x(point.x), y(point.y)) for point in shown if point.is_marked)
    marks = [*plane(x, y, axes), path(through, "front"), *scatter(x, y, shown), *legends]
    for number, place in enumerate(places_beside([(x(point.x), y(point.y)) for point in shown]), start=1):
        marks.append(text(*place, str(number), kind="number"))
    return drawn_in(blank, marks, HEIGHT + top, of=len(complete))


def scatter(x: Scale, y: Scale, points: Sequence[PlotPoint]) -> Iterator[Mark]:
    """Draw each point with its interval."""
    for point in points:
        if point.low is not None and point.high is not None:
            yield line((x(point.x), y(point.low)), (x(point.x), y(point.high)), "interval", point.tip)
        form, look = FORMS[not point.is_marked], LOOKS[not point.is_marked]
        yield shape(form, x(point.x), y(point.y), look, point.tip)


def places_beside(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return a place beside each point for its number, clear of all points and of the numbers before it if possible.

    A number of two figures is 15 wide and 9 high.

    >>> places_beside([(50.0, 50.0), (50.0, 50.0)])
    [(58.0, 63.0), (28.0, 63.0)]
    """
    placed: list[tuple[float, float]] = []
    for x, y in points:
        beside = [(x + dx, y + dy) for dy in (13, -6, 25, -18, 37, -30) for dx in (8, -22)]
        clear = (
            (left, foot)
            for left, foot in beside
            if left <= RIGHT - 6
            and not any(-20 < left - a < 5 and -5 < foot - b < 14 for a, b in points)
            and not any(abs(left - a) < 15 and abs(foot - b) < 11 for a, b in placed)
        )
        placed.append(next(clear, beside[0]))
    return placed
