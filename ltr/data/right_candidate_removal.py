"""Copies of groups without their right candidates: queries for which none is right, where a log has no such queries."""

from dataclasses import replace

import numpy as np

from ltr.arrays import BoolArray, IntArray
from ltr.data.groups import Groups, take
from ltr.data.text_hashes import hashed, mixed
from ltr.errors import DataError


def removed(groups: Groups, share: float, *, seed: int) -> tuple[Groups, Groups]:
    """All groups less one wrong candidate each, and copies of a share of them less the right one instead.

    Of several right candidates all go, and as many wrong ones, so that the length of a list tells nothing. Which
    groups are copied, and which candidate goes, follows from a hash of the seed, the group's key and the candidate's
    name: the order of groups moves nothing. Groups with nothing right, or nothing wrong, are in neither.

    >>> from ltr.data.candidates import tool_candidates
    >>> from ltr.data.tool_texts import ToolText
    >>> one = tool_candidates("weather?", {"a": ToolText(), "b": ToolText(), "c": ToolText()})
    >>> rest, copies = removed(Groups(one, np.array([1.0, 0.0, 0.0]), one.offsets), 0.5, seed=0)
    >>> rest.labels, copies.labels
    (array([1., 0.]), array([0., 0.]))
    """
    is_right = groups.labels > 0
    starts, sizes = groups.offsets[:-1], np.diff(groups.offsets)
    right = np.add.reduceat(is_right.astype(np.int64), starts)
    usable = np.flatnonzero((right > 0) & (right < sizes))
    if not len(usable):
        raise DataError("none from removed: no query has both a right candidate, which goes, and a wrong one")
    keys = _keys(groups, seed)
    number = max(round(share * len(usable)), 1)
    copied = np.sort(usable[np.argsort(keys[usable], kind="stable")[:number]])
    names = hashed(groups.candidates.name_texts)[groups.candidates.names]
    rows = mixed(mixed(np.repeat(keys, sizes)) ^ names).astype(np.float64)
    rows[is_right] = np.inf  # the right ones stay
    owner = np.repeat(np.arange(len(sizes)), sizes)
    order = np.lexsort((rows, owner))
    place = np.empty(len(rows), dtype=np.int64)
    place[order] = np.arange(len(rows)) - starts[owner]
    is_left_out = (place < np.minimum(right, sizes - right)[owner]) & ~is_right
    return of_rows(groups, ~is_left_out, usable), of_rows(groups, ~is_right, copied)


def _keys(groups: Groups, seed: int) -> "np.ndarray[tuple[int], np.dtype[np.uint64]]":
    """A hash of the seed and the key of each group."""
    candidates = groups.candidates
    pairs = zip(candidates.traces.tolist(), candidates.node_ids, strict=True)
    return mixed(hashed(f"{seed}\0{candidates.trace_ids[trace]}\0{node}" for trace, node in pairs))


def of_rows(groups: Groups, stays: BoolArray, indices: IntArray) -> Groups:
    """Return the groups at the indices with those of their rows that stay, at least one each."""
    chosen = np.zeros(len(groups.offsets) - 1, dtype=bool)
    chosen[indices] = True
    sizes = np.add.reduceat(stays.astype(np.int64), groups.offsets[:-1])
    rows = np.flatnonzero(stays & np.repeat(chosen, np.diff(groups.offsets)))
    return replace(take(groups, indices, rows, sizes[indices]), times=None, none=None, outcomes=None)
