"""ltr evaluate: a model and samples in, metrics out."""

import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.options import (
    Graphs,
    MaxGrade,
    Metrics,
    NoRelevant,
    Overwrite,
    Preset,
    RelThreshold,
    Samples,
    Shown,
    Threshold,
    Ties,
    Tools,
    configured,
    metric_names,
)
from ltr.cli.terminal import Format, chosen_format, note, say, show_json, show_tsv
from ltr.errors import ThresholdError, UsageError

if TYPE_CHECKING:
    from ltr.artifacts import Router
    from ltr.config import RunConfig
    from ltr.pipeline import Measured


def evaluate(
    model: Annotated[Path, typer.Argument(help="A run directory or model.json.")],
    samples: Samples,
    out: Annotated[Path | None, typer.Option("--out", "-o", help="Keep metrics.json and per_query.jsonl here.")] = None,
    metrics: Metrics = None,
    preset: Preset = None,
    ties: Ties = None,
    no_relevant: NoRelevant = None,
    rel_threshold: RelThreshold = None,
    threshold: Threshold = None,
    max_grade: MaxGrade = None,
    baselines: Annotated[bool, typer.Option("--baselines", help="What the model must beat stands beside it.")] = False,
    explain: Annotated[bool, typer.Option("--explain", help="What each feature adds, query by query.")] = False,
    fail_under: Annotated[
        list[str] | None, typer.Option("--fail-under", metavar="METRIC=X", help="Exit with 4 when below.")
    ] = None,
    tools: Tools = None,
    graphs: Graphs = None,
    overwrite: Overwrite = False,
    shown: Shown = None,
) -> None:
    """Measure how MODEL ranks the labelled SAMPLES."""
    from ltr.artifacts import EVALUATION, refuse_taken
    from ltr.batch import keep_evaluation

    limits = thresholds(fail_under or [])
    config = configured(
        None,
        None,
        data__tools=tools,
        data__graphs=graphs,
        evaluate__metrics=metric_names(metrics),
        evaluate__preset=preset,
        evaluate__ties=ties,
        evaluate__no_relevant=no_relevant,
        evaluate__rel_threshold=rel_threshold,
        evaluate__threshold=threshold,
        evaluate__max_grade=max_grade,
        evaluate__baselines=baselines,
    )
    if out is not None:
        refuse_taken(out, overwrite=overwrite, ours=EVALUATION)
    router, measured = measure(model, samples, config, limits)
    if out is not None:
        keep_evaluation(measured, router, out, explain=explain, overwrite=overwrite)
    else:
        tell_unkept(measured, explain=explain and chosen_format(shown) is not Format.HUMAN)
    try:
        show(measured, router, shown, explain=explain)
    finally:  # a reader of stdout that leaves early does not lift the limit
        refuse_below(measured.evaluation.means, limits)


def measure(model: Path, samples: list[str], config: "RunConfig", also: Iterable[str]) -> "tuple[Router, Measured]":
    """The model, and the samples as it ranks them."""
    from ltr.artifacts import load_router
    from ltr.pipeline import evaluate_router, read

    router = load_router(model)
    groups, _ = read(tuple(samples), config.data)
    return router, evaluate_router(router, groups, config, also=also)


def tell_unkept(measured: "Measured", *, explain: bool) -> None:
    """Say what was asked for and stays unseen without -o."""
    if explain:
        note("note: --explain is shown on a terminal (--format human), and kept with -o")
    if measured.evaluation.curves:
        note(f"note: {', '.join(measured.evaluation.curves)}: curves are kept with -o, in curves.json")


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
    for name in limits:
        refuse_limit(name)
    return limits


def refuse_limit(name: str) -> None:
    """Raise unless the metric is one number, and the greater the better."""
    from ltr.metrics import named

    found = named(name)
    if not found.is_number:
        raise UsageError(f"--fail-under {name}: {found.name} is not a single number")
    if found.less_is_better:
        raise UsageError(f"--fail-under {name}: of {found.name} less is better; name a metric of which more is")


def show(measured: "Measured", router: "Router", shown: Format | None, *, explain: bool) -> None:
    """The metrics; on a terminal the queries that were explained as well."""
    from ltr.cli.explanation import explained_lines
    from ltr.cli.result import measured_lines
    from ltr.records import metrics

    flat: dict[str, Any] = metrics(measured)
    match chosen_format(shown):
        case Format.JSON:
            show_json(flat)
        case Format.TSV:
            show_tsv(flat.items())
        case Format.HUMAN:
            lines = measured_lines(measured, router.training["best_feature"], "the model")
            say(*lines, *(explained_lines(measured, router) if explain else []))


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
