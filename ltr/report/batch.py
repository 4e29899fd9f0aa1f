"""The runs of a batch: their leaderboard as a table, as files, as a page and on a terminal; who leads it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import msgspec

from ltr.errors import count
from ltr.evaluation import CATALOGUE, TOP3, Baseline
from ltr.files import new_files, write_file
from ltr.leaderboard import JSON, MARKDOWN, TSV, Leaderboard, Row
from ltr.paths import AnyPath
from ltr.report.charts import Estimate, ranges
from ltr.report.flat import OVER_BEST
from ltr.report.metrics import TITLES, WITHOUT_TRAINING, queries_text, span_text, title_of
from ltr.report.page import Block, Blocks, Page, Points, Shown, TerminalBlock
from ltr.report.table import Column, Kind, Medium, Table, TableRow, Value, tsv_line
from ltr.report.words import (
    between,
    fixed,
    in_markdown,
    listed,
    p_value,
    shortened,
    signed,
    span,
    without_zero,
)
from ltr.runs import Part

LONGEST_NAME = 40


def leaderboard_table(board: Leaderboard, rows: Sequence[Row]) -> Table:
    """Return a line for each of the rows: metrics, the interval of the deciding one, the settings that differ."""
    paths = list(dict.fromkeys(path for row in rows for path in row.sweep))
    names = list(dict.fromkeys(name for row in rows for name in row.metrics))
    served = board.metric + CATALOGUE

    def metric(name: str, title: str, media: Medium) -> Column:
        return Column(name, title, Kind.SHARE, media, value=lambda row: row.metrics.get(name))

    def is_brief(name: str) -> bool:
        """Whether a terminal has room: for Top-3 not beside the deciding metric on the whole catalogue."""
        return name == board.metric or (name in TITLES and (name != TOP3 or served not in names))

    def measured(row: Row) -> str:
        return "failed" if row.error is not None else f"{row.num_queries or 0:,} {row.split}"

    def setting(path: str, row: Row) -> str | None:
        return _setting_text(row.sweep[path]) if path in row.sweep else None

    is_elsewhere = any(row.directory != row.run for row in rows)
    columns = (
        Column("place", "place", Kind.COUNT, Medium.WIDE),
        Column("run", "run"),
        Column("status", "status", media=Medium.TSV),
        Column("split", "split", media=Medium.WIDE),
        Column("queries", "queries", Kind.WRITTEN, Medium.TERMINAL, value=measured),
        *(Column(path, path, media=Medium.WIDE, value=partial(setting, path)) for path in paths),
        *(metric(name, title_of(name), Medium.EVERYWHERE if is_brief(name) else Medium.WIDE) for name in names),
        *([replace(metric(served, CATALOGUE, Medium.TERMINAL), key="")] if served in names else []),
        Column("num_queries", "queries", Kind.COUNT, Medium.WIDE),
        Column("candidates_median", "candidates a query", Kind.ROUNDED, Medium.WIDE),
        Column("candidates_least", "at least", Kind.COUNT, Medium.WIDE),
        Column("candidates_most", "at most", Kind.COUNT, Medium.WIDE),
        Column("known_top1", "top-1, right tool known", Kind.SHARE, Medium.WIDE),
        Column("unseen_top1", "top-1, unseen", Kind.SHARE, Medium.WIDE),
        Column("num_unseen", "unseen", Kind.COUNT, Medium.WIDE),
        Column("", f"95 % {title_of(board.metric)}", Kind.INTERVAL),
        Column(OVER_BEST, "top-1 over best", Kind.WRITTEN, Medium.SHOWN, value=_lead_text),
        Column("error", "error", media=Medium.TSV),
        Column("directory", "directory", media=Medium.PAGE if is_elsewhere else Medium.NOWHERE),
    )
    return Table.of(columns, rows, "Runs, the best first", marked=frozenset({0}))


def _setting_text(value: object) -> str:
    """Return a value that a sweep tried, as text."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _lead_text(row: Row) -> str | None:
    """Return how much greater Top-1 is than that of the best baseline, with its interval."""

    def written(difference: float) -> str:
        return f"{'+' if difference >= 0 else ''}{without_zero(difference)}"

    lead = row.over_best_baseline
    if lead is None or lead.mean is None:
        return None
    return f"{written(lead.mean)} {between(lead.low, lead.high, written)}"


