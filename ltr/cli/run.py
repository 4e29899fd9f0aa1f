"""ltr run: configs in, run directories and a leaderboard out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.options import (
    AllowDownload,
    Code,
    DryRun,
    Overwrite,
    Quiet,
    Resume,
    Seed,
    Sets,
    Shown,
    configured,
    fetch_encoder,
    run_code,
)
from ltr.cli.progress import watched
from ltr.cli.terminal import Format, chosen_format, note, say, show_json, show_tsv, visible, warn
from ltr.cli.train import planned_epochs, show_plan
from ltr.errors import UsageError

if TYPE_CHECKING:
    from ltr.batch import Finished

HERE = "ltr.yaml"
COLUMNS = ("top1_accuracy", "top3_accuracy", "mrr", "num_queries")


def run(
    configs: Annotated[list[str] | None, typer.Argument(help=f"Configs; without any, {HERE} here.")] = None,
    out: Annotated[Path, typer.Option("--out", "-o", help="Where the runs are kept, a directory each.")] = Path("runs"),
    sets: Sets = None,
    code: Code = None,
    seed: Seed = None,
    allow_download: AllowDownload = False,
    overwrite: Overwrite = False,
    resume: Resume = False,
    dry_run: DryRun = False,
    shown: Shown = None,
    quiet: Quiet = False,
) -> None:
    """Run CONFIGS in order; end in a leaderboard."""
    from ltr.batch import directories, run_all

    run_code(code)
    names = configs or [HERE]
    if not configs and not Path(HERE).exists():
        raise UsageError(f"no {HERE} here; name a config, or make one with `ltr init`")
    wanted = [configured(name, sets, seed=seed) for name in names]
    if dry_run:
        for config, directory in zip(wanted, directories(wanted, out), strict=True):
            show_plan(config, directory, overwrite=overwrite or resume)
        return
    for config in wanted:
        fetch_encoder(config.encoder, allowed=allow_download)
    finished: list[Finished] = []
    with watched("training", planned_epochs(wanted), quiet=quiet) as on_epoch:
        for each in run_all(wanted, out, overwrite=overwrite, resume=resume, on_epoch=on_epoch):
            finished.append(each)
            for warning in each.result.warnings:
                warn(f"{each.result.config.name}: {warning}")
            if not quiet:
                note(f"kept {visible(each.directory.as_posix())}/ ({each.seconds:.1f} s)")
    show(finished, chosen_format(shown))


def show(finished: "list[Finished]", shown: Format) -> None:
    """The leaderboard."""
    from ltr.cli.result import leaderboard
    from ltr.records import metrics

    rows: list[dict[str, Any]] = [
        {"run": each.result.config.name, **metrics(each.result.measured)} for each in finished
    ]
    match shown:
        case Format.JSON:
            show_json(rows)
        case Format.TSV:
            show_tsv(
                [["run", "split", *COLUMNS], *([row[name] for name in ("run", "split", *COLUMNS)] for row in rows)]
            )
        case Format.HUMAN:
            say(*leaderboard(finished))
