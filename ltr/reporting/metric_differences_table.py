"""The metrics of two runs beside each other, with their differences."""

from collections.abc import Sequence

from ltr.reporting.cell_formats import COUNT, DIFFERENCE, EFFECT, INTERVAL, PROBABILITY, SHARE, WRITTEN, Bounds
from ltr.reporting.metric_titles import title_of
from ltr.reporting.table import Column, Medium, Table, TableRow
from ltr.results.comparison import Comparison, RunComparison

IN_FILES, SHOWN = frozenset({Medium.TSV}), frozenset({Medium.TERMINAL, Medium.PAGE})


def differences_table(comparison: Comparison, runs: Sequence[RunComparison]) -> Table:
    """A row for each metric of the runs: its difference from the baseline, and the tests of it."""
    columns = (
        Column("run", "run", media=IN_FILES),
        Column("metric", "metric", media=IN_FILES),
        Column("title", "metric", media=SHOWN),
        Column("value", "run", SHARE),
        Column("baseline_value", "baseline", SHARE),
        Column("difference", "difference", DIFFERENCE),
        Column("", "95 % interval", INTERVAL),
        Column("permutation_p", "permutation p", PROBABILITY),
        Column("holm_p", f"Holm p, {comparison.family} tests", PROBABILITY),
        Column("t_p", "paired t p", PROBABILITY),
        Column("effect_size", "effect size d", EFFECT),
        Column("score", "better/same/worse", WRITTEN, SHOWN),
        *(Column(name, name, COUNT, IN_FILES) for name in ("wins", "ties", "losses")),
    )
    rows: tuple[TableRow, ...] = tuple(
        (
            run.run,
            metric.metric,
            title_of(metric.metric),
            metric.value,
            metric.baseline_value,
            metric.difference,
            Bounds(metric.low, metric.high),
            metric.permutation_p,
            metric.holm_p,
            metric.t_p,
            metric.effect_size,
            f"{metric.wins}/{metric.ties}/{metric.losses}",
            metric.wins,
            metric.ties,
            metric.losses,
        )
        for run in runs
        for metric in run.differences
    )
    names = ", ".join(run.run for run in runs)
    return Table(columns, rows, f"{names} against {comparison.baseline}", corner="")
