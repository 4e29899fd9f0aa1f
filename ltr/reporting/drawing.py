"""The elements of a drawing. A class says what an element means; the style sheet says how that looks."""

from collections.abc import Iterator, Sequence

from ltr.reporting.blocks import Mark
from ltr.reporting.scale import Scale, tick_text

WIDTH = 420
LETTER = 6.6  # width of a letter of the drawings' text, at most
LEFT, RIGHT = 8, WIDTH - 8


def text(x: float, y: float, words: str, *, anchor: str = "start", kind: str = "label") -> Mark:
    """Words at a place."""
    return Mark("text", {"x": x, "y": y, "text-anchor": anchor, "class": kind}, text=words)


def line(start: tuple[float, float], end: tuple[float, float], kind: str, tip: str = "") -> Mark:
    """A straight line."""
    return Mark("line", {"x1": start[0], "y1": start[1], "x2": end[0], "y2": end[1], "class": kind}, tip=tip)


def box(corner: tuple[float, float], size: tuple[float, float], kind: str, tip: str = "") -> Mark:
    """A filled rectangle."""
    x, y = corner
    width, height = (round(max(each, 0.0), 1) for each in size)
    return Mark("rect", {"x": x, "y": y, "width": width, "height": height, "class": kind}, tip=tip)


def path(points: Sequence[tuple[float, float]], kind: str, tip: str = "") -> Mark:
    """A line through the points."""
    return Mark("polyline", {"points": " ".join(f"{x:g},{y:g}" for x, y in points), "class": kind}, tip=tip)


def shape(form: str, x: float, y: float, kind: str, tip: str = "") -> Mark:
    """A point of its own form, so that colour is not all that tells points apart."""
    if form == "circle":
        return Mark("circle", {"cx": x, "cy": y, "r": 4.5, "class": kind}, tip=tip)
    corners = {
        "diamond": ((0, -5.5), (5.5, 0), (0, 5.5), (-5.5, 0)),
        "square": ((-4, -4), (4, -4), (4, 4), (-4, 4)),
        "triangle": ((0, -5), (5, 4), (-5, 4)),
        "bar": ((-1, -6), (1, -6), (1, 6), (-1, 6)),
    }[form]
    points = " ".join(f"{x + dx:g},{y + dy:g}" for dx, dy in corners)
    return Mark("polygon", {"points": points, "class": kind}, tip=tip)


def cut(words: str, width: float) -> str:
    """The words, as many as fit.

    >>> cut("weather in Paris", 60)
    'weather …'
    """
    room = int(width / LETTER)
    return words if len(words) <= room else f"{words[: room - 1]}…"


def apart(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """A place beside each point for its number, clear of all points and of the numbers before it where there is one.

    >>> apart([(50.0, 50.0), (50.0, 50.0)])
    [(58.0, 63.0), (28.0, 63.0)]
    """
    placed: list[tuple[float, float]] = []
    for x, y in points:
        beside = [(x + dx, y + dy) for dy in (13, -6, 25, -18, 37, -30) for dx in (8, -22)]
        clear = (each for each in beside if each[0] <= RIGHT - 6 and _is_clear(each, points, placed))
        placed.append(next(clear, beside[0]))
    return placed


def _is_clear(
    place: tuple[float, float], points: Sequence[tuple[float, float]], placed: Sequence[tuple[float, float]]
) -> bool:
    """Whether two figures there, 15 wide and 9 high, stand on no point and on no other number."""
    left, foot = place
    on_point = any(-20 < left - x < 5 and -5 < foot - y < 14 for x, y in points)
    return not on_point and not any(abs(left - x) < 15 and abs(foot - y) < 11 for x, y in placed)


def legend(entries: Sequence[tuple[str, str, str]], y: float) -> Iterator[Mark]:
    """What each form means: (form, kind, words), in as many lines as it takes, 16 apart."""
    x = float(LEFT)
    for form, kind, words in entries:
        words = cut(words, RIGHT - LEFT - 20)
        needed = 26 + LETTER * len(words)
        if x > LEFT and x + needed > RIGHT:
            x, y = float(LEFT), y + 16
        yield shape(form, round(x + 6, 1), y, kind)
        yield text(round(x + 15, 1), y + 4, words, kind="note")
        x += needed


def legend_lines(entries: Sequence[tuple[str, str, str]]) -> int:
    """How many lines the legend takes."""
    places = [mark.attributes["y"] for mark in legend(entries, 0) if mark.tag == "text"]
    return len(set(places))


def edge_below(scale: Scale, top: float, bottom: float) -> Iterator[Mark]:
    """Lines at the round numbers of a level scale, the numbers below them."""
    for tick in scale.ticks:
        x = scale(tick)
        yield line((x, top), (x, bottom), "grid")
        yield text(x, bottom + 14, tick_text(tick), anchor="middle", kind="tick")


def edge_left(scale: Scale, left: float, right: float) -> Iterator[Mark]:
    """Lines at the round numbers of an upright scale, the numbers left of them."""
    for tick in scale.ticks:
        y = scale(tick)
        yield line((left, y), (right, y), "grid")
        yield text(left - 5, y + 4, tick_text(tick), anchor="end", kind="tick")
