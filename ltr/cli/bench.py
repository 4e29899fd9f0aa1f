"""ltr bench: rerankers in, quality, latency and cost side by side out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ltr.cli.options import AllowDownload, Code, DryRun, Overwrite, Quiet, Seed, Sets, Shown, Verbose
from ltr.cli.output import Format, note, show, warn
from ltr.errors import RunError
from ltr.reporting.escaping import visible

if TYPE_CHECKING:
    from ltr.benchmark.bench_run import Event
    from ltr.storage.bench_record import BenchRecord

AllowCommand = Annotated[
    bool, typer.Option("--allow-command", help="Let the reranker `command` run the program that the config names.")
]


def bench(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="A config of a bench; - is stdin.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where to keep it; default: runs/NAME.")] = None,
    sets: Sets = None,
    code: Code = None,
    seed: Seed = None,
    catalogue: Annotated[
        bool, typer.Option("--catalogue", help="The documents of each query are all tools of the catalogue.")
    ] = False,
    allow_command: AllowCommand = False,
    allow_download: AllowDownload = False,
    overwrite: Overwrite = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Keep what was measured there, and measure the rest.")
    ] = False,
    dry_run: DryRun = False,
    shown: Shown = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Measure the rerankers of CONFIG side by side."""
    from ltr.benchmark.bench_run import Allowed, Event, forecast_bench, run_bench
    from ltr.benchmark.config import load_bench
    from ltr.files.safe_file_names import path_inside
    from ltr.storage.bench_record import Failed

    changes = [*(sets or ()), *([] if seed is None else [f"seed={seed}"]), *(["catalogue=true"] if catalogue else [])]
    wanted = load_bench(config, changes)
    home = path_inside("runs", wanted.name) if out is None else out
    allowed = Allowed(command=allow_command, download=allow_download, code=tuple(code or ()))
    if dry_run:
        missing = forecast_bench(wanted, home, allowed=allowed, overwrite=overwrite, resume=resume)
        for reranker in missing:
            what = "would fail" if isinstance(reranker, Failed) else "would be left out"
            show_event(Event(reranker.name, what, reranker.why), quiet=quiet)
        usable, entries = len(wanted.entries) - len(missing), len(wanted.entries)
        note(f"{visible(config)}: good; {usable} of {entries} rerankers, kept in {visible(home.as_posix())}/")
        return
    record = run_bench(
        wanted,
        home,
        allowed=allowed,
        overwrite=overwrite,
        resume=resume,
        on_event=lambda event: show_event(event, quiet=quiet),
    ).record
    for warning in record.warnings:
        warn(warning)
    show_bench(record, shown)
    if not quiet:
        note(f"kept {visible(home.as_posix())}/")
    if record.failed:
        names = ", ".join(reranker.name for reranker in record.failed)
        raise RunError(f"{len(record.failed)} of {len(wanted.entries)} rerankers failed: {names}")


def show_event(event: "Event", *, quiet: bool) -> None:
    """A line for a step; commands that run and rerankers that are missing are shown even with --quiet."""
    if event.what in ("measured", "reused"):
        if not quiet:
            note(f"{event.what} {visible(event.name)}")
    elif event.what == "runs":
        note(f"{visible(event.name)}: runs {visible(event.detail)}")
    else:
        warn(f"{event.name}: {event.what}: {event.detail}")


def show_bench(record: "BenchRecord", shown: Format | None) -> None:
    """The three tables and the conclusions, or all of bench.json."""
    from ltr.cli.bench_lines import bench_lines
    from ltr.reporting.reranker_tables import bench_tables
    from ltr.reporting.table import tsv_rows

    quality, latency, cost = map(tsv_rows, bench_tables(record).values())
    rows = ([*q, *t[1:], *c[1:]] for q, t, c in zip(quality, latency, cost, strict=True))
    show(shown, record, rows, lambda: bench_lines(record))
