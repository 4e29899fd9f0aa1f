"""ltr pack: what serving needs of a run."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from ltr.cli.options import Code, Overwrite, Shown, Tools, Verbose
from ltr.cli.output import show
from ltr.errors import count
from ltr.reporting.escaping import visible


def pack_command(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run directory or model.json.")],
    out: Annotated[Path, typer.Option("--out", "-o", help="A directory of its own, or a file ending in .zip.")],
    tools: Tools = None,
    learns: Annotated[
        bool, typer.Option("--learns", help="Pack training queries and outcomes, too, so that the pack can be refit.")
    ] = False,
    overwrite: Overwrite = False,
    code: Code = None,
    shown: Shown = None,
    verbose: Verbose = False,
) -> None:
    """Put what serving needs of a RUN into a directory or a zip file."""
    from ltr.serving.pack import RECALL_AT, pack

    packed = pack(run, out, tools=tools, learns=learns, overwrite=overwrite)
    recall = {} if packed.recall is None else {f"recall@{RECALL_AT}": packed.recall, "queries": packed.queries}
    size = sum(packed.files.values())
    facts = {"path": packed.path, "bytes": size, "tools": packed.tools, **recall}

    def lines() -> Iterator[str]:
        files = f"{count(len(packed.files), 'file')}, {size / 1e6:.1f} MB"
        yield f"packed {visible(packed.path)} ({files}, {count(packed.tools, 'tool')})"
        if packed.recall is not None:
            share = f"{packed.recall:.1%} of the first {RECALL_AT} tools without the cut are among those with it"
            yield f"the catalogue is cut: {share} ({count(packed.queries, 'query', 'queries')})"

    show(shown, {**facts, "files": dict(packed.files)}, facts.items(), lines)
