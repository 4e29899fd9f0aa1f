"""ltr import and ltr export: other people's formats in, and out."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.options import Code, Encoder, HashTopics, Negatives, Overwrite, Tools, Verbose, whole_or_number
from ltr.cli.output import Format, listing, say, show, warn
from ltr.errors import UsageError, count, suggestion
from ltr.reporting.escaping import visible

if TYPE_CHECKING:
    from ltr.data.importers.import_samples import ImportSummary
    from ltr.data.importers.tally import Count


def import_files(
    words: Annotated[
        list[str],
        typer.Argument(metavar="[FORMAT] FILES", help="A format (ltr list importers), and files, globs or -."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", help="The samples: .jsonl, .jsonl.gz or .jsonl.zst.")],
    outcome: Annotated[
        str | None,
        typer.Option("--outcome", help="What says which calls were right: span-status, feedback, evaluation:FILE."),
    ] = None,
    repeats: Annotated[
        str | None,
        typer.Option(
            "--repeats",
            metavar="once|all",
            help="How often identical requests of a chat log count; default: each time, a growing conversation once.",
        ),
    ] = None,
    hash_topics: HashTopics = False,
    redact: Annotated[bool, typer.Option(help="Replace mail addresses, keys and tokens in texts.")] = True,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the importer.")
    ] = None,
    tools: Tools = None,
    negatives: Negatives = None,
    encoder: Encoder = None,
    code: Code = None,
    overwrite: Overwrite = False,
    shown: Annotated[Format, typer.Option("--format", help="How to show the summary.")] = Format.HUMAN,
) -> None:
    """Turn FILES of another format into samples.

    Without FORMAT, or with auto, the format is the one that all of the files look like.
    It says what was kept and what was skipped, by reason.
    """
    import msgspec

    from ltr.data.importers.import_samples import import_samples
    from ltr.experiments.import_with_negatives import import_with_negatives

    format_name, files = format_and_files(words)
    flags = {"outcome": outcome, "repeats": repeats, "hash_topics": "yes" if hash_topics else None}
    options = dict(_option(text) for text in option or ()) | {name: value for name, value in flags.items() if value}
    given: dict[str, Any] = {"options": options, "redact": redact, "overwrite": overwrite}
    if negatives is None and (tools or encoder):
        raise UsageError("--tools and --encoder are for --negatives; the texts of a catalogue are read when you train")
    if negatives is None:
        summary = import_samples(format_name, files, out, **given)
    elif tools is None:
        raise UsageError("negatives are drawn from a catalogue: name one with --tools")
    else:
        given |= {"tools": tools, "negatives": negatives_asked(negatives), "encoder": encoder or "auto"}
        summary = import_with_negatives(format_name, files, out, **given)
    warn(*summary.notes)
    wrote = [["wrote", summary.samples, "samples", out.as_posix()], ["wrote", summary.groups, "groups", ""]]
    counts = (("kept", summary.kept), ("skipped", summary.skipped), ("also", summary.remarks))
    rows = [[title, entry.number, entry.reason, ", ".join(entry.places)] for title, of in counts for entry in of]
    show(
        shown,
        {"out": out.as_posix(), **msgspec.to_builtins(summary)},
        [["what", "number", "reason", "places"], *wrote, *rows],
        lambda: summary_lines(summary, out, is_recognised=format_name != summary.format),
    )


def summary_lines(summary: "ImportSummary", out: Path, *, is_recognised: bool) -> list[str]:
    """The format if it was recognised, how much was written, and what was kept and skipped, by reason."""
    what = f"{count(summary.samples, 'sample')} in {count(summary.groups, 'group')}"
    lines = [f"read as {visible(summary.format)}"] if is_recognised else []
    lines.append(f"wrote {what} to {visible(out.as_posix())}")
    for title, entries in (("kept", summary.kept), ("skipped", summary.skipped), ("also", summary.remarks)):
        lines += count_lines(title, entries)
    return lines


def negatives_asked(text: str) -> str | int:
    """`catalogue`, or a number of 1 or more."""
    asked: str | int = whole_or_number(text)
    if asked != "catalogue" and not (isinstance(asked, int) and asked > 0):
        raise UsageError(f"--negatives {text}: catalogue, or a number of 1 or more, is needed")
    return asked


def format_and_files(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """The format, auto where the first word is a file or a glob, and the files."""
    import glob
    import os

    from ltr.data.importers.format_recognition import AUTO
    from ltr.data.importers.registry import IMPORTERS
    from ltr.files.path_arguments import STDIN

    first, *files = words
    is_format = first == AUTO or first in IMPORTERS
    if is_format and files:
        return first, files
    if os.path.lexists(first) or glob.has_magic(first) or first == STDIN:
        return AUTO, words
    if is_format:
        raise UsageError(f"the files are missing: ltr import {first} FILES -o OUT")
    known = f"the formats are auto, {', '.join(IMPORTERS.names())}"
    raise UsageError(f"{first}: neither a file nor a format{suggestion(first, IMPORTERS.names())}; {known}")


def count_lines(title: str, entries: "Sequence[Count]") -> list[str]:
    """The title, if there is an entry, and numbers and reasons below each other, with first places; nothing is cut."""
    if not entries:
        return []
    numbers = [f"{entry.number:,}" for entry in entries]
    width = max(map(len, numbers))
    rows = [
        [f"  {number:>{width}}", f"{entry.reason} ({_short_places(entry.places)})" if entry.places else entry.reason]
        for number, entry in zip(numbers, entries, strict=True)
    ]
    return [title, *listing(["", ""], rows)]


def _short_places(places: Sequence[str]) -> str:
    """Places one after the other, each once; lines of one file after its name.

    >>> _short_places(["a.jsonl:1", "a.jsonl:7", "b.jsonl:2", "b.jsonl:2"])
    'a.jsonl:1, 7, b.jsonl:2'
    """
    parts, last = [], ""
    for place in dict.fromkeys(places):
        file, _, line = place.rpartition(":")
        parts.append(line if file and file == last and line.isdecimal() else place)
        last = file
    return ", ".join(parts)


def _option(text: str) -> tuple[str, str]:
    """Name and value of NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not name or not equals:
        raise UsageError(f"--option {text!r}: NAME=VALUE is needed")
    return name, value


def export_files(
    format_name: Annotated[str, typer.Argument(metavar="FORMAT", help="trec, letor or csv (ltr list exporters).")],
    source: Annotated[str, typer.Argument(metavar="RUN|SAMPLES", help="A run directory, or samples.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="What to write; trec also writes OUT.qrels.")],
    code: Code = None,
    overwrite: Overwrite = False,
    verbose: Verbose = False,
) -> None:
    """Write a run, or samples, as TREC, LETOR or CSV."""
    from ltr.experiments.export import export

    for path in export(format_name, source, out, overwrite=overwrite):
        say(f"wrote {visible(path)}")
