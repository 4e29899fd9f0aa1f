"""The runs of a batch beside each other: the best first, how sure its lead is, and what failed."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ltr.errors import DataError, UsageError
from ltr.evaluation.baselines import BASELINES
from ltr.evaluation.metrics.ranked import MRR
from ltr.evaluation.metrics.registry import named
from ltr.files.naming import path_from
from ltr.files.reading import AnyPath
from ltr.results.metrics_record import OVER_BEST, flat
from ltr.results.pairing import WinnersTest, paired_test
from ltr.storage.records import MetricsRecord, read_record
from ltr.storage.run_directory import METRICS

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
    record = None if entry.error is not None else read_record(Path(entry.directory, METRICS), MetricsRecord)
    interval = None if record is None else record.intervals.get(metric)
    return Row(
        place=None,
        run=entry.run,
        directory=path_from(root, entry.directory),
        status="complete" if entry.error is None else "failed",
        error=entry.error,
        sweep=entry.sweep,
        split=None if record is None else record.rules.split,
        num_queries=None if record is None else record.counts.num_queries,
        metrics={} if record is None else record.metrics,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        beside={}
        if record is None
        else {key: value for key, value in flat(record).items() if key.partition(".")[0] in BESIDE},
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
        found = paired_test(homes[0], homes[1], metric, seed)
    except (DataError, UsageError) as error:
        told = str(error).partition(", such as ")[0]
        for home, row in zip(homes, rows, strict=False):
            told = told.replace(home.as_posix(), row.run)
        return None, told
    test = WinnersTest(
        winner=rows[0].run,
        runner_up=rows[1].run,
        metric=metric,
        difference=found.interval.mean,
        low=found.interval.low,
        high=found.interval.high,
        p=found.permutation_p,
    )
    return test, None
