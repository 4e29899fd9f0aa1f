"""ltr evaluate: a model and samples in, metrics out."""

from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from ltr.cli.config_of_flags import configured
from ltr.cli.metric_limits import refuse_below, thresholds
from ltr.cli.options import (
    Address,
    AllowDownload,
    CatalogueFlag,
    Code,
    ConfigFile,
    EngineName,
    Graphs,
    HashTopics,
    MaxGrade,
    Metrics,
    NoRelevant,
    Overwrite,
    Preset,
    Probability,
    Quiet,
    RelThreshold,
    Seed,
    Sets,
    Shown,
    Threshold,
    Ties,
    Tools,
    Verbose,
    Workers,
    fetch_encoder,
    given_keys,
    key_option,
    where_on,
)
from ltr.cli.output import Format, chosen_format, note, show, warn
from ltr.cli.progress import run_progress
from ltr.errors import UsageError

if TYPE_CHECKING:
    from ltr.config.run import RunConfig
    from ltr.results.evaluated import Evaluated
    from ltr.serving.router import Router
    from ltr.storage.evaluation_records import ToolRecord

MODEL_FLAGS = ("--baselines", "--explain", "--tools", "--graphs", "--catalogue")
MODEL_DEFAULTS = {"evaluate.baselines": False}  # of this command, in the place of the config's
TREC_DEFAULTS = {**MODEL_DEFAULTS, "evaluate.ties": "trec", "evaluate.no_relevant": "zero"}  # as trec_eval has them


class Asked(NamedTuple):
    """What is to be measured: a model on samples, or a run with its qrels."""

    model: Path | None
    samples: tuple[str, ...]
    run: str | None
    qrels: str | None
    complete: bool
    hash_topics: bool


class Keeping(NamedTuple):
    """What becomes of an evaluation."""

    out: Path | None
    explain: bool
    tool_by_tool: bool
    overwrite: bool
    quiet: bool
    allow_download: bool
    code: tuple[str, ...]


