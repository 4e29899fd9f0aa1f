"""Groups taken apart by trace, so that no trace stands on both sides: drawn by the seed, or by time."""

import hashlib
from collections.abc import Iterator

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.errors import DataError, UsageError
from ltr.groups import Groups, select

TRACE, TIME = "trace", "time"


def taken_out(groups: Groups, share: float, name: str, *, seed: int, by: str, of: int) -> tuple[Groups, Groups]:
    """The groups that stay, and those of a share of `of` traces: drawn by the seed, or the latest."""
    order, traces = _in_order(groups, seed, by), len(groups.candidates.trace_ids)
    count = round(share * of)
    if not 0 < count < traces:
        raise UsageError(f"{name} {share}: a share of {of} traces leaves one side empty")
    is_out = np.zeros(traces, dtype=bool)
    is_out[order[:count] if by == TRACE else order[-count:]] = True
    out = is_out[groups.candidates.traces]
    return select(groups, np.flatnonzero(~out)), select(groups, np.flatnonzero(out))


def dealt(groups: Groups, folds: int, *, seed: int, by: str) -> Iterator[tuple[IntArray, IntArray]]:
    """Of each fold the groups to learn from and the groups to measure on.

    By trace: each fold is measured on once, and learned from in all the others. By time: of folds + 1 blocks, each
    but the first is measured on, and what was learned comes from the earlier ones.
    """
    order, blocks = _in_order(groups, seed, by), folds if by == TRACE else folds + 1
    if len(order) < blocks:
        raise UsageError(f"folds is {folds}; {len(order)} traces are too few for them")
    block_of_trace = np.empty(len(order), dtype=np.int64)
    block_of_trace[order] = np.arange(len(order)) * blocks // len(order)
    block = block_of_trace[groups.candidates.traces]
    for fold in range(folds):
        if by == TRACE:
            yield np.flatnonzero(block != fold), np.flatnonzero(block == fold)
        else:
            yield np.flatnonzero(block <= fold), np.flatnonzero(block == fold + 1)


def _in_order(groups: Groups, seed: int, by: str) -> IntArray:
    """The traces in the order they are dealt: by a hash of their id with the seed, or by their latest time."""
    trace_ids = groups.candidates.trace_ids
    marks = [hashlib.blake2b(f"{seed}:{trace}".encode(), digest_size=8).digest() for trace in trace_ids]
    latest = _latest(groups).tolist() if by == TIME else [0.0] * len(marks)
    return np.array(sorted(range(len(marks)), key=lambda trace: (latest[trace], marks[trace])), dtype=np.int64)


def _latest(groups: Groups) -> FloatArray:
    """The latest time of each trace."""
    if groups.times is None or np.isnan(groups.times).any():
        missing = 0 if groups.times is None else int(np.argmax(np.isnan(groups.times)))
        path, line = groups.candidates.place(int(groups.offsets[missing]))
        raise DataError(f"{path}:{line}: time: missing; data.split is time, and every group needs one")
    latest = np.full(len(groups.candidates.trace_ids), -np.inf)
    np.maximum.at(latest, groups.candidates.traces, groups.times)
    return latest
