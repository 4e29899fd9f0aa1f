"""ltr compare: runs in, differences and how sure they are out."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.evaluate import is_below, thresholds
from ltr.cli.options import Code, Seed, Shown, comma_separated
from ltr.cli.terminal import (
    Format,
    chosen_format,
    columns_of_terminal,
    count,
    emphasis,
    number,
    say,
    shortened,
    show_json,
    show_tsv,
    table,
    visible,
    width_of,
    wrapped,
)
from ltr.errors import ThresholdError, UsageError

if TYPE_CHECKING:
    from ltr.results.comparison import ChangedQuery, Comparison, Difference, RunComparison


def compare(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Runs, or directories of evaluate -o.")],
    baseline: Annotated[Path | None, typer.Option("--baseline", help="What they are held against: the first.")] = None,
    metrics: Annotated[str | None, typer.Option("--metrics", help="Which, with commas: all they share.")] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option("--fail-under", metavar="METRIC=X", help="Exit with 4 when a difference is below."),
    ] = None,
    seed: Seed = None,
    code: Code = None,
    shown: Shown = None,
) -> None:
    """Compare RUNS query by query: differences, tests, what changed."""
    from ltr.results.comparison import compare_runs

    limits = thresholds(fail_under or [])
    asked = comma_separated(metrics)
    asked = None if asked is None else [*asked, *limits]
    comparison = compare_runs(runs, baseline=baseline, metrics=asked, seed=seed or 0)
    refuse_untold(comparison, limits)
    try:
        show(comparison, shown)
    finally:
        refuse_below(comparison, limits)


def show(comparison: "Comparison", shown: Format | None) -> None:
    """The comparison in the format."""
    match chosen_format(shown):
        case Format.JSON:
            show_json(asdict(comparison))
        case Format.TSV:
            show_tsv(tsv_rows(comparison))
        case Format.HUMAN:
            say(
                *(line for each in comparison.runs for line in compared_lines(comparison, each)),
                *rule_lines(comparison),
            )


def tsv_rows(comparison: "Comparison") -> list[list[Any]]:
    """One row a run and metric."""
    rows = [[each.run, *asdict(found).values()] for each in comparison.runs for found in each.differences]
    return [["run", *asdict(comparison.runs[0].differences[0])], *rows]


def compared_lines(comparison: "Comparison", compared: "RunComparison") -> list[str]:
    """One run against the baseline."""
    edge = columns_of_terminal()
    title = emphasis(shortened(visible(f"{compared.run} against {comparison.baseline}"), edge))
    columns = [difference_column(found) for found in compared.differences]
    labels = difference_labels(comparison)
    fitting = max((edge - max(map(width_of, labels))) // (max(width_of(c) for col in columns for c in col) + 2), 1)
    lines = [title]
    for first in range(0, len(columns), fitting):
        rows = list(zip(labels, *columns[first : first + fitting], strict=True))
        lines += table(rows[0], rows[1:], indent="")
    return [*lines, *changed_lines(comparison, compared), ""]


def difference_labels(comparison: "Comparison") -> list[str]:
    """What stands in the rows."""
    return [
        "",
        "run",
        "baseline",
        "difference",
        "95 % interval",
        "permutation p",
        f"Holm p, {comparison.family} tests",
        "paired t p",
        "effect size d",
        "better/same/worse",
    ]


def difference_column(found: "Difference") -> list[str]:
    """One metric, from top to bottom."""
    from ltr.cli.result import SHORT, between

    return [
        SHORT.get(found.metric, found.metric),
        number(found.value),
        number(found.baseline_value),
        f"{found.difference:+.3f}",
        between(found.low, found.high),
        number(found.permutation_p, 4),
        number(found.holm_p, 4),
        number(found.t_p, 4),
        "-" if found.effect_size is None else f"{found.effect_size:+.2f}",
        f"{found.wins}/{found.ties}/{found.losses}",
    ]


def changed_lines(comparison: "Comparison", compared: "RunComparison") -> list[str]:
    """The queries that changed most."""
    from ltr.cli.result import SHORT

    metric = SHORT.get(comparison.changed_by, comparison.changed_by)
    if not compared.changed:
        return [f"no query changed its {metric}"]
    lines = [emphasis(f"queries whose {metric} changed most:")]
    return lines + [line for each in compared.changed for line in query_lines(each)]


def query_lines(changed: "ChangedQuery") -> list[str]:
    """One query: from what to what, what was first, what is right."""
    edge = columns_of_terminal()
    values = f"{number(changed.baseline_value)} -> {number(changed.value)}"
    names = (changed.baseline_predicted_candidate, changed.predicted_candidate, changed.true_candidate)
    before, now, right = (visible(name or "-") for name in names)
    said = f"{before} -> {now}" if before != now else now
    return [
        shortened(f"  {values}  {visible(changed.query)}", edge),
        shortened(f"    first: {said}; right: {right}", edge),
    ]


def rule_lines(comparison: "Comparison") -> list[str]:
    """What the numbers rest on."""
    units = count(comparison.num_units, comparison.unit, "queries" if comparison.unit == "query" else "traces")
    queries = count(comparison.num_queries, "query", "queries")
    text = (
        f"{queries}; {units} resampled {comparison.resamples:,} times and flipped "
        f"{comparison.permutations:,} times, or in every way where at most 12 differ"
    )
    return wrapped(text)


def refuse_untold(comparison: "Comparison", limits: dict[str, float]) -> None:
    """Raise for a limit of what was not compared."""
    told = {found.metric for found in comparison.runs[0].differences}
    if not limits.keys() <= told:
        missing = ", ".join(sorted(limits.keys() - told))
        raise UsageError(f"--fail-under: {missing} does not stand in every run; compared: {', '.join(sorted(told))}")


def refuse_below(comparison: "Comparison", limits: dict[str, float]) -> None:
    """Raise when a difference is below its limit."""
    missed = [
        f"{each.run}: {found.metric} differs by {found.difference:+.6g}, below {limits[found.metric]:g}"
        for each in comparison.runs
        for found in each.differences
        if found.metric in limits and is_below(found.difference, limits[found.metric])
    ]
    if missed:
        raise ThresholdError("; ".join(missed))
