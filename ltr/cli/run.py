"""ltr run: configs and sweeps in, run directories and a leaderboard out."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ltr.cli.config_of_flags import configured_points
from ltr.cli.error_lines import lines_of
from ltr.cli.exit_codes import exit_code
from ltr.cli.options import (
    AllowDownload,
    CatalogueFlag,
    Code,
    DryRun,
    Features,
    Jobs,
    Negatives,
    NoTexts,
    Overwrite,
    Quiet,
    Resume,
    Seed,
    Sets,
    Shown,
    Verbose,
    fetch_encoder,
    given_keys,
    refuse_both,
)
from ltr.cli.output import Format, note, say, show, warn
from ltr.cli.progress import batch_progress
from ltr.errors import UsageError
from ltr.reporting.escaping import visible

if TYPE_CHECKING:
    from ltr.experiments.batch import BatchOptions, Ended, Planned
    from ltr.results.leaderboard import Leaderboard

HERE = "ltr.yaml"


def run_command(
    ctx: typer.Context,
    configs: Annotated[
        list[str] | None, typer.Argument(metavar="CONFIG", help=f"Configs; default: {HERE} in this directory.")
    ] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the runs are kept, a directory each.")] = Path("runs"),
    jobs: Jobs = None,
    metric: Annotated[str, typer.Option("--sort", metavar="METRIC", help="What the leaderboard is sorted by.")] = "mrr",
    features: Features = None,
    negatives: Negatives = None,
    no_texts: NoTexts = False,
    catalogue: CatalogueFlag = None,
    sets: Sets = None,
    code: Code = None,
    seed: Seed = None,
    allow_download: AllowDownload = False,
    overwrite: Overwrite = False,
    resume: Resume = False,
    dry_run: DryRun = False,
    shown: Shown = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Run CONFIGS and their sweeps; end in a leaderboard."""
    from ltr.experiments.batch import BatchOptions, planned, run_batch

    refuse_both(resume=resume, overwrite=overwrite)
    points = [point for name in configs_or_here(configs) for point in configured_points(name, sets, given_keys(ctx))]
    plan = planned(points, out)
    options = BatchOptions(overwrite=overwrite, resume=resume, code=tuple(code or ()))
    if jobs is not None:
        options = replace(options, jobs=jobs)
    if dry_run:
        show_batch_plan(plan, options)
        return
    for name in dict.fromkeys(planned_run.config.encoder for planned_run in plan if allow_download):
        fetch_encoder(name)
    warned: set[str] = set()
    with batch_progress(plan, quiet=quiet) as (on_progress, on_run):

        def on_end(ended: "Ended") -> None:
            tell(ended, warned, quiet=quiet)
            on_run()

        ended_runs, board = run_batch(plan, out, options, metric=metric, on_progress=on_progress, on_end=on_end)
    failed = next((ended.error for ended in ended_runs if ended.error is not None), None)
    if any(row.error is None for row in board.rows):
        show_leaderboard(board, shown)
    if failed is not None:
        raise typer.Exit(exit_code(failed))


def configs_or_here(configs: list[str] | None) -> list[str]:
    """The configs, or the one that lies here."""
    if not configs and not Path(HERE).exists():
        raise UsageError(f"no {HERE} here; name a config, or make one with `ltr init`")
    return configs or [HERE]


def tell(ended: "Ended", warned: set[str], *, quiet: bool) -> None:
    """What became of a run; what was warned of before, of another run, is not repeated."""
    name, where = ended.planned.config.name, f"{visible(ended.planned.directory.as_posix())}/"
    for warning in ended.warnings:
        if warning not in warned:
            warn(f"{name}: {warning}")
    warned.update(ended.warnings)
    if ended.error is not None:
        note("\n".join(f"error: {visible(f'{name}: {line}')}" for line in lines_of(ended.error)))
    elif not quiet:
        encoder = f", encoder {ended.auto_encoder} (auto)" if ended.auto_encoder else ""
        note(f"{where} was complete" if ended.is_untouched else f"kept {where} ({ended.seconds:.1f} s{encoder})")


def show_leaderboard(board: "Leaderboard", shown: Format | None) -> None:
    """The leaderboard."""
    from ltr.cli.run_lines import standings
    from ltr.reporting.leaderboard_table import leaderboard_table
    from ltr.reporting.table import tsv_rows

    show(shown, board, tsv_rows(leaderboard_table(board, board.rows)), lambda: standings(board))


def show_batch_plan(plan: "tuple[Planned, ...]", options: "BatchOptions") -> None:
    """What a batch would do with each run."""
    from ltr.experiments.batch import forecast

    for planned_run, text in forecast(plan, options):
        say(f"{planned_run.directory.as_posix()}/: {text}")
