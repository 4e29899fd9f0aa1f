"""ltr evaluate, compare, bench and report: models, runs and rerankers in; metrics, differences and pages out."""

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ltr import __version__
from ltr.cli.options import Call, HashTopics, argument, comma_separated, flag, takes
from ltr.cli.output import Format, chosen_format, note, warn
from ltr.errors import RunError, ThresholdError, UsageError
from ltr.report import visible

if TYPE_CHECKING:
    from ltr.rerankers import Event
    from ltr.results import Evaluated

MODEL_DEFAULTS = {"evaluate.baselines": False}  # of this command, in the place of the config's
TREC_DEFAULTS = {**MODEL_DEFAULTS, "evaluate.ties": "trec", "evaluate.no_relevant": "zero"}  # as trec_eval has them
PAGES = (".html", ".htm", ".md", ".markdown")
ROUNDING = 1e-12  # of a mean


@takes(
    "config sets allow_download code overwrite shown quiet verbose",
    "seed data.tools data.graphs evaluate.metrics evaluate.preset evaluate.ties evaluate.no_relevant "
    "evaluate.rel_threshold evaluate.threshold evaluate.max_grade evaluate.probability evaluate.group_by "
    "evaluate.catalogue evaluate.baselines engine.name engine.workers engine.address",
)
def evaluate(
    call: Call,
    model: Annotated[Path | None, argument("MODEL", "A run directory or model.json.")] = None,
    samples: Annotated[list[str] | None, argument("SAMPLES", "Labelled samples, as for train.")] = None,
    run: Annotated[
        str | None, flag("--run", "Instead of MODEL: a TREC run, recommended lists, or scored samples.")
    ] = None,
    qrels: Annotated[str | None, flag("--qrels", "The TREC qrels of --run, or the truth of its lists.")] = None,
    complete: Annotated[
        bool, flag("--complete", "Count topics of the qrels that --run lacks as 0; default: leave them out.")
    ] = False,
    hash_topics: HashTopics = False,
    out: Annotated[Path | None, flag("--out", "-o", "Keep metrics.json and per_query.jsonl here.")] = None,
    tool_by_tool: Annotated[
        bool, flag("--by-tool", "For each tool: how often right, how often found, what stood first instead.")
    ] = False,
    explain: Annotated[bool, flag("--explain", "What each feature adds, query by query.")] = False,
    fail_under: Annotated[list[str] | None, flag("--fail-under", "Exit with 4 when below.", metavar="METRIC=X")] = None,
) -> None:
    """Measure how MODEL ranks the labelled SAMPLES."""
    from ltr.engine import open_engine, warn_without_shards
    from ltr.featurized import columns_directory, open_columns
    from ltr.importers import is_trec
    from ltr.report import shown_evaluation
    from ltr.results import Wanted, evaluate_router, evaluate_run, measure_and_keep
    from ltr.runs import EVALUATION_KIND
    from ltr.serving import load

    given, of_run = call.keys.get, {"--complete": complete, "--hash-topics": hash_topics}
    of_model = {
        "--baselines": given("evaluate.baselines"),
        "--explain": explain,
        "--tools": given("data.tools"),
        "--graphs": given("data.graphs"),
        "--catalogue": given("evaluate.catalogue"),
    }
    refuse_mixture(run, qrels, model, samples, of_run if run is None else of_model)
    limits = thresholds(fail_under or [])
    config = call.configured(own=TREC_DEFAULTS if run and is_trec(run) else MODEL_DEFAULTS)
    if out is not None:
        EVALUATION_KIND.refuse_taken(out, overwrite=call.overwrite)
    router, directory = None, columns_directory(tuple(samples or ()))
    if model is not None:
        router = load(model, tools=config.data.tools)
        if call.allow_download and router.features:
            call.fetch(router.features.encoder.name)

    def measured(keep_in: Path | None) -> "Evaluated":
        if router is None:
            rules: dict[str, Any] = {"complete": complete, "hash_topics": hash_topics, "also": limits}
            return evaluate_run(run or "", qrels, config, **rules, keep_in=keep_in)
        by_tool = tool_by_tool or keep_in is not None
        wanted = Wanted(tuple(limits), by_tool=by_tool, explain=explain, keep_in=keep_in)
        if directory is None:
            return evaluate_router(router, router.read(tuple(samples or ()), config.data), config, wanted)
        shards = open_columns(directory)
        with open_engine(config.engine, call.code or ()) as engine, call.progress() as on_progress:
            return evaluate_router(router, shards, config, wanted, on_progress=on_progress, engine=engine)

    if directory is None:
        warn_without_shards(config.engine)
    evaluated = measure_and_keep(measured, out, overwrite=call.overwrite)
    warn(*evaluated.warnings)
    if out is None:
        if explain and chosen_format(call.shown) is not Format.HUMAN:
            call.note("note: --explain is shown on a terminal (--format human), and kept with -o")
        if evaluated.evaluation.curves:
            call.note(f"note: {', '.join(evaluated.evaluation.curves)}: curves are kept with -o, in curves.json")
    try:
        of_tools = evaluated.by_tool() if tool_by_tool else ()
        call.show(shown_evaluation(evaluated, router, of_tools, explain=explain))
    finally:  # a reader of stdout that leaves early does not lift the limit
        refuse_below(evaluated.evaluation.means, limits)


