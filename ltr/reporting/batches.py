"""The page of a batch: its leaderboard, and how sure the first is to be the best."""

from pathlib import Path
from typing import Any

import msgspec

from ltr.files.reading import AnyPath
from ltr.reporting.blocks import Block, Figure, Page, Points, Row, Section, Table, Text
from ltr.reporting.charts import Estimate, Words, drawn_table, estimates
from ltr.reporting.figures import NONE, count, share, short, signed, span
from ltr.reporting.runs import HEADLINE
from ltr.results.pairing import WinnersTest
from ltr.storage.records import read_record

LEADERBOARD = "leaderboard.json"
FIXED = {"place", "run", "directory", "status", "error", "sweep", "split", "num_queries", "low", "high"}


class Board(msgspec.Struct):
    """leaderboard.json."""

    metric: str
    rows: list[dict[str, Any]]
    test: WinnersTest | None = None
    untested: str | None = None


def batch_view(root: AnyPath, made: str = "") -> Page:
    """The page of the batch whose leaderboard lies there."""
    board = read_record(Path(root, LEADERBOARD), Board)
    placed = [row for row in board.rows if not row.get("error")]
    failed = [row for row in board.rows if row.get("error")]
    sections = [
        Section("Conclusions", (Points(tuple(_conclusions(board, len(placed), len(failed)))),)),
        Section("Leaderboard", tuple(_leaderboard(board, placed))),
        Section("Runs that failed", (_failed(failed),) if failed else ()),
    ]
    kept = [section for section in sections if section.blocks]
    runs = f"{count(len(board.rows), 'run')}, by {_label(board.metric)}"
    subtitle = f"{runs}; each run's own page is report.html in its directory."
    return Page(f"Batch {Path(root).absolute().name}", subtitle, kept, made)


def _label(metric: str) -> str:
    return HEADLINE.get(metric, metric)


def _conclusions(board: Board, placed: int, failed: int) -> list[str]:
    """Who is first, whether that is sure, and what is missing."""
    told = []
    if board.test:
        told.append(_tested(board.test))
    elif board.untested:
        told.append(f"The first two are not tested: {board.untested}.")
    done = f"{count(placed, 'run is', 'runs are')} complete"
    return [*told, f"{done}, {failed} failed." if failed else f"{done}."]


def _tested(test: WinnersTest) -> str:
    by = f"{signed(test.difference)} {_label(test.metric)}, 95 % {span(test.low, test.high)}, p {short(test.p)}"
    if test.low is None or test.high is None or test.low <= 0 <= test.high:
        return f"{test.winner} is first, but cannot be told from {test.runner_up}: {by}."
    return f"{test.winner} is first, and better than {test.runner_up}: {by}."


def _leaderboard(board: Board, rows: list[dict[str, Any]]) -> list[Block]:
    if not rows:
        return [Text("No run is complete.")]
    figure = _drawn(board, rows)
    return [*([figure] if figure else []), _table(board, rows)]


def _drawn(board: Board, rows: list[dict[str, Any]]) -> Figure | None:
    label, title = _label(board.metric), f"{_label(board.metric)} of each run"
    drawn = [_estimate(row, board.metric) for row in rows]
    numbers = drawn_table(title, ("run", label), drawn)
    return estimates(Words(title, f"{label} with its 95 % interval, the best run first.", numbers), drawn)


def _estimate(row: dict[str, Any], metric: str) -> Estimate:
    value, low, high = (_number(row, key) for key in (metric, "low", "high"))
    return Estimate(str(row.get("run")), value, low, high, tip=_tip(row))


def _table(board: Board, rows: list[dict[str, Any]]) -> Table:
    """A row for each run; where it lies only if its name does not tell."""
    paths = list(dict.fromkeys(path for row in rows for path in _sweep(row)))
    keys = dict.fromkeys(key for row in rows for key in row if _number(row, key) is not None)
    names = [key for key in keys if key not in FIXED]
    place = ["directory"] if any(row.get("directory") != row.get("run") for row in rows) else []
    heads = ("run", "place", *paths, *map(_label, names), f"{_label(board.metric)} 95 %", "queries", "split", *place)
    words = frozenset({0, *range(2, 2 + len(paths)), *range(len(heads) - 1 - len(place), len(heads))})
    told = tuple((*_row(row, paths, names), *(str(row.get(key)) for key in place)) for row in rows)
    return Table("Runs, the best first", heads, told, words, frozenset({0}))


def _sweep(row: dict[str, Any]) -> dict[str, Any]:
    tried = row.get("sweep")
    return tried if isinstance(tried, dict) else {}


def _tip(row: dict[str, Any]) -> str:
    tried = ", ".join(f"{path} {value}" for path, value in _sweep(row).items())
    return f"{row.get('run')}: {tried}" if tried else str(row.get("run"))


def _row(row: dict[str, Any], paths: list[str], names: list[str]) -> Row:
    return (
        str(row.get("run")),
        str(row.get("place") or NONE),
        *(str(_sweep(row).get(path, NONE)) for path in paths),
        *(share(_number(row, name)) for name in names),
        span(_number(row, "low"), _number(row, "high")),
        f"{_number(row, 'num_queries') or 0:,.0f}",
        str(row.get("split")),
    )


def _failed(rows: list[dict[str, Any]]) -> Table:
    told = tuple((str(row.get("run")), str(row.get("error"))) for row in rows)
    return Table("Why they failed", ("run", "error"), told, words=frozenset({0, 1}))


def _number(row: dict[str, Any], key: str) -> float | None:
    value = row.get(key)
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
