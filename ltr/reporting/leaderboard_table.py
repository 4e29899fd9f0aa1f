"""The leaderboard of a batch as a table, and who leads it."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

import msgspec

from ltr.errors import count
from ltr.evaluation.baselines import ORACLE, baseline_title
from ltr.evaluation.metrics.ranking_measures import TOP3
from ltr.evaluation.metrics.registry import CATALOGUE, on_catalogue
from ltr.reporting.lines import shortened
from ltr.reporting.metric_sentences import span_text
from ltr.reporting.metric_titles import TITLES, WITHOUT_TRAINING, title_of
from ltr.reporting.number_formats import between, fixed, listed, p_value, without_zero
from ltr.reporting.table import Column, Kind, Medium, Table, TableRow, Value, table_of
from ltr.results.leaderboard import Leaderboard, Row
from ltr.results.record import OVER_BEST

LONGEST_NAME = 40


def leaderboard_table(board: Leaderboard, rows: Sequence[Row]) -> Table:
    """A line for each of the rows: the metrics, the interval of the deciding one, the settings that differ."""
    paths = list(dict.fromkeys(path for row in rows for path in row.sweep))
    names = list(dict.fromkeys(name for row in rows for name in row.metrics))
    served = on_catalogue(board.metric)
    is_elsewhere = any(row.directory != row.run for row in rows)
    columns = (
        Column("place", "place", Kind.COUNT, Medium.WIDE),
        Column("run", "run"),
        Column("status", "status", media=Medium.TSV),
        Column("split", "split", media=Medium.WIDE),
        Column("queries", "queries", Kind.WRITTEN, Medium.TERMINAL, value=_measured),
        *(Column(path, path, media=Medium.WIDE, value=partial(_setting, path)) for path in paths),
        *(
            _metric(name, title_of(name), Medium.EVERYWHERE if _is_brief(name, board, names) else Medium.WIDE)
            for name in names
        ),
        *([replace(_metric(served, CATALOGUE, Medium.TERMINAL), key="")] if served in names else []),
        Column("num_queries", "queries", Kind.COUNT, Medium.WIDE),
        Column("candidates_median", "candidates a query", Kind.ROUNDED, Medium.WIDE),
        Column("candidates_least", "at least", Kind.COUNT, Medium.WIDE),
        Column("candidates_most", "at most", Kind.COUNT, Medium.WIDE),
        Column("known_top1", "top-1, right tool known", Kind.SHARE, Medium.WIDE),
        Column("unseen_top1", "top-1, unseen", Kind.SHARE, Medium.WIDE),
        Column("num_unseen", "unseen", Kind.COUNT, Medium.WIDE),
        Column("", f"95 % {title_of(board.metric)}", Kind.INTERVAL),
        Column(OVER_BEST, "top-1 over best", Kind.WRITTEN, Medium.SHOWN, value=lead_text),
        Column("error", "error", media=Medium.TSV),
        Column("directory", "directory", media=Medium.PAGE if is_elsewhere else Medium.NOWHERE),
    )
    return table_of(columns, rows, "Runs, the best first", marked={0})


def _metric(name: str, title: str, media: Medium) -> Column:
    return Column(name, title, Kind.SHARE, media, value=lambda row: row.metrics.get(name))


def _setting(path: str, row: Row) -> str | None:
    return setting_text(row.sweep[path]) if path in row.sweep else None


def _measured(row: Row) -> str:
    return "failed" if row.error is not None else f"{row.num_queries or 0:,} {row.split}"


def candidates_text(board: Leaderboard) -> str:
    """How many candidates a query has, of runs that differ in it each; "" where no run is complete."""
    spans: dict[str, list[str]] = {}
    for row in board.rows:
        if row.candidates_median is not None:
            span = span_text(row.candidates_least or 0, row.candidates_median, row.candidates_most or 0)
            spans.setdefault(span, []).append(row.run)
    if len(spans) < 2:
        return "".join(f"candidates of a query: {span}" for span in spans)
    texts = (f"{span} ({listed(runs)})" for span, runs in spans.items())
    return f"candidates of a query: {'; '.join(texts)}"


def unseen_text(board: Leaderboard) -> str:
    """Top-1 of the first run where training knew the right tool, and where not; "" where there are not both."""
    first = next(iter(board.rows), None)
    if first is None or not first.num_unseen or first.known_top1 is None:
        return ""
    of_run = f" of {first.run}" if len(board.rows) > 1 else ""
    queries = count(first.num_unseen, "query", "queries")
    return f"top-1{of_run}, right tool known: {fixed(first.known_top1)}; unseen: {fixed(first.unseen_top1)} ({queries})"


def _is_brief(metric: str, board: Leaderboard, names: Sequence[str]) -> bool:
    """Whether a terminal has room for the metric: for Top-3 not beside the deciding metric on the whole catalogue."""
    return metric == board.metric or (metric in TITLES and (metric != TOP3 or on_catalogue(board.metric) not in names))


def setting_text(value: object) -> str:
    """A value that a sweep tried, as text."""
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def lead_text(row: Row) -> str | None:
    """How much greater Top-1 is than that of the best baseline, with its interval."""

    def written(difference: float) -> str:
        return f"{'+' if difference >= 0 else ''}{without_zero(difference)}"

    lead = row.over_best_baseline
    return (
        None if lead is None or lead.mean is None else f"{written(lead.mean)} {between(lead.low, lead.high, written)}"
    )


def standings_table(board: Leaderboard) -> Table:
    """The leaderboard for a terminal: baselines stand once, below the first of the runs that share them."""
    table = leaderboard_table(board, board.rows)
    keys = [column.key for column in table.columns]
    lines: list[TableRow] = []
    seen: list[list[dict[str, Value]]] = []
    for row, line in zip(board.rows, table.rows, strict=True):
        lines.append(
            tuple(
                shortened(row.run, LONGEST_NAME) if key == "run" else value
                for key, value in zip(keys, line, strict=True)
            )
        )
        beside = list(_baselines(row))
        if beside and beside not in seen:
            seen.append(beside)
            lines += [tuple(baseline.get(key, "") for key in keys) for baseline in beside]
    return replace(table, rows=tuple(lines))


def _baselines(row: Row) -> Iterator[dict[str, Value]]:
    """The cells of each baseline by the keys of their columns."""
    for name in dict.fromkeys((*WITHOUT_TRAINING, *([row.best_baseline] if row.best_baseline else []), ORACLE)):
        label = baseline_title(name, row.best_feature).removeprefix("best single column ")
        values = {metric: row.baselines.get(name, {}).get(metric) for metric in row.metrics}
        if any(value is not None for value in values.values()):
            yield {"run": f" {label}", **values}


def verdict(board: Leaderboard) -> str:
    """Whether the first is better than the second, in one sentence."""
    test = board.test
    if test is None:
        return f"The first two were not tested against each other: {board.untested}."
    ends = "-" if test.low is None or test.high is None else f"{test.low:+.3f} to {test.high:+.3f}"
    by = f"{test.difference:+.3f} {test.metric} (95 % {ends}, p {p_value(test.p)})"
    return f"{test.winner} against {test.runner_up}: {by}."
