"""ltr train: samples in, a run out."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.config_of_flags import configured
from ltr.cli.options import (
    Abstain,
    Address,
    AllowDownload,
    Calibrate,
    CatalogueFlag,
    Code,
    ConfigFile,
    DryRun,
    Encoder,
    EngineName,
    Features,
    FlagValue,
    Graphs,
    Metrics,
    Negatives,
    NoneFrom,
    NoneShare,
    NoRelevant,
    NoTexts,
    Overwrite,
    Quiet,
    Recommended,
    RelThreshold,
    Resume,
    Samples,
    Seed,
    Sets,
    Shown,
    Ties,
    Tools,
    Verbose,
    Workers,
    fetch_encoder,
    given_keys,
    key_option,
    refuse_both,
    samples_or_share,
)
from ltr.cli.output import Format, note, show, show_yaml, warn
from ltr.cli.progress import run_progress
from ltr.errors import count
from ltr.reporting.escaping import visible

if TYPE_CHECKING:
    from ltr.config.run import RunConfig
    from ltr.experiments.single_run import Finished


def train_command(
    ctx: typer.Context,
    samples: Samples,
    out: Annotated[Path, typer.Option("--out", "-o", help="The directory of the run.")],
    config: ConfigFile = None,
    recommended: Recommended = False,
    features: Features = None,
    kind: Annotated[
        str | None, key_option("kind", "--kind", help="tool or graph; default: what the samples hold.")
    ] = None,
    trainer: Annotated[str | None, key_option("train.trainer", "--trainer", help="descent or newton.")] = None,
    epochs: Annotated[int | None, key_option("train.epochs", "--epochs", help="Passes of descent.")] = None,
    l2: Annotated[float | None, key_option("train.l2", "--l2", help="Weight of the penalty |w|^2.")] = None,
    learning_rate: Annotated[
        float | None, key_option("train.learning_rate", "--learning-rate", help="Step of descent.")
    ] = None,
    valid: Annotated[
        str | None,
        key_option(
            "data.valid", "--valid", read=samples_or_share, help="Validation samples, or a share of the traces."
        ),
    ] = None,
    folds: Annotated[
        int | None, key_option("train.folds", "--folds", help="Cross-validate in so many folds of traces.")
    ] = None,
    test: Annotated[
        str | None,
        key_option("data.test", "--test", read=samples_or_share, help="Test samples, or a share of the traces."),
    ] = None,
    tools: Tools = None,
    negatives: Negatives = None,
    no_texts: NoTexts = False,
    graphs: Graphs = None,
    encoder: Encoder = None,
    none_from: NoneFrom = None,
    none_share: NoneShare = None,
    abstain: Abstain = None,
    calibrate: Calibrate = None,
    catalogue: CatalogueFlag = None,
    metrics: Metrics = None,
    ties: Ties = None,
    no_relevant: NoRelevant = None,
    rel_threshold: RelThreshold = None,
    seed: Seed = None,
    sets: Sets = None,
    allow_download: AllowDownload = False,
    engine: EngineName = None,
    workers: Workers = None,
    address: Address = None,
    code: Code = None,
    overwrite: Overwrite = False,
    resume: Resume = False,
    dry_run: DryRun = False,
    shown: Shown = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Learn weights from SAMPLES; keep the run in OUT."""
    from ltr.experiments.single_run import run_and_save

    named = FlagValue("--out", "name", out.name)
    wanted = configured(config, sets, [*given_keys(ctx), *([named] if out.name else [])])
    refuse_both(resume=resume, overwrite=overwrite)
    if dry_run:
        show_plan(wanted, out, overwrite=overwrite, resume=resume)
        return
    if allow_download:
        fetch_encoder(wanted.encoder)
    with run_progress(quiet=quiet) as on_progress:
        options: dict[str, Any] = {"overwrite": overwrite, "resume": resume, "code": code or ()}
        finished = run_and_save(wanted, out, **options, on_progress=on_progress)
    show_run(finished, shown, is_plain=not (config or sets or recommended or features), quiet=quiet, verbose=verbose)


def show_notes(finished: "Finished", *, quiet: bool) -> None:
    """On stderr that a complete run was left as it is, else the warnings of the run, and the encoder that auto took."""
    result = finished.result
    if result is None:
        if not quiet:
            note(f"{visible(finished.directory.as_posix())}/ was complete")
        return
    warn(*result.warnings)
    if result.auto_encoder and not quiet:
        note(f"encoder {result.auto_encoder}: the best that is installed (auto); --encoder names another")


def show_plan(config: "RunConfig", out: Path, *, overwrite: bool, resume: bool) -> None:
    """What a run would read and write."""
    from ltr.config.run import render
    from ltr.data.shards import count_groups
    from ltr.experiments.resume import Digests, is_finished
    from ltr.read import read_data
    from ltr.storage.run_directory import refuse_taken

    refuse_taken(out, overwrite=overwrite or resume)
    if resume and is_finished(config, out, Digests()):
        note(f"{visible(out.as_posix())}/: complete, stays as it is")
        show_yaml(render(config))
        return
    loaded = read_data(config)
    groups = count(count_groups(loaded.train), "group")
    tested = "the same" if loaded.test is None else count(count_groups(loaded.test), "test group")
    note(f"would learn from {groups}, measure on {tested}, and write {visible(out.as_posix())}/")
    show_yaml(render(config))


def show_run(finished: "Finished", shown: Format | None, *, is_plain: bool, quiet: bool, verbose: bool) -> None:
    """The metrics of the run, with `verbose` all its statistics; of a run that was left as it is, its standing."""
    from ltr.cli.run_lines import run_lines, short_lines
    from ltr.results.record import flat
    from ltr.storage.evaluation_records import MetricsRecord
    from ltr.storage.record_reader import read_record
    from ltr.storage.run_directory import METRICS

    show_notes(finished, quiet=quiet)
    home, result = finished.directory, finished.result
    record = read_record(home / METRICS, MetricsRecord) if result is None else result.measured.record

    def lines() -> list[str]:
        if result is not None:
            if verbose:
                return run_lines(home, result, finished.seconds)
            return short_lines(home, result, finished.seconds, is_plain=is_plain)
        from ltr.cli.run_lines import standings
        from ltr.results.leaderboard import Entry, leaderboard

        return standings(leaderboard([Entry(home.as_posix(), home, {})], home))

    fields = flat(record)
    show(shown, {**fields, "run": str(home)}, fields.items(), lines)
