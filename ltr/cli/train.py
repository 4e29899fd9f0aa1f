"""ltr train: samples in, a run out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ltr.cli.options import (
    AllowDownload,
    Code,
    ConfigFile,
    DryRun,
    Encoder,
    Graphs,
    Metrics,
    NoRelevant,
    Overwrite,
    Quiet,
    RelThreshold,
    Resume,
    Samples,
    Seed,
    Sets,
    Shown,
    Ties,
    Tools,
    Verbose,
    configured,
    fetch_encoder,
    metric_names,
    run_code,
    samples_or_share,
    under,
)
from ltr.cli.progress import planned_epochs, watched
from ltr.cli.terminal import Format, chosen_format, count, note, say, show_json, show_tsv, show_yaml, visible, warn
from ltr.errors import UsageError

if TYPE_CHECKING:
    from ltr.config.run import RunConfig


def train(
    samples: Samples,
    out: Annotated[Path, typer.Option("--out", "-o", help="The directory of the run.")],
    config: ConfigFile = None,
    kind: Annotated[str | None, typer.Option("--kind", help="tool or graph; without it, that of the samples.")] = None,
    trainer: Annotated[str | None, typer.Option("--trainer", help="descent or newton.")] = None,
    epochs: Annotated[int | None, typer.Option("--epochs", help="Passes of descent.")] = None,
    l2: Annotated[float | None, typer.Option("--l2", help="Weight of the penalty |w|^2.")] = None,
    learning_rate: Annotated[float | None, typer.Option("--learning-rate", help="Step of descent.")] = None,
    valid: Annotated[
        str | None, typer.Option("--valid", help="Samples that stop the training, or a share of the traces.")
    ] = None,
    folds: Annotated[int | None, typer.Option("--folds", help="Cross-validation by trace in so many folds.")] = None,
    test: Annotated[str | None, typer.Option("--test", help="Test samples, or a share of the traces.")] = None,
    tools: Tools = None,
    graphs: Graphs = None,
    encoder: Encoder = None,
    metrics: Metrics = None,
    ties: Ties = None,
    no_relevant: NoRelevant = None,
    rel_threshold: RelThreshold = None,
    seed: Seed = None,
    sets: Sets = None,
    allow_download: AllowDownload = False,
    code: Code = None,
    overwrite: Overwrite = False,
    resume: Resume = False,
    dry_run: DryRun = False,
    shown: Shown = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Learn weights from SAMPLES; keep the run in OUT."""
    run_code(code)
    data = under("data", train=samples, valid=samples_or_share(valid), test=samples_or_share(test))
    wanted = configured(
        config,
        sets,
        name=out.name or None,
        kind=kind,
        encoder=encoder,
        seed=seed,
        **data,
        **under("data", tools=tools, graphs=graphs),
        **under("train", trainer=trainer, epochs=epochs, folds=folds, l2=l2, learning_rate=learning_rate),
        **under("evaluate", metrics=metric_names(metrics), ties=ties),
        **under("evaluate", no_relevant=no_relevant, rel_threshold=rel_threshold),
    )
    if resume and overwrite:
        raise UsageError("--resume goes on with what is there, --overwrite replaces it: give one of them")
    is_complete = resume and was_finished(wanted, out)
    if dry_run:
        show_plan(wanted, out, overwrite=overwrite or resume, is_complete=is_complete)
        return
    if is_complete:
        if not quiet:
            note(f"{visible(out.as_posix())}/ was complete")
        show_kept(out, chosen_format(shown))
        return
    fetch_encoder(wanted.encoder, allowed=allow_download)
    learn(wanted, out, overwrite=overwrite, resume=resume, shown=shown, quiet=quiet)


def was_finished(config: "RunConfig", out: Path) -> bool:
    """Whether the same run is complete there."""
    from ltr.experiments.resume import Digests, is_finished

    return is_finished(config, out, Digests())


def show_kept(out: Path, shown: Format) -> None:
    """The metrics of a run that is left as it is: those it ended with; to a person as a batch tells them."""
    from ltr.cli.standings import standings
    from ltr.results.leaderboard.rows import Entry, leaderboard
    from ltr.results.metrics_record import flat
    from ltr.storage.records import MetricsRecord, read_record
    from ltr.storage.run_directory import METRICS

    metrics = flat(read_record(out / METRICS, MetricsRecord))
    match shown:
        case Format.JSON:
            show_json({**metrics, "run": str(out)})
        case Format.TSV:
            show_tsv(metrics.items())
        case Format.HUMAN:
            say(*standings(leaderboard([Entry(out.as_posix(), out, {})], out)))


def show_plan(config: "RunConfig", out: Path, *, overwrite: bool, is_complete: bool) -> None:
    """What a run would read and write."""
    from ltr.config.run import render
    from ltr.experiments.loading import load
    from ltr.storage.run_directory import refuse_taken

    refuse_taken(out, overwrite=overwrite)
    if is_complete:
        note(f"{visible(out.as_posix())}/: complete, stays as it is")
        show_yaml(render(config))
        return
    loaded = load(config)
    groups = count(len(loaded.train[0].offsets) - 1, "group")
    tested = "the same" if loaded.test is None else count(len(loaded.test.offsets) - 1, "test group")
    note(f"would learn from {groups}, measure on {tested}, and write {visible(out.as_posix())}/")
    show_yaml(render(config))


def learn(config: "RunConfig", out: Path, *, overwrite: bool, resume: bool, shown: Format | None, quiet: bool) -> None:
    """Run, keep, show."""
    from ltr.cli.learned import run_lines
    from ltr.experiments.runs import run_and_save
    from ltr.results.metrics_record import flat, metrics_record

    with watched("training", planned_epochs(config), quiet=quiet) as on_epoch:
        finished = run_and_save(config, out, overwrite=overwrite, resume=resume, on_epoch=on_epoch)
    for warning in finished.result.warnings:
        warn(warning)
    metrics = flat(metrics_record(finished.result.measured))
    match chosen_format(shown):
        case Format.JSON:
            show_json({**metrics, "run": str(out)})
        case Format.TSV:
            show_tsv(metrics.items())
        case Format.HUMAN:
            say(*run_lines(finished))
