"""ltr import and ltr export: other people's formats in, and out."""

from pathlib import Path
from typing import Annotated

import typer

from ltr.cli.options import Code, Overwrite, Verbose
from ltr.cli.terminal import say, table, warn
from ltr.errors import UsageError, count
from ltr.reporting.escaping import visible


def import_files(
    format_name: Annotated[str, typer.Argument(metavar="FORMAT", help="trec, letor, ... (ltr list importers).")],
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Files of that format, globs, or -.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The samples: .jsonl, .jsonl.gz or .jsonl.zst.")],
    redact: Annotated[bool, typer.Option(help="Replace mail addresses, keys and tokens in texts.")] = True,
    option: Annotated[
        list[str] | None, typer.Option("--option", metavar="NAME=VALUE", help="An option of the importer.")
    ] = None,
    code: Code = None,
    overwrite: Overwrite = False,
) -> None:
    """Turn FILES of another format into samples.

    It says what was kept and what was skipped, by reason.
    """
    from ltr.data.importers.importing import import_samples

    options = dict(_option(text) for text in option or ())
    summary = import_samples(format_name, files, out, options=options, redact=redact, overwrite=overwrite)
    warn(*summary.notes)
    written = f"{count(summary.samples, 'sample')} in {count(summary.groups, 'group')}"
    say(f"wrote {written} to {visible(out.as_posix())}")
    for title, counts in (("kept", summary.kept), ("skipped", summary.skipped), ("also", summary.remarks)):
        rows = [[f"{entry.number:,}", entry.reason, ", ".join(entry.places)] for entry in counts]
        say(*([title, *table(["", "", ""], rows, flexible=2)] if rows else []))


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
    from ltr.experiments.exchange import export

    for path in export(format_name, source, out, overwrite=overwrite):
        say(f"wrote {visible(path)}")
