"""Texts side by side: the aligned lines of a terminal, which is narrow, and lines of TSV."""

from collections.abc import Sequence

from ltr.reporting.escaping import visible

SHORTEST_CELL = 12


def aligned(rows: Sequence[Sequence[str]], width: int, *, flexible: int = 0, indent: str = "") -> list[str]:
    """Lines without a box: the first and the flexible column to the left, the others to the right.

    When the lines are wider than `width`, the flexible column gives way.
    """
    escaped = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(width_of, column)) for column in zip(*escaped, strict=True)]
    over = len(indent) + sum(widths) + 2 * (len(widths) - 1) - width
    widths[flexible] = max(widths[flexible] - max(over, 0), min(widths[flexible], SHORTEST_CELL))
    lines = []
    for row in escaped:
        padded = []
        for place, (cell, room) in enumerate(zip(row, widths, strict=True)):
            shown = shortened(cell, room)
            blanks = " " * (room - width_of(shown))
            padded.append(shown + blanks if place in (0, flexible) else blanks + shown)
        lines.append((indent + "  ".join(padded)).rstrip())
    return lines


def folded(rows: Sequence[Sequence[str]], width: int) -> list[str]:
    """Return aligned lines; where they reach the width the last column goes on below itself, and nothing is cut.

    >>> folded([["a", "so many words"]], 17)
    ['a  so many words']
    >>> folded([["a", "so many words"]], 15)
    ['a  so many', '   words']
    """
    import textwrap

    cells = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)][:-1]
    left = sum(widths) + 2 * len(widths)
    room = max(width - left, SHORTEST_CELL)
    lines: list[str] = []
    for *row, last in cells:
        first, *more = textwrap.wrap(last, room) or [""]
        begun = "".join(cell + " " * (each - width_of(cell) + 2) for cell, each in zip(row, widths, strict=True))
        lines += [(begun + first).rstrip(), *(" " * left + part for part in more)]
    return lines


def width_of(text: str) -> int:
    """Columns a terminal needs for the text: two for wide characters, none for combining ones."""
    if text.isascii():
        return len(text)
    import unicodedata

    wide = {"W": 2, "F": 2}
    return sum(
        0 if unicodedata.combining(character) else wide.get(unicodedata.east_asian_width(character), 1)
        for character in text
    )


def shortened(text: str, columns: int) -> str:
    """The text, cut to the columns with an ellipsis.

    >>> shortened("weather in Paris", 9)
    'weather …'
    """
    if width_of(text) <= columns:
        return text
    beginning, used = "", 0
    for character in text:
        used += width_of(character)
        if used > columns - 1:
            break
        beginning += character
    return f"{beginning}…"


def tsv_line(row: Sequence[object]) -> str:
    r"""Return the values between tabs, nothing for None; what would end a cell, or move a terminal, is written out.

    >>> tsv_line(["a\tb", None, 0.5])
    'a\\tb\t\t0.5'
    """
    return "\t".join("" if value is None else visible(str(value)) for value in row)
