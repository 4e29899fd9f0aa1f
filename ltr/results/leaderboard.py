"""The runs of a batch beside each other: the best first, how sure its lead is, and what failed."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from ltr.errors import DataError, FileError, UsageError
from ltr.evaluation.baselines import BASELINES
from ltr.evaluation.metrics.ranked import MRR
from ltr.evaluation.metrics.registry import named
from ltr.files.naming import path_from
from ltr.files.reading import AnyPath, read_bytes
from ltr.results.pairing import WinnersTest, paired_test
from ltr.results.query_records import OVER_BEST
from ltr.results.stored_evaluation import LARGEST_METRICS
from ltr.storage.run_directory import METRICS, REPORT

FORMAT = "ltr-leaderboard/1"
BOARDS = JSON, TSV, MARKDOWN = "leaderboard.json", "leaderboard.tsv", "leaderboard.md"
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


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """All runs of a batch, and whether the first is better than the second."""

    metric: str
    rows: tuple[Row, ...]
    test: WinnersTest | None
    untested: str | None  # why there is no test


@dataclass(frozen=True, slots=True)
class Entry:
    """A run that is to stand on a leaderboard."""

    run: str
    directory: Path
    sweep: dict[str, Any]
    error: str | None = None


class _Stored(msgspec.Struct):
    """leaderboard.json, the metrics of its rows beside their other keys."""

    metric: str
    rows: list[dict[str, Any]]
    test: WinnersTest | None = None
    untested: str | None = None


class _StoredRow(msgspec.Struct):
    """The keys of a row that are no metrics."""

    run: str
    place: int | None = None
    directory: str = ""
    status: str = "complete"
    error: str | None = None
    sweep: dict[str, Any] = {}
    split: str | None = None
    num_queries: int | None = None
    low: float | None = None
    high: float | None = None


def leaderboard(entries: Sequence[Entry], root: AnyPath, *, metric: str = MRR, seed: int = 0) -> Leaderboard:
    """The entries by the metric, the best first; equal ones in their order, failed ones last.

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
    stored = {} if entry.error is not None else stored_metrics(entry.directory)
    names = [name for name in takewhile(lambda key: key != SPLIT, stored) if name != COUNTED]
    return Row(
        place=None,
        run=entry.run,
        directory=path_from(root, entry.directory),
        status="complete" if entry.error is None else "failed",
        error=entry.error,
        sweep=entry.sweep,
        split=stored.get(SPLIT),
        num_queries=stored.get(COUNTED),
        metrics={name: stored[name] for name in names},
        low=stored.get(f"{metric}.low"),
        high=stored.get(f"{metric}.high"),
        beside={key: value for key, value in stored.items() if key.partition(".")[0] in BESIDE},
    )


def stored_metrics(directory: AnyPath) -> dict[str, Any]:
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
        pair = paired_test(homes[0], homes[1], metric, seed)
    except (DataError, UsageError) as error:
        reason = str(error).partition(", such as ")[0]
        for home, row in zip(homes, rows, strict=False):
            reason = reason.replace(home.as_posix(), row.run)
        return None, reason
    test = WinnersTest(
        winner=rows[0].run,
        runner_up=rows[1].run,
        metric=metric,
        difference=pair.interval.mean,
        low=pair.interval.low,
        high=pair.interval.high,
        p=pair.permutation_p,
    )
    return test, None


def document(board: Leaderboard) -> dict[str, Any]:
    """leaderboard.json: the metrics beside the other keys of their row."""
    rows = []
    for row in board.rows:
        flat = asdict(row)
        metrics, low, high, _ = (flat.pop(name) for name in ("metrics", "low", "high", "beside"))
        rows.append(flat | metrics | {"low": low, "high": high})
    test = None if board.test is None else asdict(board.test)
    return {"format": FORMAT, "metric": board.metric, "rows": rows, "test": test, "untested": board.untested}


def read_leaderboard(root: AnyPath) -> Leaderboard:
    """The leaderboard that lies there; the baselines stay in the directories of the runs."""
    path = Path(root, JSON)
    try:
        stored = msgspec.json.decode(read_bytes(path, limit=LARGEST_METRICS), type=_Stored)
        rows = [msgspec.structs.asdict(msgspec.convert(row, _StoredRow)) for row in stored.rows]
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError) as error:
        raise FileError(str(path), f"not what ltr writes: {error}") from error
    metrics = [
        {
            key: value
            for key, value in row.items()
            if key not in _StoredRow.__struct_fields__ and (value is None or type(value) in (int, float))
        }
        for row in stored.rows
    ]
    complete = [Row(**row, metrics=values, beside={}) for row, values in zip(rows, metrics, strict=True)]
    return Leaderboard(stored.metric, tuple(complete), stored.test, stored.untested)


def refuse_foreign(root: AnyPath) -> None:
    """Raise where a leaderboard would replace a file of somebody else's."""
    path = Path(root, JSON)
    if path.exists():
        try:
            content = msgspec.json.decode(read_bytes(path, limit=LARGEST_METRICS))
        except (msgspec.MsgspecError, RecursionError, ValueError, FileError):
            content = None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise UsageError(f"{path}: not a leaderboard of ours; name another directory")
        return
    for name in (TSV, MARKDOWN, REPORT):
        if Path(root, name).exists():
            raise UsageError(f"{Path(root, name)}: not a leaderboard of ours; name another directory")