def evaluate_command(
    ctx: typer.Context,
    model: Annotated[Path | None, typer.Argument(metavar="MODEL", help="A run directory or model.json.")] = None,
    samples: Annotated[
        list[str] | None, typer.Argument(metavar="SAMPLES", help="Labelled samples, as for train.")
    ] = None,
    run: Annotated[
        str | None, typer.Option("--run", help="Instead of MODEL: a TREC run, recommended lists, or scored samples.")
    ] = None,
    qrels: Annotated[
        str | None, typer.Option("--qrels", help="The TREC qrels of --run, or the truth of its lists.")
    ] = None,
    complete: Annotated[
        bool,
        typer.Option("--complete", help="Count topics of the qrels that --run lacks as 0; default: leave them out."),
    ] = False,
    hash_topics: HashTopics = False,
    config: ConfigFile = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Keep metrics.json and per_query.jsonl here.")] = None,
    metrics: Metrics = None,
    preset: Preset = None,
    ties: Ties = None,
    no_relevant: NoRelevant = None,
    rel_threshold: RelThreshold = None,
    threshold: Threshold = None,
    max_grade: MaxGrade = None,
    probability: Probability = None,
    group_by: Annotated[
        str | None,
        key_option(
            "evaluate.group_by", "--group-by", metavar="FIELD", help="Also measure each value of this field apart."
        ),
    ] = None,
    catalogue: CatalogueFlag = None,
    tool_by_tool: Annotated[
        bool,
        typer.Option("--by-tool", help="For each tool: how often right, how often found, what stood first instead."),
    ] = False,
    baselines: Annotated[
        bool,
        key_option(
            "evaluate.baselines",
            "--baselines",
            read=where_on(True),
            help="Also show random order, what needs no training, the best column, and w = 1.",
        ),
    ] = False,
    explain: Annotated[bool, typer.Option("--explain", help="What each feature adds, query by query.")] = False,
    fail_under: Annotated[
        list[str] | None, typer.Option("--fail-under", metavar="METRIC=X", help="Exit with 4 when below.")
    ] = None,
    tools: Tools = None,
    graphs: Graphs = None,
    seed: Seed = None,
    sets: Sets = None,
    allow_download: AllowDownload = False,
    engine: EngineName = None,
    workers: Workers = None,
    address: Address = None,
    code: Code = None,
    overwrite: Overwrite = False,
    shown: Shown = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Measure how MODEL ranks the labelled SAMPLES."""
    from ltr.data.importers.ranking_readers import is_trec
    from ltr.results.tools import by_tool
    from ltr.storage.run_directory import EVALUATION_KIND, refuse_taken
    from ltr.storage.sharded_columns import columns_directory

    subject = Asked(model, tuple(samples or ()), run, qrels, complete, hash_topics)
    flags = zip(MODEL_FLAGS, (baselines, explain, tools, graphs, catalogue), strict=True)
    refuse_mixture(subject, [flag for flag, value in flags if value])
    limits = thresholds(fail_under or [])
    wanted = configured(config, sets, given_keys(ctx), TREC_DEFAULTS if run and is_trec(run) else MODEL_DEFAULTS)
    if out is not None:
        refuse_taken(out, overwrite=overwrite, kind=EVALUATION_KIND)
    keeping = Keeping(out, explain, tool_by_tool, overwrite, quiet, allow_download, tuple(code or ()))
    directory = columns_directory(subject.samples)
    measured, router = measured_by(subject, directory, wanted, limits, keeping)
    if out is None and not quiet:
        tell_unkept(measured, explain=explain and chosen_format(shown) is not Format.HUMAN)
    try:
        show_evaluation(measured, router, shown, explain=explain, tools=by_tool(measured) if tool_by_tool else None)
    finally:  # a reader of stdout that leaves early does not lift the limit
        refuse_below(measured.evaluation.means, limits)


def measured_by(
    asked: Asked, directory: str | None, config: "RunConfig", limits: Collection[str], keeping: Keeping
) -> "tuple[Evaluated, Router | None]":
    """The samples as the model ranks them, and its router, or the run as it is; also by other metrics, and kept."""
    from ltr.engines.open_engine import open_engine, warn_without_shards
    from ltr.measuring import Wanted, evaluate_router, measure_and_keep
    from ltr.results.evaluated import Evaluated
    from ltr.results.measuring import evaluate_run
    from ltr.storage.sharded_columns import open_columns

    router = None if asked.model is None else router_of(asked.model, config, allow_download=keeping.allow_download)

    def measure(keep_in: Path | None) -> Evaluated:
        if router is None:
            rules: dict[str, Any] = {"complete": asked.complete, "hash_topics": asked.hash_topics, "also": limits}
            return evaluate_run(asked.run or "", asked.qrels, config, **rules, keep_in=keep_in)
        by_tool = keeping.tool_by_tool or keep_in is not None
        wanted = Wanted(tuple(limits), by_tool=by_tool, explain=keeping.explain, keep_in=keep_in)
        if directory is None:
            return evaluate_router(router, router.read(asked.samples, config.data), config, wanted)
        shards = open_columns(directory)
        with open_engine(config.engine, keeping.code) as engine, run_progress(quiet=keeping.quiet) as on_progress:
            return evaluate_router(router, shards, config, wanted, on_progress=on_progress, engine=engine)

    if directory is None:
        warn_without_shards(config.engine)
    measured = measure_and_keep(measure, keeping.out, overwrite=keeping.overwrite)
    warn(*measured.warnings)
    return measured, router


def tell_unkept(measured: "Evaluated", *, explain: bool) -> None:
    """Say what was asked for and stays unseen without -o."""
    if explain:
        note("note: --explain is shown on a terminal (--format human), and kept with -o")
    if measured.evaluation.curves:
        note(f"note: {', '.join(measured.evaluation.curves)}: curves are kept with -o, in curves.json")


def refuse_mixture(asked: Asked, of_model: list[str]) -> None:
    """Raise unless there is a model with samples, or a run, and not both.

    `of_model` are flags that a run has nothing for: it has scores, and neither features nor texts.
    """
    if asked.run is None and asked.qrels is not None:
        raise UsageError("--run and --qrels belong together: name both")
    if asked.run is not None and asked.model is not None:
        raise UsageError("--run is a ranking already: leave out the model and the samples")
    if asked.run is None and not (asked.model and asked.samples):
        raise UsageError("name a model and samples, or --run and --qrels")
    if asked.complete and asked.run is None:
        raise UsageError("--complete belongs to --run and --qrels")
    if asked.hash_topics and asked.run is None:
        raise UsageError("--hash-topics belongs to --run and --qrels")
    if asked.run is not None and of_model:
        raise UsageError(f"{of_model[0]} belongs to a model; a ranking of others has scores alone")


def router_of(model: Path | str, config: "RunConfig", *, allow_download: bool) -> "Router":
    """The router of the model, its encoder fetched where that is allowed."""
    from ltr.serving.router import load

    router = load(model, tools=config.data.tools)
    if allow_download and router.features:
        fetch_encoder(router.features.encoder.name)
    return router


def show_evaluation(
    measured: "Evaluated",
    router: "Router | None",
    shown: Format | None,
    *,
    explain: bool,
    tools: "list[ToolRecord] | None" = None,
) -> None:
    """The metrics, and tools if there are any; on a terminal the queries that were explained as well."""
    from ltr.cli.evaluation_lines import abstaining_lines, measured_lines, tool_lines
    from ltr.cli.explanation_lines import rescued_lines, wrong_lines
    from ltr.cli.run_lines import gain_lines
    from ltr.results.record import flat
    from ltr.results.tools import flat_tools

    record = measured.record
    fields = flat(record) | flat_tools(tools or ())

    def lines() -> Iterator[str]:
        yield from measured_lines(measured, "the model" if router else "the run")
        yield from abstaining_lines(record, router.abstain if router else None)
        yield from gain_lines(record, is_long=True)
        yield from tool_lines(tools) if tools else []
        if explain and router:
            yield from (*rescued_lines(measured, router), *wrong_lines(measured, router))

    show(shown, fields, fields.items(), lines)