def verdict(board: Leaderboard) -> str:
    """Say whether the first is better than the second."""
    test = board.test
    if test is None:
        return f"The first two were not tested against each other: {board.untested}."
    ends = "-" if test.low is None or test.high is None else f"{test.low:+.3f} to {test.high:+.3f}"
    by = f"{test.difference:+.3f} {test.metric} (95 % {ends}, p {p_value(test.p)})"
    return f"{test.winner} against {test.runner_up}: {by}."


# Files and the page.


def write_board(root: AnyPath, board: Leaderboard) -> None:
    """Write leaderboard.json, .tsv and .md, and the page of the runs in root."""
    with new_files(Path(root, JSON)) as new:
        write_file(new / JSON, msgspec.json.format(msgspec.json.encode(board), indent=2) + b"\n")
        lines = map(tsv_line, leaderboard_table(board, board.rows).tsv())
        write_file(new / TSV, "".join(f"{line}\n" for line in lines))
        write_file(new / MARKDOWN, "\n".join(leaderboard_markdown(board)) + "\n")
        write_file(new / Part.REPORT, batch_page(root, board))


def leaderboard_markdown(board: Leaderboard) -> list[str]:
    """Return the leaderboard as lines of Markdown."""
    complete, failed = _by_outcome(board)
    lines = [f"# By {in_markdown(board.metric)}", "", *leaderboard_table(board, complete).markdown(), ""]
    lines += [in_markdown(verdict(board))] if len(complete) > 1 else []
    reasons = [f"- {in_markdown(row.run)} failed: {in_markdown(row.error or '')}" for row in failed]
    return [*lines, *(["", *reasons] if failed else [])]


def _by_outcome(board: Leaderboard) -> tuple[list[Row], list[Row]]:
    """Return the runs that are complete, and those that failed."""
    complete = [row for row in board.rows if row.error is None]
    return complete, [row for row in board.rows if row.error is not None]


def batch_page(root: AnyPath, board: Leaderboard, made: str = "") -> str:
    """Return the page of the batch in root as HTML: its leaderboard, and how sure the first is to be the best."""
    complete, failed = _by_outcome(board)
    why = Table.of((Column("run", "run"), Column("error", "error")), failed, "Why they failed")
    sections: dict[str, Blocks] = {
        "Conclusions": [Points(tuple(_conclusions(board, len(complete), len(failed))))],
        "Leaderboard": _leaderboard(board, complete),
        "Runs that failed": [why] if failed else [],
    }
    runs = f"{count(len(board.rows), 'run')}, by {title_of(board.metric)}"
    subtitle = f"{runs}; each run's own page is report.html in its directory."
    return Page(f"Batch {Path(root).absolute().name}", subtitle, sections, made).html()


def _conclusions(board: Leaderboard, complete: int, failed: int) -> Iterator[str]:
    """Say which run is first, whether that is sure, and what is missing."""
    test = board.test
    if test:
        by = f"{signed(test.difference)} {title_of(test.metric)}, 95 % {span(test.low, test.high)}, p {p_value(test.p)}"
        is_sure = test.low is not None and test.high is not None and not test.low <= 0 <= test.high
        what = "and better than" if is_sure else "but not significantly different from"
        yield f"{test.winner} is first, {what} {test.runner_up}: {by}."
    elif board.untested and complete > 1:
        yield verdict(board)
    if board.rows and (lead := _lead_text(board.rows[0])):
        best = Baseline.title(board.rows[0].best_baseline or "", board.rows[0].best_feature)
        yield f"{board.rows[0].run} beside {best}: top-1 {lead}."
    done = f"{count(complete, 'run is', 'runs are')} complete"
    yield f"{done}, {failed} failed." if failed else f"{done}."