def refuse_mixture(
    run: str | None, qrels: str | None, model: Path | None, samples: Sequence[str] | None, foreign: Mapping[str, Any]
) -> None:
    """Raise unless there is a model with samples, or a run, and not both, nor the `foreign` flags of the other.

    A run has scores, and neither features nor texts.
    """
    if run is None and qrels is not None:
        raise UsageError("--run and --qrels belong together: name both")
    if run is not None and model is not None:
        raise UsageError("--run is a ranking already: leave out the model and the samples")
    if run is None and not (model and samples):
        raise UsageError("name a model and samples, or --run and --qrels")
    for name in (name for name, value in foreign.items() if value):
        of_model = "a model; a ranking of others has scores alone"
        raise UsageError(f"{name} belongs to {'--run and --qrels' if run is None else of_model}")


@takes("code shown", "seed")
def compare(
    call: Call,
    runs: Annotated[list[Path], argument("RUN", "Runs, or directories of evaluate -o.")],
    baseline: Annotated[
        Path | None, flag("--baseline", "The run that the others are compared with; default: the first.")
    ] = None,
    metrics: Annotated[str | None, flag("--metrics", "Metrics, with commas; default: all that the runs share.")] = None,
    fail_under: Annotated[
        list[str] | None, flag("--fail-under", "Exit with 4 when a difference is below.", metavar="METRIC=X")
    ] = None,
) -> None:
    """Compare RUNS query by query: differences, tests, what changed."""
    from ltr.comparison import compare
    from ltr.report import shown_result

    limits = thresholds(fail_under or [])
    wanted = None if metrics is None else [*comma_separated(metrics), *limits]
    comparison = compare(runs, baseline=baseline, metrics=wanted, seed=call.keys.get("seed", 0))
    compared = {difference.metric for difference in comparison.runs[0].differences}
    if missing := ", ".join(sorted(limits.keys() - compared)):
        raise UsageError(
            f"--fail-under: {missing} does not stand in every run; compared: {', '.join(sorted(compared))}"
        )
    try:
        call.show(shown_result(comparison))
    finally:
        refuse(
            f"{run.run}: {row.metric} differs by {row.difference:+.6g}, below {limits[row.metric]:g}"
            for run in comparison.runs
            for row in run.differences
            if row.metric in limits and is_below(row.difference, limits[row.metric])
        )


def thresholds(texts: Iterable[str]) -> dict[str, float]:
    """Return the least value of each metric that --fail-under names.

    >>> thresholds(["mrr=0.7"])
    {'mrr': 0.7}
    """
    from ltr.evaluation import named

    limits = dict[str, float]()
    for text in texts:
        name, _, value = text.partition("=")
        try:
            limit = float(value)
        except ValueError:
            limit = math.nan
        if not math.isfinite(limit):
            raise UsageError(f"--fail-under {text}: write METRIC=X, such as mrr=0.7")
        measure = named(name.strip())
        if not measure.is_number:
            raise UsageError(f"--fail-under {name.strip()}: {measure.name} is not a single number")
        if measure.less_is_better:
            why = f"of {measure.name} less is better; name a metric of which more is"
            raise UsageError(f"--fail-under {name.strip()}: {why}")
        if measure.name in limits:
            raise UsageError("--fail-under: a metric stands twice; name each once")
        limits[measure.name] = limit
    return limits


