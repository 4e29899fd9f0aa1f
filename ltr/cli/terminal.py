"""What reaches the terminal: results on stdout, all else on stderr, data never as markup or control code."""

import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any

from ltr.errors import DiskError

SHORTEST_CELL = 12
HIDDEN = {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}  # control, format (bidi, zero width), surrogates, separators


class Format(StrEnum):
    """How a result is shown."""

    HUMAN = "human"
    JSON = "json"
    TSV = "tsv"


def chosen_format(asked: Format | None) -> Format:
    """What was asked for; else human on a terminal, tsv in a pipe."""
    return asked or (Format.HUMAN if sys.stdout.isatty() else Format.TSV)


def visible(text: str) -> str:
    r"""The text with every character that a terminal would obey, or hide, written out.

    >>> visible("a\x1b[31mb\u202e")
    'a\\x1b[31mb\\u202e'
    """
    return text if text.isprintable() else "".join(_written_out(character) for character in text)


def _written_out(character: str) -> str:
    import unicodedata

    if unicodedata.category(character) not in HIDDEN:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


def width_of(text: str) -> int:
    """Columns a terminal gives the text: two for wide characters, none for combining ones."""
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
    kept, used = "", 0
    for character in text:
        used += width_of(character)
        if used > columns - 1:
            break
        kept += character
    return f"{kept}…"


def columns_of_terminal() -> int:
    """Width to fill: the terminal's, at least 40; a pipe has no edge."""
    import shutil

    return max(shutil.get_terminal_size((80, 24)).columns, 40) if sys.stdout.isatty() else 1_000_000


def emphasis(text: str) -> str:
    """The text in bold, where colours are wanted."""
    import os

    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def table(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, flexible: int | None = None, indent: str = "  "
) -> list[str]:
    """Aligned lines without a box: the first column, and the flexible one, to the left; the others to the right.

    When the terminal is too narrow the flexible column gives way.
    """
    cells = [[visible(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)]
    if flexible is not None:
        over = len(indent) + sum(widths) + 2 * (len(widths) - 1) - columns_of_terminal()
        widths[flexible] = max(widths[flexible] - max(over, 0), min(widths[flexible], SHORTEST_CELL))
    lines = [indent + _line(row, widths, {0, flexible}) for row in cells]
    return [emphasis(lines[0]), *lines[1:]] if any(headers) else lines[1:]


def listing(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Aligned lines; where the terminal ends the last column goes on below itself, and nothing is cut."""
    import textwrap

    cells = [[visible(cell) for cell in row] for row in (headers, *rows)]
    widths = [max(map(width_of, column)) for column in zip(*cells, strict=True)][:-1]
    left = sum(widths) + 2 * len(widths)
    room = max(columns_of_terminal() - left, SHORTEST_CELL)
    lines: list[str] = []
    for *row, last in cells:
        first, *more = textwrap.wrap(last, room) or [""]
        begun = "".join(cell + " " * (width - width_of(cell) + 2) for cell, width in zip(row, widths, strict=True))
        lines += [(begun + first).rstrip(), *(" " * left + part for part in more)]
    return [emphasis(lines[0]), *lines[1:]] if any(headers) else lines[1:]


def wrapped(text: str) -> list[str]:
    """The text in lines the terminal has room for, the second and later ones indented; words stay whole."""
    import textwrap

    options = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(text, columns_of_terminal(), subsequent_indent="  ", **options)  # type: ignore[arg-type]


def _line(row: Sequence[str], widths: Sequence[int], left: set[int | None]) -> str:
    padded = []
    for place, (cell, width) in enumerate(zip(row, widths, strict=True)):
        cut = shortened(cell, width)
        blanks = " " * (width - width_of(cut))
        padded.append(cut + blanks if place in left else blanks + cut)
    return "  ".join(padded).rstrip()


def say(*lines: str) -> None:
    """Lines of the result. When its reader has left there is nothing more to do."""
    try:
        for line in lines:
            print(line)
    except BrokenPipeError:
        raise SystemExit(0) from None
    except OSError as error:
        raise full(error) from error


def full(error: OSError) -> DiskError:
    """What to say of a stdout that takes no more."""
    from ltr.files.reading import reason

    return DiskError("<stdout>", reason(error))


def note(text: str) -> None:
    """A line that is no result: progress, warnings. Where nobody takes it, it is lost."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """A warning, on one line."""
    note(f"warning: {visible(text)}")


def show_json(document: Any) -> None:
    """The result as JSON; what is not a number is refused."""
    say(json_text(document, indent=2))


def show_yaml(text: str) -> None:
    """The result as YAML; what is written out stands between double quotes, and means the same there."""
    say(*map(visible, text.rstrip("\n").split("\n")))


def json_text(document: Any, *, indent: int | None = None) -> str:
    """The document as JSON, in ASCII where stdout takes no more."""
    import json

    is_narrow = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    return json.dumps(document, indent=indent, ensure_ascii=is_narrow, allow_nan=False)


def show_tsv(rows: Iterable[Sequence[object]]) -> None:
    """The result as lines of cells between tabs; control characters are written out."""
    for row in rows:
        say("\t".join("" if cell is None else visible(str(cell)) for cell in row))


def number(value: float | None, digits: int = 3) -> str:
    """A number to read: fixed digits, - for none.

    >>> number(0.76667), number(None)
    ('0.767', '-')
    """
    return "-" if value is None else f"{value:.{digits}f}"


def count(number: int, noun: str, plural: str = "") -> str:
    """A number of things.

    >>> count(1, "query", "queries"), count(1135, "query", "queries")
    ('1 query', '1,135 queries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"
