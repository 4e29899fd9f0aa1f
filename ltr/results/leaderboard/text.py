"""A leaderboard as JSON, TSV and Markdown."""

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from ltr.config.sweeps import swept
from ltr.errors import FileError, UsageError
from ltr.files.reading import AnyPath, read_bytes
from ltr.files.writing import make_directory, tsv_cell, write_bytes, write_text
from ltr.results.leaderboard.rows import COUNTED, SPLIT, Leaderboard, Row
from ltr.storage.records import LARGEST_RECORD
from ltr.storage.run_directory import REPORT

FORMAT = "ltr-leaderboard/2"
BOARDS = JSON, TSV, MARKDOWN = "leaderboard.json", "leaderboard.tsv", "leaderboard.md"


def document(board: Leaderboard) -> dict[str, Any]:
    """The leaderboard in plain JSON, the metrics beside the other keys of their row."""
    return {
        "format": FORMAT,
        "metric": board.metric,
        "rows": [_flat(row) for row in board.rows],
        "test": None if board.test is None else asdict(board.test),
        "untested": board.untested,
    }


def _flat(row: Row) -> dict[str, Any]:
    flat = asdict(row)
    metrics, low, high, _ = (flat.pop(name) for name in ("metrics", "low", "high", "beside"))
    return flat | metrics | {"low": low, "high": high}


def cells(board: Leaderboard) -> list[list[Any]]:
    """The leaderboard as a table: heads, and a row a run."""
    paths = list(dict.fromkeys(path for row in board.rows for path in row.sweep))
    names = list(dict.fromkeys(name for row in board.rows for name in row.metrics))
    heads = ["place", "run", "status", SPLIT, *paths, *names, COUNTED, "low", "high", "error"]
    return [heads, *([*_left(row, paths), *_right(row, names)] for row in board.rows)]


def _left(row: Row, paths: Sequence[str]) -> list[Any]:
    tried = [_text(row.sweep[path]) if path in row.sweep else None for path in paths]
    return [row.place, row.run, row.status, row.split, *tried]


def _right(row: Row, names: Sequence[str]) -> list[Any]:
    return [*(row.metrics.get(name) for name in names), row.num_queries, row.low, row.high, row.error]


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def write_leaderboard(root: AnyPath, board: Leaderboard) -> None:
    """leaderboard.json, .tsv and .md of the runs in root."""
    home = make_directory(root)
    write_bytes(home / JSON, msgspec.json.format(msgspec.json.encode(document(board)), indent=2) + b"\n")
    write_text(home / TSV, "".join("\t".join(map(tsv_cell, row)) + "\n" for row in cells(board)))
    write_text(home / MARKDOWN, "\n".join(markdown(board)) + "\n")


def refuse_foreign(root: AnyPath) -> None:
    """Raise where a leaderboard would replace a file of somebody else's."""
    path = Path(root, JSON)
    if path.exists() and not _is_ours(path):
        raise UsageError(f"{path}: not a leaderboard of ours; name another directory")
    for name in (TSV, MARKDOWN, REPORT):
        if Path(root, name).exists() and not path.exists():
            raise UsageError(f"{Path(root, name)}: not a leaderboard of ours; name another directory")


def _is_ours(path: Path) -> bool:
    try:
        found = msgspec.json.decode(read_bytes(path, limit=LARGEST_RECORD))
    except (msgspec.MsgspecError, RecursionError, ValueError, FileError):
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT


def markdown(board: Leaderboard) -> list[str]:
    """The leaderboard as Markdown."""
    names = list(dict.fromkeys(name for row in board.rows for name in row.metrics))
    heads = ["", "run", "tries", *names, "95 % interval", "queries"]
    rows = [heads, ["---"] * len(heads), *([*_told(row), *_numbers(row, names)] for row in board.rows)]
    lines = ["| " + " | ".join(map(_escaped, row)) + " |" for row in rows]
    failed = [f"- {_escaped(row.run)} failed: {_escaped(row.error)}" for row in board.rows if row.error is not None]
    told = [verdict(board, _escaped), *(["", *failed] if failed else [])]
    return [f"# By {_escaped(board.metric)}", "", *lines, "", *told]


def _told(row: Row) -> list[str]:
    return ["failed" if row.error is not None else str(row.place or "-"), row.run, swept(row.sweep)]


def _numbers(row: Row, names: Sequence[str]) -> list[str]:
    interval = "" if row.low is None or row.high is None else f"{row.low:.3f} to {row.high:.3f}"
    values = ["" if (value := row.metrics.get(name)) is None else f"{value:.3f}" for name in names]
    return [*values, interval, f"{row.num_queries or 0:,} {row.split or ''}".strip()]


def _escaped(text: Any) -> str:
    """Text that Markdown shows as it is, on one line."""
    shown = tsv_cell(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{character}" if character in "\\`*_[]|#!" else character for character in shown)


def verdict(board: Leaderboard, shown: Callable[[Any], str] = str) -> str:
    """Whether the first is better than the second, in one sentence."""
    test = board.test
    if test is None:
        return f"The first two are not tested: {shown(board.untested)}."
    ends = "-" if test.low is None or test.high is None else f"{test.low:+.3f} to {test.high:+.3f}"
    by = f"{test.difference:+.3f} {shown(test.metric)} (95 % {ends}, p = {test.p:.4f})"
    return f"{shown(test.winner)} against {shown(test.runner_up)}: {by}."
