"""Splits of groups: no trace is on both sides; traces are drawn by the seed, or taken by time."""

import hashlib
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray
from ltr.data.groups import Groups, select
from ltr.errors import DataError, UsageError, count

TRACE, TIME = "trace", "time"
TraceDigests = npt.NDArray[np.uint64]


def split_off(groups: Groups, share: float, name: str, *, seed: int, by: str, of: int) -> tuple[Groups, Groups]:
    """The groups that stay, and those of a share of `of` traces: drawn by the seed, or the latest.

    By time traces stand in the order of their latest time, and the border moves to the nearest change of it: no trace
    that is split off ends before, or with, one that stays. It may have begun before: see `count_earlier`.
    """
    order, times = _in_order(groups, seed, by)
    size = round(share * of)
    if not 0 < size < len(order):
        lack = "measure on" if size == 0 else "learn from"
        problem = f"{name} {share} of {count(of, 'trace')} is {count(size, 'trace')}: nothing is left to {lack}"
        raise UsageError(f"{problem}; add traces (more values of trace_id) or change the share")
    borders = _borders(times[order], [size if by == TRACE else len(order) - size])
    if not borders:
        raise UsageError(f"{name} {share}: all {len(order)} traces end at the same time; drop data.split: time")
    first, last = np.split(order, borders)
    is_split_off = np.zeros(len(order), dtype=bool)
    is_split_off[first if by == TRACE else last] = True
    is_out = is_split_off[groups.candidates.traces]
    return select(groups, np.flatnonzero(~is_out)), select(groups, np.flatnonzero(is_out))


def fold_indices(groups: Groups, folds: int, *, seed: int, by: str) -> Iterator[tuple[IntArray, IntArray]]:
    """For each fold the groups to learn from and the groups to measure on.

    By trace: each fold is measured on once, and learned from in all the others. By time: of folds + 1 blocks, each
    but the first is measured on, and what was learned comes from the earlier ones; no two blocks end a trace together.
    """
    order, times = _in_order(groups, seed, by)
    blocks = folds if by == TRACE else folds + 1
    _refuse_few(len(order), folds, blocks)
    borders = _borders(times[order], _even_borders(len(order), blocks))
    if len(borders) < blocks - 1:
        traces = f"{count(len(order), 'trace')} {'is' if len(order) == 1 else 'are'}"
        raise UsageError(f"folds is {folds}; {traces} at too few different times for them")
    block_of_trace = np.empty(len(order), dtype=np.int64)
    block_of_trace[order] = np.searchsorted(borders, np.arange(len(order)), side="right")
    block = block_of_trace[groups.candidates.traces]
    for fold in range(folds):
        if by == TRACE:
            yield np.flatnonzero(block != fold), np.flatnonzero(block == fold)
        else:
            yield np.flatnonzero(block <= fold), np.flatnonzero(block == fold + 1)


def fold_borders(digests: TraceDigests, folds: int) -> TraceDigests:
    """The digest with which each fold but the first begins: those of `fold_indices` by trace, for traces in shards.

    >>> fold_borders(np.array([5, 1, 4, 9], dtype=np.uint64), 2).tolist()
    [5]
    """
    _refuse_few(len(digests), folds, folds)
    return np.sort(digests)[_even_borders(len(digests), folds)]


def _refuse_few(traces: int, folds: int, blocks: int) -> None:
    if traces < blocks:
        raise UsageError(
            f"folds is {folds}; {count(traces, 'trace')} {'is' if traces == 1 else 'are'} too few for them"
        )


def _even_borders(traces: int, blocks: int) -> list[int]:
    """Where each block of traces but the first begins."""
    return [-(-block * traces // blocks) for block in range(1, blocks)]


def count_earlier(learned: Groups, measured: Groups) -> int:
    """How many groups to measure on are no later than the newest to learn from: their traces began before."""
    if learned.times is None or measured.times is None:
        return 0
    return int((measured.times <= learned.times.max()).sum())


def earlier_warnings(name: str, earlier: int, of: int) -> Iterator[str]:
    """A warning where `earlier` of the held-out queries are no later than the newest training query.

    >>> list(earlier_warnings("test", 2, 10))
    ['test: 2 of 10 queries are no later than the newest training query: traces stay whole, and theirs began before']
    """
    if earlier:
        are = f"{earlier:,} of {of:,} queries {'is' if earlier == 1 else 'are'} no later than the newest training query"
        yield f"{name}: {are}: traces stay whole, and theirs began before"


def _borders(times: FloatArray, wanted: list[int]) -> list[int]:
    """The wanted borders, each moved to the nearest change of time, the earlier of two; equal ones become one.

    >>> _borders(np.array([1.0, 1.0, 2.0, 2.0, 2.0, 3.0]), [3])
    [2]
    """
    if np.isnan(times).any():  # not by time
        return wanted
    changes = np.flatnonzero(np.diff(times)) + 1
    return sorted({int(changes[np.argmin(np.abs(changes - border))]) for border in wanted}) if len(changes) else []


def _in_order(groups: Groups, seed: int, by: str) -> tuple[IntArray, FloatArray]:
    """The traces by a hash of their id with the seed, or by their latest time, and these times; NaN: not by time."""
    digests = trace_digests(groups.candidates.trace_ids, seed)
    if by != TIME:
        return np.argsort(digests, kind="stable"), np.full(len(digests), np.nan)
    if groups.times is None or np.isnan(groups.times).any():
        missing = 0 if groups.times is None else int(np.argmax(np.isnan(groups.times)))
        path, line = groups.candidates.place(int(groups.offsets[missing]))
        raise DataError(f"{path}:{line}: time: missing; data.split is time, and every group needs one")
    latest = np.full(len(digests), -np.inf)
    np.maximum.at(latest, groups.candidates.traces, groups.times)
    return np.lexsort((digests, latest)), latest


def trace_digests(trace_ids: Iterable[str], seed: int) -> TraceDigests:
    """A hash of each id with the seed; traces are dealt in the order of these numbers."""
    hashes = (hashlib.blake2b(f"{seed}:{trace}".encode(), digest_size=8).digest() for trace in trace_ids)
    return np.frombuffer(b"".join(hashes), dtype=">u8").astype(np.uint64)
