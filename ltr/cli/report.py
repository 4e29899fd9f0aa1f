"""ltr report: what runs, batches and benches keep in, one page out."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from ltr import __version__
from ltr.cli.options import Code, Overwrite, Quiet, Seed
from ltr.cli.output import note
from ltr.errors import UsageError
from ltr.reporting.escaping import visible

ENDINGS = (".html", ".htm", ".md", ".markdown")


def report(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="A run, several, a batch or a bench.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="PAGE.html, or CARD.md: the card of one run's model.")],
    seed: Seed = None,
    code: Code = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
) -> None:
    """Write one page about RUNS: one file, no script, no network."""
    from ltr.files.output_replacement import refuse_existing
    from ltr.reporting.report import write_report

    if out.suffix.lower() not in ENDINGS:
        raise UsageError(f"{out}: name a page that ends in .html, or a card that ends in .md")
    refuse_existing(out, overwrite=overwrite)
    made = f"ltr {__version__}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    write_report(runs, out, seed=seed or 0, made=made)
    if not quiet:
        note(f"wrote {visible(out.as_posix())}")
