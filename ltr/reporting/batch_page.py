"""The page of a batch: its leaderboard, and what it says."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from ltr.errors import count
from ltr.evaluation.baselines import baseline_title
from ltr.files.path_arguments import AnyPath
from ltr.reporting.charts import Estimate, Words, estimates, estimates_table
from ltr.reporting.leaderboard_table import lead_text, leaderboard_table, setting_text
from ltr.reporting.metric_titles import title_of
from ltr.reporting.number_formats import p_value, signed, span
from ltr.reporting.page import Block, Page, Points, Section, Text
from ltr.reporting.table import Column, table_of
from ltr.results.leaderboard import Leaderboard, Row


def batch_view(root: AnyPath, board: Leaderboard, made: str = "") -> Page:
    """The page of the batch in root: its leaderboard, and how sure the first is to be the best."""
    complete = [row for row in board.rows if row.error is None]
    failed = [row for row in board.rows if row.error is not None]
    why = table_of((Column("run", "run"), Column("error", "error")), failed, "Why they failed")
    sections = [
        Section("Conclusions", (Points(tuple(_conclusions(board, len(complete), len(failed)))),)),
        Section("Leaderboard", tuple(_leaderboard(board, complete))),
        Section("Runs that failed", (why,) if failed else ()),
    ]
    runs = f"{count(len(board.rows), 'run')}, by {title_of(board.metric)}"
    subtitle = f"{runs}; each run's own page is report.html in its directory."
    return Page(f"Batch {Path(root).absolute().name}", subtitle, sections, made)


def _conclusions(board: Leaderboard, complete: int, failed: int) -> Iterator[str]:
    """Which run is first, whether that is sure, and what is missing."""
    test = board.test
    if test:
        by = f"{signed(test.difference)} {title_of(test.metric)}, 95 % {span(test.low, test.high)}, p {p_value(test.p)}"
        is_sure = test.low is not None and test.high is not None and not test.low <= 0 <= test.high
        what = "and better than" if is_sure else "but not significantly different from"
        yield f"{test.winner} is first, {what} {test.runner_up}: {by}."
    elif board.untested and complete > 1:
        yield f"The first two were not tested against each other: {board.untested}."
    if board.rows and (lead := lead_text(board.rows[0])):
        best = baseline_title(board.rows[0].best_baseline or "", board.rows[0].best_feature)
        yield f"{board.rows[0].run} beside {best}: top-1 {lead}."
    done = f"{count(complete, 'run is', 'runs are')} complete"
    yield f"{done}, {failed} failed." if failed else f"{done}."


def _leaderboard(board: Leaderboard, rows: Sequence[Row]) -> Iterator[Block]:
    """The deciding metric of each run, drawn; and all its metrics in a table."""
    if not rows:
        yield Text("No run is complete.")
        return
    label = title_of(board.metric)
    drawn = []
    for row in rows:
        settings = ", ".join(f"{path} {setting_text(value)}" for path, value in row.sweep.items())
        tip = f"{row.run}: {settings}" if settings else row.run
        drawn.append(Estimate(row.run, row.metrics.get(board.metric), row.low, row.high, tip=tip))
    title = f"{label} of each run"
    numbers = estimates_table(title, ("run", label), drawn)
    figure = estimates(Words(title, f"{label} with its 95 % interval, the best run first.", numbers), drawn)
    yield from [figure] if figure else []
    yield leaderboard_table(board, rows)
