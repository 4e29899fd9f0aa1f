"""Copies of groups without their right candidates: queries for which none is right, where a log has no such queries."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from ltr.arrays import BoolArray, IntArray
from ltr.data.groups import Groups, take
from ltr.data.shards import Shards
from ltr.data.text_hashes import Hashes, hashed, mixed
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.errors import DataError


@dataclass(frozen=True, slots=True)
class Removal:
    """Which groups are copied: those whose key is at most this one."""

    seed: int
    last: int

    def rest(self, groups: Groups) -> Groups:
        """Return all groups less one wrong candidate each."""
        right, usable, _ = self._usable(groups)
        sizes, is_right = np.diff(groups.offsets), groups.labels > 0
        names = hashed(groups.candidates.name_texts)[groups.candidates.names]
        rows = mixed(mixed(np.repeat(_keys(groups, self.seed), sizes)) ^ names).astype(np.float64)
        rows[is_right] = np.inf  # the right ones stay
        owner = np.repeat(np.arange(len(sizes)), sizes)
        order = np.lexsort((rows, owner))
        place = np.empty(len(rows), dtype=np.int64)
        place[order] = np.arange(len(rows)) - groups.offsets[owner]
        is_left_out = (place < np.minimum(right, sizes - right)[owner]) & ~is_right
        return of_rows(groups, ~is_left_out, usable)

    def copies(self, groups: Groups) -> Groups:
        """Return copies of some groups less their right candidates."""
        _, usable, keys = self._usable(groups)
        return of_rows(groups, groups.labels <= 0, usable[keys <= np.uint64(self.last)])

    def _usable(self, groups: Groups) -> tuple[IntArray, IntArray, Hashes]:
        right, usable = _usable(groups)
        return right, usable, _keys(groups, self.seed)[usable]


def removal_of(shards: Shards, share: float, *, seed: int, engine: Engine = IN_PROCESS) -> Removal:
    """Return which groups are copied less their right candidates: a share of those with something right and wrong.

    Of several right candidates all go, and as many wrong ones, so that the length of a list tells nothing. Which
    groups are copied, and which candidate goes, follows from a hash of the seed, the group's key and the candidate's
    name: the order of groups moves nothing. Groups with nothing right, or nothing wrong, are in neither.

    >>> from ltr.data.candidates import tool_candidates
    >>> from ltr.data.shards import Whole
    >>> from ltr.data.tool_texts import ToolText
    >>> one = tool_candidates("weather?", {"a": ToolText(), "b": ToolText(), "c": ToolText()})
    >>> groups = Groups(one, np.array([1.0, 0.0, 0.0]), one.offsets)
    >>> removal = removal_of(Whole(groups), 0.5, seed=0)
    >>> removal.rest(groups).labels, removal.copies(groups).labels
    (array([1., 0.]), array([0., 0.]))
    """
    keys = np.concatenate(list(engine.map(partial(_usable_keys, shards, seed), range(len(shards)))))
    if not len(keys):
        raise DataError("none from removed: no query has both a right candidate, which goes, and a wrong one")
    return Removal(seed, int(np.sort(keys)[max(round(share * len(keys)), 1) - 1]))


def _usable_keys(shards: Shards, seed: int, number: int) -> Hashes:
    groups = shards[number]
    return _keys(groups, seed)[_usable(groups)[1]]


def _usable(groups: Groups) -> tuple[IntArray, IntArray]:
    """How many right candidates each group has, and the places of those that have a wrong one, too."""
    right = np.add.reduceat((groups.labels > 0).astype(np.int64), groups.offsets[:-1])
    return right, np.flatnonzero((right > 0) & (right < np.diff(groups.offsets)))


def _keys(groups: Groups, seed: int) -> Hashes:
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
