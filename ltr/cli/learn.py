"""ltr train, run, featurize and update: samples in; runs, columns and better runs out."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.options import Call, Samples, ShardRows, argument, flag, takes
from ltr.cli.output import Format, chosen_format, note, say, show, show_yaml, warn
from ltr.cli.progress import batch_progress
from ltr.errors import UsageError, count
from ltr.report import visible

if TYPE_CHECKING:
    from ltr.config import RunConfig
    from ltr.experiments.batch import Ended
    from ltr.experiments.refit import Refit
    from ltr.experiments.single_run import Finished

HERE = "ltr.yaml"


@takes(
    "config sets overwrite resume dry_run shown quiet verbose",
    "seed data.valid data.test data.tools data.graphs features encoder train.recipe train.folds none.source "
    "abstain.rule",
    hidden="kind data.calibrate data.negatives data.texts train.trainer train.epochs train.l2 train.learning_rate "
    "none.share evaluate.metrics evaluate.ties evaluate.no_relevant evaluate.rel_threshold evaluate.catalogue "
    "engine.name engine.workers engine.address allow_download code",
)
def train(call: Call, samples: Samples, out: Annotated[Path, flag("--out", "-o", "The directory of the run.")]) -> None:
    """Learn weights from SAMPLES; keep the run in OUT."""
    from ltr.experiments.single_run import run_and_save

    config = call.configured({"data.train": samples, **({"name": out.name} if out.name else {})})
    call.refuse_both()
    if call.dry_run:
        show_plan(config, out, call)
        return
    call.fetch(config.encoder)
    with call.progress() as on_progress:
        options: dict[str, Any] = {"overwrite": call.overwrite, "resume": call.resume, "code": call.code or ()}
        finished = run_and_save(config, out, **options, on_progress=on_progress)
    show_run(finished, call)


def show_run(finished: "Finished", call: Call) -> None:
    """Show the metrics of a run, with -v all its statistics; of a run that was complete and stays, its standing."""
    from ltr.report import shown_run
    from ltr.runs import RunDirectory

    home, result = finished.directory, finished.result
    if result is None:
        call.note(f"{visible(home.as_posix())}/ was complete")
        record = RunDirectory(home).metrics
    else:
        warn(*result.warnings)
        if result.auto_encoder:
            call.note(f"encoder {result.auto_encoder}: the best that is installed (auto); --encoder names another")
        record = result.measured.record
    is_plain = not (call.config or call.sets or call.keys.keys() & {"train.recipe", "features"})
    call.show(shown_run(home, record, result, finished.seconds, is_plain=is_plain, is_long=call.verbose))


def show_plan(config: "RunConfig", out: Path, call: Call) -> None:
    """Show what a run would read and write."""
    from ltr.config import yaml_text
    from ltr.read import read_data
    from ltr.runs import RUN_KIND, Digests

    RUN_KIND.refuse_taken(out, overwrite=call.overwrite or call.resume)
    home = f"{visible(out.as_posix())}/"
    if call.resume and Digests().are_of(config, out):
        note(f"{home}: complete, stays as it is")
    else:
        loaded = read_data(config)
        groups = count(loaded.train.count_groups(), "group")
        tested = "the same" if loaded.test is None else count(loaded.test.count_groups(), "test group")
        note(f"would learn from {groups}, measure on {tested}, and write {home}")
    show_yaml(yaml_text(config))


@takes(
    "sets code allow_download overwrite resume dry_run shown quiet verbose",
    "seed features data.negatives data.texts evaluate.catalogue",
)
def run(
    call: Call,
    configs: Annotated[list[str] | None, argument("CONFIG", f"Configs; default: {HERE} in this directory.")] = None,
    out: Annotated[Path, flag("--out", "-o", "Where the runs are kept, a directory each.")] = Path("runs"),
    jobs: Annotated[
        int | None, flag("--jobs", "-j", "How many runs at the same time, each in a process; default: 1.", min=1)
    ] = None,
    metric: Annotated[str, flag("--sort", "What the leaderboard is sorted by.", metavar="METRIC")] = "mrr",
) -> None:
    """Run CONFIGS and their sweeps; end in a leaderboard."""
    from ltr.cli.start import exit_code
    from ltr.config import runs
    from ltr.experiments.batch import BatchOptions, forecast, planned, run_batch
    from ltr.report import shown_result

    call.refuse_both()
    if not configs and not Path(HERE).exists():
        raise UsageError(f"no {HERE} here; name a config, or make one with `ltr init`")
    plan = planned([point for config in configs or [HERE] for point in runs(call.document(config))], out)
    options = BatchOptions(overwrite=call.overwrite, resume=call.resume, code=tuple(call.code or ()))
    options = options if jobs is None else replace(options, jobs=jobs)
    if call.dry_run:
        for one, text in forecast(plan, options):
            say(f"{one.directory.as_posix()}/: {text}")
        return
    for encoder in dict.fromkeys(one.config.encoder for one in plan):
        call.fetch(encoder)
    warned: set[str] = set()
    with batch_progress(plan, quiet=call.quiet) as (on_progress, on_run):

        def on_end(ended: "Ended") -> None:
            tell(ended, warned, call)
            on_run()

        ended_runs, board = run_batch(plan, out, options, metric=metric, on_progress=on_progress, on_end=on_end)
    if any(row.error is None for row in board.rows):
        call.show(shown_result(board))
    for failed in (ended.error for ended in ended_runs if ended.error is not None):
        raise typer.Exit(exit_code(failed))


def tell(ended: "Ended", warned: set[str], call: Call) -> None:
    """Say what became of a run; what was warned of before, of another run, is not repeated."""
    from ltr.cli.start import error_lines

    name, where = ended.planned.config.name, f"{visible(ended.planned.directory.as_posix())}/"
    warn(*(f"{name}: {warning}" for warning in ended.warnings if warning not in warned))
    warned.update(ended.warnings)
    if ended.error is not None:
        note("\n".join(f"error: {visible(f'{name}: {line}')}" for line in error_lines(ended.error)))
        return
    encoder = f", encoder {ended.auto_encoder} (auto)" if ended.auto_encoder else ""
    call.note(f"{where} was complete" if ended.is_untouched else f"kept {where} ({ended.seconds:.1f} s{encoder})")


@takes(
    "config sets allow_download code overwrite quiet verbose",
    "data.tools data.graphs data.negatives train.recipe features encoder engine.name engine.workers engine.address",
)
def featurize(
    call: Call,
    samples: Samples,
    out: Annotated[str, flag("--out", "-o", "OUT.npz, OUT.jsonl (.gz, .zst), or DIR/ for any amount.")],
    model: Annotated[Path | None, flag("--model", "-m", "Apply the features of a model or of featurised data.")] = None,
    shard_rows: ShardRows = None,
) -> None:
    """Turn SAMPLES into phi, the matrix of features.

    The features are fitted on the samples (cross-fitted), or those of a model are applied (-m).
    """
    from ltr.experiments.featurize import featurize_and_save, fitted_features

    config = call.configured({"data.train": samples})
    if call.allow_download:
        call.fetch(fitted_features(model).encoder.name if model else config.encoder)
    with call.progress() as on_progress:
        options: dict[str, Any] = {"overwrite": call.overwrite, "rows": shard_rows, "code": call.code or ()}
        made = featurize_and_save(config, out, model=model, **options, on_progress=on_progress)
    warn(*made.warnings)
    how = "applied" if model else "fitted and cross-fitted"
    how += f" with encoder {made.auto_encoder} (auto)" if made.auto_encoder else ""
    rows, groups = count(made.candidates, "candidate"), count(made.groups, "group")
    call.note(f"{rows} of {groups}, {', '.join(made.names)} {how}: {visible(out)}")


@takes("code shown verbose", "data.tools data.graphs")
def update(
    call: Call,
    run: Annotated[Path, argument("RUN", "A run directory or pack.")],
    outcomes: Annotated[
        str | None, argument("OUTCOMES", "JSON lines of query, offered, and right, wrong or none; - is stdin.")
    ] = None,
    forget: Annotated[
        list[str] | None, flag("--forget", "Take an outcome, or a trace, back by its id; repeatable.")
    ] = None,
    choose: Annotated[
        bool, flag("--choose", "Let folds choose columns, curves, products and l2 anew, as --recommended.")
    ] = False,
) -> None:
    """Learn from OUTCOMES of served queries: columns, weights, and corrections on top."""
    from ltr.experiments.refit import update
    from ltr.serving import read_outcomes

    told = [] if outcomes is None else list(read_outcomes(outcomes))
    tools, graphs = call.keys.get("data.tools"), call.keys.get("data.graphs")
    refit = update(run, told, forget=forget or (), choose=choose, tools=tools, graphs=graphs)
    numbers, skipped = numbers_of(refit), refit.update.skipped
    if chosen_format(call.shown) is Format.HUMAN:
        warn(*(f"left out: {reason} ({number:,})" for reason, number in skipped.items()))
    rows = {**numbers, "skipped": sum(skipped.values())}.items()
    show(call.shown, {**numbers, "skipped": dict(skipped)}, rows, lambda: update_lines(refit))


def update_lines(refit: "Refit") -> Iterator[str]:
    """Yield what was written, what was learned, and how the test queries moved."""
    from ltr.report import Kind

    update = refit.update
    before = f", {update.known:,} known before" if update.known else ""
    yield f"wrote {count(update.outcomes, 'outcome')}{before}; the run has {count(update.total, 'outcome')}"
    kind = "tool" if update.at_once else "graph"
    for number, what in (
        (update.right, f"with the right {kind}"),
        (update.wrong, f"with a wrong {kind} alone: it was offered and not right, the weights learn nothing more"),
        (update.none, "where nothing offered was right: P(none) learns from them"),
    ):
        if number:
            yield f"  {number:,} {what}"
    yield f"  learned anew: {learned_text(refit)}"
    settings = refit.settings
    if settings.look_old:
        chosen = f"settings were chosen on {settings.chosen_on:,} queries, and there are {settings.queries:,}"
        yield f"  {chosen}, a quarter more: --choose chooses anew"
    if update.corrected:
        queries = count(update.corrected, "corrected query", "corrected queries")
        yield f"  the right {kind} is first for {update.first:,} of {queries}"
    if refit.moved is None:
        yield f"  test queries: not measured, {refit.unmeasured}"
        return
    moved, interval = refit.moved, refit.moved.interval
    sure = "" if interval.low is None or interval.high is None else f", 95 % {Kind.INTERVAL.on_page(interval)}"
    top1 = f"top-1 {moved.before:.3f} before, {moved.after:.3f} after ({Kind.DIFFERENCE.on_page(interval.mean)}{sure})"
    decided = f"; corrections decided {moved.decided:,}" if update.at_once else ""
    yield f"  {count(moved.queries, 'test query', 'test queries')}: {top1}{decided}"


def learned_text(refit: "Refit") -> str:
    """Return what the update learned."""
    from ltr.experiments.refit import FEWEST

    if not refit.update.at_once:
        return "columns and weights alone: graphs have no layer of corrections on top"
    if not refit.update.is_refit:
        return "corrections alone: no training queries are kept here"
    if refit.stay:
        kept = f"{', '.join(refit.stay)} and the weights stay: no texts of training queries are kept here"
        return f"counts of names, and corrections; {kept}"
    if not refit.settings.queries:
        return f"corrections alone, until {FEWEST} queries or more have a right tool, and training ranks them as well"
    return "columns, weights and corrections"


def numbers_of(refit: "Refit") -> dict[str, Any]:
    """Return the numbers by name."""
    counted = ("outcomes", "known", "total", "right", "wrong", "none", "corrected", "first", "is_refit")
    numbers: dict[str, Any] = {name: getattr(refit.update, name) for name in counted}
    numbers |= {"queries": refit.settings.queries, "chosen_on": refit.settings.chosen_on}
    numbers |= {"settings_look_old": refit.settings.look_old, "columns_that_stay": len(refit.stay)}
    if (moved := refit.moved) is not None:
        numbers |= {"test_queries": moved.queries, "test_top1_before": moved.before, "test_top1_after": moved.after}
        numbers |= {"test_decided": moved.decided, "test_low": moved.interval.low, "test_high": moved.interval.high}
    return numbers
