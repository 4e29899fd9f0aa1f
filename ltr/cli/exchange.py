"""ltr import and ltr export: other people's formats in, and out."""

from pathlib import Path
from typing import Annotated

import typer

from ltr.cli.options import Code, Overwrite, Verbose
from ltr.cli.terminal import (
    say,
    warn,
)
from ltr.errors import count
from ltr.reporting.escaping import visible


def import_files(
    format_name: Annotated[str, typer.Argument(metavar="FORMAT", help="trec or letor (ltr list importers).")],
    files: Annotated[list[str], typer.Argument(metavar="FILES", help="Files of that format, globs, or -.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="The samples: .jsonl, .jsonl.gz or .jsonl.zst.")],
    code: Code = None,
    overwrite: Overwrite = False,
) -> None:
    """Turn FILES of another format into samples."""
    from ltr.data.importers.importing import import_samples

    samples, notes = import_samples(format_name, files, out, overwrite=overwrite)
    for text in notes:
        warn(text)
    say(f"wrote {count(samples, 'sample')} to {visible(out.as_posix())}")


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
