"""ltr bench: rerankers in, quality, latency and cost side by side out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ltr.cli.options import AllowDownload, Code, DryRun, Overwrite, Quiet, Seed, Sets, Shown, Verbose
from ltr.cli.terminal import Format, chosen_format, note, say, show_json, show_tsv, visible, warn
from ltr.errors import RunError

if TYPE_CHECKING:
    from ltr.benchmark.running import Event
    from ltr.benchmark.verdict import Bench

AllowCommand = Annotated[
    bool, typer.Option("--allow-command", help="Let the reranker `command` run the program that the config names.")
]


def bench(
    config: Annotated[str, typer.Argument(metavar="CONFIG", help="A config of a bench; - is stdin.")],
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Where it is kept: runs/NAME.")] = None,
    sets: Sets = None,
    code: Code = None,
    seed: Seed = None,
    allow_command: AllowCommand = False,
    allow_download: AllowDownload = False,
    overwrite: Overwrite = False,
    resume: Annotated[bool, typer.Option("--resume", help="Keep what was measured there, measure the rest.")] = False,
    dry_run: DryRun = False,
    shown: Shown = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Measure the rerankers of CONFIG side by side."""
    from ltr.benchmark.config import load_bench
    from ltr.benchmark.running import Allowed, Event, forecast, run_bench
    from ltr.files.naming import inside

    wanted = load_bench(config, [*(sets or ()), *([] if seed is None else [f"seed={seed}"])])
    home = inside("runs", wanted.name) if out is None else out
    allowed = Allowed(command=allow_command, download=allow_download, code=tuple(code or ()))
    if dry_run:
        missing = forecast(wanted, home, allowed=allowed, overwrite=overwrite, resume=resume)
        for each in missing:
            told(Event(each.name, "would fail" if each.is_failure else "would be left out", each.why), quiet=quiet)
        usable = len(wanted.entries) - len(missing)
        note(
            f"{visible(config)}: good; {usable} of {len(wanted.entries)} rerankers, kept in {visible(home.as_posix())}/"
        )
        return
    found = run_bench(
        wanted,
        home,
        allowed=allowed,
        overwrite=overwrite,
        resume=resume,
        tell=lambda event: told(event, quiet=quiet),
    )
    for warning in found.warnings:
        warn(warning)
    show(found, chosen_format(shown))
    if not quiet:
        note(f"kept {visible(home.as_posix())}/")
    refuse_failed(found)


def refuse_failed(found: "Bench") -> None:
    """Raise for the rerankers that went wrong, once all is kept and shown."""
    if found.failed:
        names = ", ".join(each.name for each in found.failed)
        raise RunError(f"{len(found.failed)} of {len(found.config.entries)} rerankers failed: {names}")


def told(event: "Event", *, quiet: bool) -> None:
    """A line for what happens; what runs, what is missing and why is told even where quiet is asked for."""
    if event.what in ("measured", "kept"):
        if not quiet:
            note(f"{event.what} {visible(event.name)}")
    elif event.what == "runs":
        note(f"{visible(event.name)}: runs {visible(event.detail)}")
    else:
        warn(f"{event.name}: {event.what}: {event.detail}")


def show(found: "Bench", shown: Format) -> None:
    """The three tables and the conclusions, or all of bench.json."""
    from ltr.benchmark.writing import tables
    from ltr.cli.benchtables import bench_lines

    match shown:
        case Format.JSON:
            show_json(found.document())
        case Format.TSV:
            quality, latency, cost = tables(found).values()
            show_tsv([[*q, *t[1:], *c[1:]] for q, t, c in zip(quality, latency, cost, strict=True)])
        case Format.HUMAN:
            say(*bench_lines(found))