def is_below(value: float | None, limit: float) -> bool:
    """Return whether the value misses the limit, and not by rounding alone: a third of .3 is not below .1."""
    return value is None or value < limit - ROUNDING


def refuse_below(means: Mapping[str, float | None], limits: Mapping[str, float]) -> None:
    """Raise when a metric misses its limit."""
    refuse(
        f"{name} is {'undefined' if (value := means[name]) is None else f'{value:.6g}'}, below {limit:g}"
        for name, limit in limits.items()
        if is_below(means[name], limit)
    )


def refuse(missed: Iterable[str]) -> None:
    """Raise for the limits that were missed, if there are any."""
    if text := "; ".join(missed):
        raise ThresholdError(text)


@takes("sets allow_download code overwrite resume dry_run shown quiet verbose", "seed")
def bench(
    call: Call,
    config: Annotated[str, argument("CONFIG", "A config of a bench; - is stdin.")],
    out: Annotated[Path | None, flag("--out", "-o", "Where to keep it; default: runs/NAME.")] = None,
    catalogue: Annotated[
        bool, flag("--catalogue", "The documents of each query are all tools of the catalogue.")
    ] = False,
    allow_command: Annotated[
        bool, flag("--allow-command", "Let the reranker `command` run the program that the config names.")
    ] = False,
) -> None:
    """Measure the rerankers of CONFIG side by side."""
    from ltr.paths import path_inside
    from ltr.records.bench import Failed
    from ltr.report import shown_result
    from ltr.rerankers import Allowed, Event, forecast_bench, load_bench, run_bench

    flags = [*(f"{key}={value}" for key, value in call.keys.items()), *(["catalogue=true"] if catalogue else [])]
    wanted = load_bench(config, [*(call.sets or ()), *flags])
    home = path_inside("runs", wanted.name) if out is None else out
    allowed = Allowed(command=allow_command, download=call.allow_download, code=tuple(call.code or ()))
    kept, again = f"{visible(home.as_posix())}/", {"overwrite": call.overwrite, "resume": call.resume}
    if call.dry_run:
        missing = forecast_bench(wanted, home, allowed=allowed, **again)
        for reranker in missing:
            what = "would fail" if isinstance(reranker, Failed) else "would be left out"
            show_event(Event(reranker.name, what, reranker.why), call)
        usable, entries = len(wanted.entries) - len(missing), len(wanted.entries)
        note(f"{visible(config)}: good; {usable} of {entries} rerankers, kept in {kept}")
        return
    record = run_bench(wanted, home, allowed=allowed, **again, on_event=lambda event: show_event(event, call)).record
    warn(*record.warnings)
    call.show(shown_result(record))
    call.note(f"kept {kept}")
    if record.failed:
        names = ", ".join(reranker.name for reranker in record.failed)
        raise RunError(f"{len(record.failed)} of {len(wanted.entries)} rerankers failed: {names}")


def show_event(event: "Event", call: Call) -> None:
    """Write a line for a step; commands that run and rerankers that are missing are shown even with --quiet."""
    if event.what in ("measured", "reused"):
        call.note(f"{event.what} {visible(event.name)}")
    elif event.what == "runs":
        note(f"{visible(event.name)}: runs {visible(event.detail)}")
    else:
        warn(f"{event.name}: {event.what}: {event.detail}")


@takes("code overwrite quiet", "seed")
def report(
    call: Call,
    runs: Annotated[list[Path], argument("RUN", "A run, several, a batch or a bench.")],
    out: Annotated[Path, flag("--out", "-o", "PAGE.html, or CARD.md: the card of one run's model.")],
) -> None:
    """Write one page about RUNS: one file, no script, no network."""
    from ltr.files import refuse_existing
    from ltr.report import write_report

    if out.suffix.lower() not in PAGES:
        raise UsageError(f"{out}: name a page that ends in .html, or a card that ends in .md")
    refuse_existing(out, overwrite=call.overwrite)
    made = f"ltr {__version__}, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC"
    write_report(runs, out, seed=call.keys.get("seed", 0), made=made)
    call.note(f"wrote {visible(out.as_posix())}")
