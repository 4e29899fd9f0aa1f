"""The runs of a batch beside each other: the best first, how sure its lead is, and what failed."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from ltr.artifacts.run import METRICS, REPORT
from ltr.baselines import BASELINES
from ltr.compare import compare_runs
from ltr.errors import DataError, FileError, UsageError
from ltr.files import AnyPath, make_directory, path_from, read_bytes, write_bytes, write_text
from ltr.kept import LARGEST_METRICS
from ltr.metrics import MRR, named
from ltr.records import OVER_BEST
from ltr.sweeps import swept

FORMAT = "ltr-leaderboard/1"
JSON, TSV, MARKDOWN = "leaderboard.json", "leaderboard.tsv", "leaderboard.md"
SPLIT = "split"  # the first key of metrics.json after the metrics and the number of queries
COUNTED = "num_queries"
BESIDE = (*BASELINES, OVER_BEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run: how good it is, or why it is not there."""

    place: int | None  # from 1, by the metric; None: it failed, or has no value
    run: str
    directory: str  # from the leaderboard's
    status: str  # complete or failed
    error: str | None
    sweep: dict[str, Any]
    split: str | None
    num_queries: int | None
    metrics: dict[str, float | None]
    low: float | None  # 95 % interval of the metric
    high: float | None
    beside: dict[str, Any]  # the baselines, as metrics.json has them


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnersTest:
    """The winner against the runner-up, query by query."""

    winner: str
    runner_up: str
    metric: str
    difference: float
    low: float
    high: float
    p: float


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """All runs of a batch, and whether the first is better than the second."""

    metric: str
    rows: tuple[Row, ...]
    test: WinnersTest | None
    untested: str | None  # why there is no test


@dataclass(frozen=True, slots=True)
class Entry:
    """What a leaderboard is told of a run."""

    run: str
    directory: Path
    sweep: dict[str, Any]
    error: str | None = None


def leaderboard(entries: Sequence[Entry], root: AnyPath, *, metric: str = MRR, seed: int = 0) -> Leaderboard:
    """The entries by the metric, the best first; equal ones in their order, what failed last.

    All numbers are those that the runs keep: whoever made them, and when, changes nothing.
    """
    measure = named(metric)
    rows = [_row(entry, root, measure.name) for entry in entries]
    placed = [index for index, row in enumerate(rows) if row.metrics.get(measure.name) is not None]
    sign = 1 if measure.less_is_better else -1
    placed = sorted(placed, key=lambda index: sign * (rows[index].metrics[measure.name] or 0.0))
    if not placed and any(row.error is None for row in rows):
        raise UsageError(f"no run has {measure.name}; add it to evaluate.metrics, or sort by another metric")
    first = [replace(rows[index], place=place) for place, index in enumerate(placed, start=1)]
    last = [row for index, row in enumerate(rows) if index not in placed]
    homes = [entries[index].directory for index in placed[:2]]
    test, untested = _tested(first, homes, measure.name, seed)
    return Leaderboard(measure.name, (*first, *last), test, untested)


def _row(entry: Entry, root: AnyPath, metric: str) -> Row:
    found = {} if entry.error is not None else kept_metrics(entry.directory)
    names = [name for name in takewhile(lambda key: key != SPLIT, found) if name != COUNTED]
    return Row(
        place=None,
        run=entry.run,
        directory=path_from(root, entry.directory),
        status="complete" if entry.error is None else "failed",
        error=entry.error,
        sweep=entry.sweep,
        split=found.get(SPLIT),
        num_queries=found.get(COUNTED),
        metrics={name: found[name] for name in names},
        low=found.get(f"{metric}.low"),
        high=found.get(f"{metric}.high"),
        beside={key: value for key, value in found.items() if key.partition(".")[0] in BESIDE},
    )


def kept_metrics(directory: AnyPath) -> dict[str, Any]:
    """metrics.json of a run."""
    path = Path(directory, METRICS)
    try:
        return msgspec.json.decode(read_bytes(path, limit=LARGEST_METRICS), type=dict[str, Any])
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FileError(str(path), f"not what ltr writes: {error}") from error


def _tested(
    rows: Sequence[Row], homes: Sequence[Path], metric: str, seed: int
) -> tuple[WinnersTest | None, str | None]:
    """The winner's paired test against the runner-up, or why it cannot be made."""
    if len(rows) < 2:
        return None, "a test needs two complete runs"
    if rows[0].split != rows[1].split:
        return None, f"different test data: {rows[0].split} of {rows[0].run}, {rows[1].split} of {rows[1].run}"
    try:
        compared = compare_runs(homes[:1], baseline=homes[1], metrics=[metric], seed=seed).runs[0]
    except (DataError, UsageError) as error:
        told = str(error)
        for home, row in zip(homes, rows, strict=False):
            told = told.replace(home.as_posix(), row.run)
        return None, told
    found = compared.differences[0]
    test = WinnersTest(
        winner=rows[0].run,
        runner_up=rows[1].run,
        metric=metric,
        difference=found.difference,
        low=found.low,
        high=found.high,
        p=found.permutation_p,
    )
    return test, None


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
    write_text(home / TSV, "".join("\t".join(map(_cell, row)) + "\n" for row in cells(board)))
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
        found = msgspec.json.decode(read_bytes(path, limit=LARGEST_METRICS))
    except (msgspec.MsgspecError, RecursionError, ValueError, FileError):
        return False
    return isinstance(found, dict) and found.get("format") == FORMAT


def _cell(value: Any) -> str:
    """A value between tabs: what would end the cell is written out."""
    text = "" if value is None else str(value)
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text)


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
    shown = _cell(text).replace("&", "&amp;").replace("<", "&lt;")
    return "".join(f"\\{character}" if character in "\\`*_[]|#!" else character for character in shown)


def verdict(board: Leaderboard, shown: Callable[[Any], str] = str) -> str:
    """Whether the first is better than the second, in one sentence."""
    test = board.test
    if test is None:
        return f"The first two are not tested: {shown(board.untested)}."
    by = f"{test.difference:+.3f} {shown(test.metric)} (95 % {test.low:+.3f} to {test.high:+.3f}, p = {test.p:.4f})"
    return f"{shown(test.winner)} against {shown(test.runner_up)}: {by}."
