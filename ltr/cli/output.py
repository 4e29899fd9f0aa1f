"""What reaches the terminal: results on stdout, all else on stderr, data never as markup or control code."""

import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ltr.errors import DiskError, reason
from ltr.reporting.escaping import visible
from ltr.reporting.lines import aligned, folded, tsv_line

if TYPE_CHECKING:
    from ltr.reporting.table import Table


class Format(StrEnum):
    """How a result is shown."""

    HUMAN = "human"
    JSON = "json"
    TSV = "tsv"


def chosen_format(asked: Format | None) -> Format:
    """What was asked for; else human on a terminal, tsv in a pipe."""
    return asked or (Format.HUMAN if sys.stdout.isatty() else Format.TSV)


def columns_of_terminal() -> int:
    """Width to fill: the terminal's, at least 40; a pipe has no edge."""
    import shutil

    return max(shutil.get_terminal_size((80, 24)).columns, 40) if sys.stdout.isatty() else 1_000_000


def emphasis(text: str) -> str:
    """The text in bold, where colours are wanted."""
    import os

    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def aligned_lines(
    headers: Sequence[str], rows: Iterable[Sequence[str]], *, flexible: int = 0, indent: str = "  "
) -> list[str]:
    """Texts in aligned lines, the headers first; where the terminal is too narrow the flexible column gives way."""
    first, *rest = aligned([headers, *rows], columns_of_terminal(), flexible=flexible, indent=indent)
    return [emphasis(first), *rest] if any(headers) else rest


def table_lines(shown: "Table", *, turned: bool = False, indent: str = "") -> list[str]:
    """The table in aligned lines, as wide as the terminal."""
    from ltr.reporting.table import terminal_lines

    return terminal_lines(shown, columns_of_terminal(), turned=turned, indent=indent, titled=emphasis)


def listing(headers: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Aligned lines; where the terminal ends the last column goes on below itself, and nothing is cut."""
    first, *rest = folded([headers, *rows], columns_of_terminal())
    return [emphasis(first), *rest] if any(headers) else rest


def wrapped(text: str) -> list[str]:
    """The text in lines the terminal has room for, the second and later ones indented; words stay whole."""
    import textwrap

    options = {"break_long_words": False, "break_on_hyphens": False}
    return textwrap.wrap(text, columns_of_terminal(), subsequent_indent="  ", **options)  # type: ignore[arg-type]


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
    return DiskError("<stdout>", reason(error))


def note(text: str) -> None:
    """A line that is no result: progress, warnings. Where nobody takes it, it is lost."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def warn(*texts: str) -> None:
    """Each warning, on a line of its own."""
    for text in texts:
        note(f"warning: {visible(text)}")


def show(
    asked: Format | None, document: object, rows: Iterable[Sequence[object]], lines: Callable[[], Iterable[str]]
) -> None:
    """Show a result as it is asked for: the document as JSON, the rows as TSV, or lines to read."""
    match chosen_format(asked):
        case Format.JSON:
            import msgspec

            show_json(msgspec.to_builtins(document))
        case Format.TSV:
            show_tsv(rows)
        case Format.HUMAN:
            say(*lines())


def show_json(document: Any) -> None:
    """The result as JSON; what is not a number is refused."""
    say(json_text(document, indent=2))


def show_yaml(text: str) -> None:
    """The result as YAML; what is written out stands between double quotes, and means the same there."""
    say(*map(visible, text.rstrip("\n").split("\n")))


def json_text(document: Any, *, indent: int | None = None) -> str:
    """The document as JSON; in ASCII on a terminal, which obeys control characters, and where stdout takes no more."""
    import json

    is_narrow = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    return json.dumps(document, indent=indent, ensure_ascii=is_narrow or sys.stdout.isatty(), allow_nan=False)


def show_tsv(rows: Iterable[Sequence[object]]) -> None:
    """The result as lines of cells between tabs; control characters are written out."""
    for row in rows:
        say(tsv_line(row))
