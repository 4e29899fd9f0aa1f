"""The runs of a batch beside each other: the best first, how sure its lead is, and what failed."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

import msgspec

from ltr.comparison import paired_test
from ltr.errors import DataError, FileError, UsageError
from ltr.evaluation import MRR, TOP1, BestFeature, named
from ltr.files import put_back, read_bytes
from ltr.paths import AnyPath, path_from
from ltr.records.metrics import KNOWN, UNSEEN, IntervalRecord, MetricsRecord
from ltr.records.run import LARGEST_RECORD, Json, read_record
from ltr.runs import Part

FORMAT: Final = "ltr-leaderboard/3"
BOARDS = JSON, TSV, MARKDOWN = "leaderboard.json", "leaderboard.tsv", "leaderboard.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class WinnersTest:
    """The winner of a batch against the runner-up, query by query: written to its leaderboard, read for its page."""

    winner: str
    runner_up: str
    metric: str
    difference: float
    low: float | None  # None of one unit
    high: float | None
    p: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One run: how good it is, or why it is not there."""

    place: int | None  # from 1, by the metric; None: it failed, or has no value
    run: str
    directory: str  # from the leaderboard's
    status: str  # complete or failed
    error: str | None
    sweep: dict[str, Json]
    split: str | None = None
    num_queries: int | None = None
    candidates_median: float | None = None  # of a query
    candidates_least: int | None = None
    candidates_most: int | None = None
    metrics: dict[str, float | None] = field(default_factory=dict)
    known_top1: float | None = None  # of queries with a right tool that was right in training
    unseen_top1: float | None = None  # of the other queries
    num_unseen: int | None = None
    low: float | None = None  # 95 % interval of the metric
    high: float | None = None
    baselines: dict[str, dict[str, float | None]] = field(default_factory=dict)
    best_baseline: str | None = None
    over_best_baseline: IntervalRecord | None = None
    best_feature: BestFeature | None = None
    over_best_feature: IntervalRecord | None = None


class Leaderboard(msgspec.Struct, frozen=True, kw_only=True):
    """leaderboard.json: all runs of a batch, and whether the first is better than the second."""

    format: Literal["ltr-leaderboard/3"] = FORMAT
    metric: str
    rows: tuple[Row, ...]
    test: WinnersTest | None = None
    untested: str | None = None  # why there is no test


@dataclass(frozen=True, slots=True)
class Entry:
    """A run that is to stand on a leaderboard."""

    run: str
    directory: Path
    sweep: dict[str, Json]
    error: str | None = None


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
    return Leaderboard(metric=measure.name, rows=(*first, *last), test=test, untested=untested)


def _row(entry: Entry, root: AnyPath, metric: str) -> Row:
    """Return what a run keeps of its metrics; it has no place yet."""
    status = "complete" if entry.error is None else "failed"
    at = path_from(root, entry.directory)
    row = Row(place=None, run=entry.run, directory=at, status=status, error=entry.error, sweep=entry.sweep)
    if entry.error is not None:
        return row
    record = read_record(Path(entry.directory, Part.METRICS), MetricsRecord)
    counts, interval = record.counts, record.intervals.get(metric)
    parts = {part.name: part for part in record.answers.parts} if record.answers else {}
    known, unseen = parts.get(KNOWN), parts.get(UNSEEN)
    return replace(
        row,
        split=record.rules.split,
        num_queries=counts.num_queries,
        candidates_median=counts.candidates_median,
        candidates_least=counts.candidates_least,
        candidates_most=counts.candidates_most,
        metrics=record.metrics,
        known_top1=known.metrics.get(TOP1) if known else None,
        unseen_top1=unseen.metrics.get(TOP1) if unseen else None,
        num_unseen=unseen.num_queries if unseen else None,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        baselines=record.baselines,
        best_baseline=record.best_baseline,
        over_best_baseline=record.over_best_baseline,
        best_feature=record.best_feature,
        over_best_feature=record.over_best_feature,
    )


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
        difference=pair.difference,
        low=pair.low,
        high=pair.high,
        p=pair.permutation_p,
    )
    return test, None


def read_leaderboard(root: AnyPath) -> Leaderboard:
    """The leaderboard that lies there."""
    return read_record(Path(root, JSON), Leaderboard)


def refuse_foreign_board(root: AnyPath) -> None:
    """Raise where a leaderboard would replace a file of somebody else's."""
    path = put_back(Path(root, JSON))
    if path.exists():
        try:
            content = msgspec.json.decode(read_bytes(path, limit=LARGEST_RECORD))
        except (msgspec.MsgspecError, RecursionError, ValueError, FileError):
            content = None
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise UsageError(f"{path}: not a leaderboard of ours; name another directory")
        return
    for name in (TSV, MARKDOWN, Part.REPORT):
        if Path(root, name).exists():
            raise UsageError(f"{Path(root, name)}: not a leaderboard of ours; name another directory")