def _leaderboard(board: Leaderboard, rows: Sequence[Row]) -> Iterator[Block | None]:
    """Yield the deciding metric of each run, drawn; and all its metrics in a table."""
    if not rows:
        yield "No run is complete."
        return
    label, drawn = title_of(board.metric), []
    for row in rows:
        settings = ", ".join(f"{path} {_setting_text(value)}" for path, value in row.sweep.items())
        tip = f"{row.run}: {settings}" if settings else row.run
        drawn.append(Estimate(row.run, row.metrics.get(board.metric), row.low, row.high, tip=tip))
    description = f"{label} with its 95 % interval, the best run first."
    yield ranges(f"{label} of each run", description, drawn, ("run", label))
    yield leaderboard_table(board, rows)


# On a terminal.


def shown_board(board: Leaderboard) -> Shown:
    """Return the leaderboard with its baselines, whether the first run beats the second, and what failed."""
    return Shown(board, leaderboard_table(board, board.rows).tsv(), standings(board))


def standings(board: Leaderboard) -> Iterator[TerminalBlock]:
    """Yield the leaderboard, what its numbers are of, its verdict, and what failed."""
    yield _with_baselines(board)
    yield from (_candidates_text(board), _unseen_text(board))
    if len(board.rows) > 1:
        yield verdict(board)
    yield from (f"{row.run} failed: {row.error}" for row in board.rows if row.error is not None)


def _with_baselines(board: Leaderboard) -> Table:
    """Return the leaderboard for a terminal: baselines stand once, below the first of the runs that share them."""
    table = leaderboard_table(board, board.rows)
    keys = [column.key for column in table.columns]
    lines: list[TableRow] = []
    seen: list[list[dict[str, Value]]] = []
    for row, line in zip(board.rows, table.rows, strict=True):
        run = shortened(row.run, LONGEST_NAME)
        lines.append(tuple(run if key == "run" else value for key, value in zip(keys, line, strict=True)))
        beside = list(_baselines(row))
        if beside and beside not in seen:
            seen.append(beside)
            lines += [tuple(baseline.get(key, "") for key in keys) for baseline in beside]
    return replace(table, rows=tuple(lines))


def _baselines(row: Row) -> Iterator[dict[str, Value]]:
    """Yield the cells of each baseline by the keys of their columns."""
    for name in dict.fromkeys(
        (*WITHOUT_TRAINING, *([row.best_baseline] if row.best_baseline else []), Baseline.ORACLE)
    ):
        label = Baseline.title(name, row.best_feature).removeprefix("best single column ")
        values = {metric: row.baselines.get(name, {}).get(metric) for metric in row.metrics}
        if any(value is not None for value in values.values()):
            yield {"run": f" {label}", **values}


def _candidates_text(board: Leaderboard) -> str:
    """Say how many candidates a query has, of runs that differ in it each; "" where no run is complete."""
    spans: dict[str, list[str]] = {}
    for row in board.rows:
        if row.candidates_median is not None:
            each = span_text(row.candidates_least or 0, row.candidates_median, row.candidates_most or 0)
            spans.setdefault(each, []).append(row.run)
    if len(spans) < 2:
        return "".join(f"candidates of a query: {each}" for each in spans)
    texts = (f"{each} ({listed(runs)})" for each, runs in spans.items())
    return f"candidates of a query: {'; '.join(texts)}"


def _unseen_text(board: Leaderboard) -> str:
    """Say what Top-1 of the first run is where training knew the right tool, and where not; "" without both."""
    first = next(iter(board.rows), None)
    if first is None or not first.num_unseen or first.known_top1 is None:
        return ""
    of_run = f" of {first.run}" if len(board.rows) > 1 else ""
    unseen = f"{fixed(first.unseen_top1)} ({queries_text(first.num_unseen)})"
    return f"top-1{of_run}, right tool known: {fixed(first.known_top1)}; unseen: {unseen}"
