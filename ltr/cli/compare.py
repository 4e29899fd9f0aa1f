"""ltr compare: runs in, differences and how sure they are out."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ltr.cli.metric_limits import is_below, thresholds
from ltr.cli.options import Code, Seed, Shown, comma_separated
from ltr.cli.output import Format, columns_of_terminal, emphasis, show, table_lines, wrapped
from ltr.errors import ThresholdError, UsageError, count
from ltr.reporting.escaping import visible
from ltr.reporting.lines import shortened
from ltr.reporting.number_formats import fixed

if TYPE_CHECKING:
    from ltr.results.comparison import ChangedQuery, Comparison, RunComparison


def compare_command(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN", help="Runs, or directories of evaluate -o.")],
    baseline: Annotated[
        Path | None, typer.Option("--baseline", help="The run that the others are compared with; default: the first.")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", help="Metrics, with commas; default: all that the runs share.")
    ] = None,
    fail_under: Annotated[
        list[str] | None,
        typer.Option("--fail-under", metavar="METRIC=X", help="Exit with 4 when a difference is below."),
    ] = None,
    seed: Seed = None,
    code: Code = None,
    shown: Shown = None,
) -> None:
    """Compare RUNS query by query: differences, tests, what changed."""
    from ltr.results.comparison import compare

    limits = thresholds(fail_under or [])
    wanted = comma_separated(metrics)
    wanted = None if wanted is None else [*wanted, *limits]
    comparison = compare(runs, baseline=baseline, metrics=wanted, seed=seed or 0)
    refuse_untold(comparison, limits)
    try:
        show_comparison(comparison, shown)
    finally:
        refuse_worse(comparison, limits)


def show_comparison(comparison: "Comparison", shown: Format | None) -> None:
    """The comparison in the format."""
    from ltr.reporting.metric_tables import differences_table
    from ltr.reporting.table import tsv_rows

    def lines() -> Iterator[str]:
        for run in comparison.runs:
            yield from compared_lines(comparison, run)
        yield from rule_lines(comparison)

    show(shown, asdict(comparison), tsv_rows(differences_table(comparison, comparison.runs)), lines)


def compared_lines(comparison: "Comparison", compared: "RunComparison") -> list[str]:
    """One run against the baseline."""
    from ltr.reporting.metric_tables import differences_table

    title = shortened(visible(f"{compared.run} against {comparison.baseline}"), columns_of_terminal())
    table = differences_table(comparison, [compared])
    return [emphasis(title), *table_lines(table, turned=True), *changed_lines(comparison, compared), ""]


def changed_lines(comparison: "Comparison", compared: "RunComparison") -> list[str]:
    """The queries that changed most."""
    from ltr.reporting.metric_titles import title_of

    metric = title_of(comparison.changed_by)
    if not compared.changed:
        return [f"no query changed its {metric}"]
    lines = [emphasis(f"queries whose {metric} changed most:")]
    return lines + [line for query in compared.changed for line in query_lines(query)]


def query_lines(changed: "ChangedQuery") -> list[str]:
    """One query: from what to what, what was first, what is right."""
    edge = columns_of_terminal()
    values = f"{fixed(changed.baseline_value)} -> {fixed(changed.value)}"
    names = (changed.baseline_predicted_candidate, changed.predicted_candidate, changed.true_candidate)
    before, now, right = (visible(name or "-") for name in names)
    first = f"{before} -> {now}" if before != now else now
    return [
        shortened(f"  {values}  {visible(changed.query)}", edge),
        shortened(f"    first: {first}; right: {right}", edge),
    ]


def rule_lines(comparison: "Comparison") -> list[str]:
    """What the numbers rest on."""
    from ltr.reporting.conclusions import FEWEST

    plural = "queries" if comparison.unit == "query" else "traces"
    units = count(comparison.num_units, comparison.unit, plural)
    queries = count(comparison.num_queries, "query", "queries")
    text = (
        f"{queries}; intervals: {comparison.resamples:,} bootstrap samples of {units}; p: "
        f"{comparison.permutations:,} random sign flips, or every flip where 12 or fewer of these differ"
    )
    if comparison.num_units < FEWEST:
        text += f"; fewer than {FEWEST} {plural} are too few to be sure"
    return wrapped(text)


def refuse_untold(comparison: "Comparison", limits: dict[str, float]) -> None:
    """Raise for a limit of what was not compared."""
    compared = {difference.metric for difference in comparison.runs[0].differences}
    if not limits.keys() <= compared:
        missing = ", ".join(sorted(limits.keys() - compared))
        raise UsageError(
            f"--fail-under: {missing} does not stand in every run; compared: {', '.join(sorted(compared))}"
        )


def refuse_worse(comparison: "Comparison", limits: dict[str, float]) -> None:
    """Raise when a difference is below its limit."""
    missed = [
        f"{run.run}: {row.metric} differs by {row.difference:+.6g}, below {limits[row.metric]:g}"
        for run in comparison.runs
        for row in run.differences
        if row.metric in limits and is_below(row.difference, limits[row.metric])
    ]
    if missed:
        raise ThresholdError("; ".join(missed))
