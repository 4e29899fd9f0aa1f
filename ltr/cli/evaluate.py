"""ltr evaluate: a model and samples in, metrics out."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.options import (
    AllowDownload,
    Code,
    Graphs,
    Metrics,
    NoRelevant,
    Overwrite,
    Quiet,
    RelThreshold,
    Shown,
    Ties,
    Tools,
    configured,
    fetch_own_encoder,
    metric_names,
    run_code,
)
from ltr.cli.terminal import Format, chosen_format, note, say, show_json, show_tsv, warn
from ltr.errors import ThresholdError, UsageError

if TYPE_CHECKING:
    from ltr.artifacts import Router
    from ltr.config import RunConfig
    from ltr.features import FittedFeatures
    from ltr.measured import Measured


def evaluate(
    model: Annotated[Path | None, typer.Argument(help="A run directory or model.json.")] = None,
    samples: Annotated[list[str] | None, typer.Argument(help="Labelled samples, as for train.")] = None,
    run: Annotated[str | None, typer.Option("--run", help="Instead: a TREC run, in any order of lines.")] = None,
    qrels: Annotated[str | None, typer.Option("--qrels", help="The TREC qrels that --run is measured against.")] = None,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Keep metrics.json and per_query.jsonl here.")] = None,
    metrics: Metrics = None,
    ties: Ties = None,
    no_relevant: NoRelevant = None,
    rel_threshold: RelThreshold = None,
    group_by: Annotated[str | None, typer.Option("--group-by", metavar="FIELD", help="For each value as well.")] = None,
    baselines: Annotated[bool, typer.Option("--baselines", help="What the model must beat stands beside it.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="What each feature adds, query by query.")] = False,
    fail_under: Annotated[
        list[str] | None, typer.Option("--fail-under", metavar="METRIC=X", help="Exit with 4 when below.")
    ] = None,
    tools: Tools = None,
    graphs: Graphs = None,
    allow_download: AllowDownload = False,
    code: Code = None,
    overwrite: Overwrite = False,
    shown: Shown = None,
    quiet: Quiet = False,
) -> None:
    """Measure how MODEL ranks the labelled SAMPLES."""
    from ltr.artifacts import EVALUATION, load_router, refuse_taken
    from ltr.batch import keep_evaluation

    run_code(code)
    refuse_mixture(model, samples or [], run, qrels)
    limits = thresholds(fail_under or [])
    flags: dict[str, Any] = {
        "metrics": [*(metric_names(metrics) or []), *limits],
        "ties": ties or ("trec" if run else None),
        "no_relevant": no_relevant,
    }
    flags |= {"rel_threshold": rel_threshold, "baselines": baselines, "group_by": group_by}
    asked = {f"evaluate__{name}": value for name, value in flags.items()}
    config = configured(None, None, data__tools=tools, data__graphs=graphs, **asked)
    if out is not None:
        refuse_taken(out, overwrite=overwrite, ours=EVALUATION)
    router = load_router(model) if model else None
    if router is not None:
        fetch_own_encoder(router, allowed=allow_download)
    measured = measure(config, router, samples or [], run, qrels)
    if out is not None:
        keep_evaluation(measured, router, out, explain=explain, overwrite=overwrite)
    elif explain and not quiet and chosen_format(shown) is not Format.HUMAN:
        note("note: --explain is shown on a terminal (--format human), and kept with -o")
    try:
        show(measured, router, shown, explain=explain)
    finally:  # a reader of stdout that leaves early does not lift the limit
        refuse_below(measured.evaluation.means, limits)


def warn_of_other_fit(router: "Router", fitted: "FittedFeatures | None") -> None:
    """Say that the samples bear features of the same names that learned from other data than the model's."""
    from ltr.artifacts import are_same

    if fitted and router.features and fitted.names == router.names and not are_same(fitted, router.features):
        warn("the features of the samples were fitted on other data than those of the model; featurize with -m MODEL")


def thresholds(texts: list[str]) -> dict[str, float]:
    """The least value of each metric.

    >>> thresholds(["mrr=0.7"])
    {'mrr': 0.7}
    """
    limits = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            limits[name.strip()] = float(value)
        except ValueError:
            equals = ""
        if not equals or not math.isfinite(limits[name.strip()]):
            raise UsageError(f"--fail-under {text}: write METRIC=X, such as mrr=0.7")
    return limits


def refuse_mixture(model: Path | None, samples: list[str], run: str | None, qrels: str | None) -> None:
    """Raise unless there is a model with samples, or a run with qrels, and not both."""
    if (run is None) != (qrels is None):
        raise UsageError("--run and --qrels belong together: name both")
    if run is not None and model is not None:
        raise UsageError("--run is a ranking already: leave out the model and the samples")
    if run is None and (model is None or not samples):
        raise UsageError("name a model and samples, or --run and --qrels")


def measure(
    config: "RunConfig", router: "Router | None", samples: list[str], run: str | None, qrels: str | None
) -> "Measured":
    """The samples as the model ranks them, or the run as it is."""
    from ltr.measured import evaluate_run
    from ltr.pipeline import evaluate_router, read

    if router is None:
        return evaluate_run(run or "", qrels or "", config)
    groups, fitted = read(tuple(samples), config.data)
    warn_of_other_fit(router, fitted)
    return evaluate_router(router, groups, config)


def show(measured: "Measured", router: "Router | None", shown: Format | None, *, explain: bool) -> None:
    """The metrics; on a terminal the queries that were explained as well."""
    from ltr.cli.explanation import rescued_lines, wrong_lines
    from ltr.cli.result import measured_lines
    from ltr.records import metrics

    flat: dict[str, Any] = metrics(measured)
    match chosen_format(shown):
        case Format.JSON:
            show_json(flat)
        case Format.TSV:
            show_tsv(flat.items())
        case Format.HUMAN:
            best = router.training["best_feature"] if router else {}
            lines = measured_lines(measured, best, "the model" if router else "the run")
            if explain and router:
                lines += [*rescued_lines(measured, router), *wrong_lines(measured, router)]
            say(*lines)


def refuse_below(means: dict[str, float | None], limits: dict[str, float]) -> None:
    """Raise when a metric misses its limit."""
    from ltr.metrics import named

    reached = [(name, means[named(name).name], limit) for name, limit in limits.items()]
    missed = [
        f"{name} is {'undefined' if value is None else f'{value:.6g}'}, below {limit:g}"
        for name, value, limit in reached
        if value is None or value < limit
    ]
    if missed:
        raise ThresholdError("; ".join(missed))
