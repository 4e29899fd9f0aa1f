"""A leaderboard as lines to read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ltr.cli.result import BASELINES, SHORT, between, short
from ltr.cli.terminal import number, shortened, table, visible, wrapped

if TYPE_CHECKING:
    from ltr.results.leaderboard.rows import Leaderboard, Row

LONGEST_NAME = 40


def standings(board: "Leaderboard") -> list[str]:
    """Each run with the interval of the metric and its lead over the best feature, and the verdict.

    Baselines stand once, below the first of the runs that share them.
    """
    from ltr.results.leaderboard.text import verdict

    names = [*SHORT, *([board.metric] if board.metric not in SHORT else [])]
    rows, seen = [], []
    for row in board.rows:
        rows.append(_run_cells(row, names))
        beside = [[f" {label}", "", *cells, "", ""] for label, cells in _baselines(row, names)]
        if beside and beside not in seen:
            seen.append(beside)
            rows += beside
    metric = SHORT.get(board.metric, board.metric)
    heads = ["run", "queries", *(SHORT.get(name, name) for name in names), f"95 % {metric}", "over best feature"]
    failed = [f"{row.run} failed: {visible(row.error)}" for row in board.rows if row.error is not None]
    verdicts = wrapped(verdict(board, visible)) if len(board.rows) > 1 else []
    return [*table(heads, rows, flexible=0, indent=""), *verdicts, *(line for text in failed for line in wrapped(text))]


def _run_cells(row: "Row", names: Sequence[str]) -> list[str]:
    name = shortened(row.run, LONGEST_NAME)
    if row.error is not None:
        return [name, "failed", *("-" for _ in names), "-", "-"]
    values = [number(row.metrics.get(metric)) for metric in names]
    interval = "-" if row.low is None or row.high is None else f"{short(row.low)}-{short(row.high)}"
    return [name, f"{row.num_queries:,} {row.split}", *values, interval, _lead(row)]


def _baselines(row: "Row", names: Sequence[str]) -> list[tuple[str, list[str]]]:
    best = row.beside.get("best_feature")
    labels = BASELINES | {"best_feature": f"best: {'-' if row.beside.get('best_feature.sign', 1) < 0 else ''}{best}"}
    found = [name for name in labels if any(f"{name}.{metric}" in row.beside for metric in names)]
    return [
        (labels[name].partition(",")[0], [number(row.beside.get(f"{name}.{metric}")) for metric in names])
        for name in found
    ]


def _lead(row: "Row") -> str:
    mean, low, high = (row.beside.get(f"over_best_feature{end}") for end in ("", ".low", ".high"))
    return "-" if mean is None else f"{_plus(mean)} {between(low, high, _plus)}"


def _plus(difference: float) -> str:
    return f"+{short(difference)}" if difference >= 0 else short(difference)
