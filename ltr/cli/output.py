"""What reaches the terminal: results on stdout, all else on stderr, data never as markup or control code."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from ltr.errors import DiskError, reason
from ltr.report import visible

if TYPE_CHECKING:
    from ltr.report import Line, Shown, Table


class Format(StrEnum):
    """How a result is shown."""

    HUMAN = "human"
    JSON = "json"
    TSV = "tsv"


def chosen_format(asked: Format | None) -> Format:
    """Return what was asked for; else human on a terminal, tsv in a pipe."""
    return asked or (Format.HUMAN if sys.stdout.isatty() else Format.TSV)


def show_result(asked: Format | None, result: "Shown") -> None:
    """Show a result as it is asked for."""
    from ltr.report import lines

    show(asked, result.document, result.rows, lambda: lines(result.blocks, columns_of_terminal(), emphasis))


def show(
    asked: Format | None, document: object, rows: Iterable[Sequence[object]], lines: Callable[[], Iterable[str]]
) -> None:
    """Show the document as JSON, the rows as TSV, or lines to read."""
    match chosen_format(asked):
        case Format.JSON:
            import msgspec

            show_json(msgspec.to_builtins(document))
        case Format.TSV:
            show_tsv(rows)
        case Format.HUMAN:
            say(*lines())


def lines_of(*blocks: "str | Line | Table") -> list[str]:
    """Return texts, lines and tables as lines of the terminal."""
    from ltr.report import lines

    return lines(blocks, columns_of_terminal(), emphasis)


def columns_of_terminal() -> int:
    """Return the width to fill: the terminal's, at least 40; a pipe has no edge."""
    import shutil

    return max(shutil.get_terminal_size((80, 24)).columns, 40) if sys.stdout.isatty() else 1_000_000


def emphasis(text: str) -> str:
    """Return the text in bold, where colours are wanted."""
    import os

    return f"\x1b[1m{text}\x1b[0m" if sys.stdout.isatty() and not os.environ.get("NO_COLOR") else text


def show_json(document: Any) -> None:
    """Show the result as JSON; what is not a number is refused."""
    say(json_text(document, indent=2))


def json_text(document: Any, *, indent: int | None = None) -> str:
    """Return the document as JSON; in ASCII on a terminal, which obeys control characters, and without UTF-8."""
    import json

    is_narrow = (sys.stdout.encoding or "utf-8").lower().replace("-", "") != "utf8"
    return json.dumps(document, indent=indent, ensure_ascii=is_narrow or sys.stdout.isatty(), allow_nan=False)


def show_yaml(text: str) -> None:
    """Show the result as YAML; what is written out stands between double quotes, and means the same there."""
    say(*map(visible, text.rstrip("\n").split("\n")))


def show_tsv(rows: Iterable[Sequence[object]]) -> None:
    """Show the result as lines of cells between tabs; control characters are written out."""
    from ltr.report import tsv_line

    for row in rows:
        say(tsv_line(row))


def say(*lines: str) -> None:
    """Print lines of the result. When its reader has left there is nothing more to do."""
    try:
        for line in lines:
            print(line)
    except BrokenPipeError:
        raise SystemExit(0) from None
    except OSError as error:
        raise full(error) from error


def full(error: OSError) -> DiskError:
    """Return what to say of a stdout that takes no more."""
    return DiskError("<stdout>", reason(error))


def note(text: str) -> None:
    """Write a line that is no result: progress, warnings. Where nobody takes it, it is lost."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def warn(*texts: str) -> None:
    """Write each warning on a line of its own."""
    for text in texts:
        note(f"warning: {visible(text)}")


@contextmanager
def log_on_stderr() -> Iterator[None]:
    """Show the log of ltr, a note for each message, while the block runs; afterwards the logger is as it was."""
    import logging

    from ltr.logs import LOG

    class Notes(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            note(visible(record.getMessage()))

    handler, level = Notes(), LOG.level
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    try:
        yield
    finally:
        LOG.removeHandler(handler)
        LOG.setLevel(level)
