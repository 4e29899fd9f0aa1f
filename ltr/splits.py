"""Traces dealt: into shares that are split off and into folds, by a hash or by time; none lies on both sides."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import DataError, UsageError, count
from ltr.hashes import Hashes, hashed
from ltr.samples import Candidates, Groups, Shards

TRACE, TIME = "trace", "time"
CROSS_FITTED = 10  # folds
FEWEST_TRACES = 20  # below: a fold for each trace


@dataclass(frozen=True, slots=True, eq=False)
class Traces:
    """What dealing reads of the traces of shards, which stand in the order of their first groups."""

    keys: Hashes
    ranks: Hashes  # a hash of each id with the seed: the order in which traces are dealt
    latest: FloatArray  # the latest time of each; NaN: they are not dealt by time

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def order(self) -> IntArray:
        """Return the places of the traces by their latest time, then by rank."""
        is_by_time = not np.isnan(self.latest).any()
        return np.lexsort((self.ranks, self.latest)) if is_by_time else np.argsort(self.ranks, kind="stable")


@dataclass(frozen=True, slots=True, eq=False)
class Dealt:
    """The block of each trace, counted from 0."""

    keys: Hashes  # rising
    blocks: IntArray

    @classmethod
    def of(cls, keys: Hashes, blocks: IntArray) -> "Dealt":
        """Return the dealing of traces in any order."""
        order = np.argsort(keys, kind="stable")
        return cls(keys[order], blocks[order])

    def of_traces(self, keys: Hashes) -> IntArray:
        """Return the block of each trace."""
        blocks: IntArray = self.blocks[np.searchsorted(self.keys, keys)]
        return blocks

    def of_groups(self, candidates: Candidates) -> IntArray:
        """Return the block of each group, which is that of its trace."""
        blocks: IntArray = self.of_traces(hashed(candidates.trace_ids))[candidates.traces]
        return blocks


@dataclass(frozen=True, slots=True, eq=False)
class Side:
    """The groups whose traces lie in some of the blocks."""

    dealt: Dealt
    blocks: tuple[int, ...]

    def holds(self, candidates: Candidates) -> IntArray:
        """Return the places of these groups."""
        return np.flatnonzero(np.isin(self.dealt.of_groups(candidates), self.blocks))

    def __call__(self, groups: Groups) -> Groups:
        """Select these groups of a shard."""
        return groups.select(self.holds(groups.candidates))


def traces_of(shards: Shards, *, seed: int = 0, by: str = TRACE, engine: Engine = IN_PROCESS) -> Traces:
    """Return what dealing reads of the traces of all shards."""
    parts = list(engine.map(partial(_traces_of_shard, shards, seed, by), range(len(shards))))
    return Traces(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))


def _traces_of_shard(shards: Shards, seed: int, by: str, number: int) -> tuple[Hashes, Hashes, FloatArray]:
    groups = shards[number]
    ids = groups.candidates.trace_ids
    latest = np.full(len(ids), np.nan)
    if by == TIME and len(ids):
        if groups.times is None or np.isnan(groups.times).any():
            missing = 0 if groups.times is None else int(np.argmax(np.isnan(groups.times)))
            path, line = groups.candidates.place(int(groups.offsets[missing]))
            raise DataError(f"{path}:{line}: time: missing; data.split is time, and every group needs one")
        latest = np.full(len(ids), -np.inf)
        np.maximum.at(latest, groups.candidates.traces, groups.times)
    return hashed(ids), trace_ranks(ids, seed), latest


def trace_ranks(trace_ids: Iterable[str], seed: int) -> Hashes:
    """Return a hash of each id with the seed; traces are dealt in the order of these numbers."""
    return hashed(f"{seed}:{trace}" for trace in trace_ids).byteswap()


def hash_blocks(names: Iterable[str], blocks: int, salt: bytes = b"") -> IntArray:
    """Return a block for each name that follows from the name alone: neither order nor other names move it.

    >>> hash_blocks(["t1", "t2", "t3"], 10)
    array([7, 0, 0])
    """
    digests = (hashlib.blake2b(name.encode(), digest_size=8, salt=salt).digest() for name in names)
    return np.array([int.from_bytes(digest, "little") % blocks for digest in digests], dtype=np.int64)


def hash_folds(keys: Hashes, side: Side | None = None) -> IntArray:
    """Deal the traces of a side, given by hashes, into the folds of cross-fitting; those of other sides get -1.

    The hash alone says the fold, so that neither order nor shards move it; of few traces each is a fold.

    >>> hash_folds(np.arange(20, 44, 2, dtype=np.uint64))
    array([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11])
    >>> hash_folds(np.arange(20, 64, 2, dtype=np.uint64))[:7]
    array([0, 1, 2, 3, 4, 0, 1])
    """
    inside = np.arange(len(keys))
    if side is not None:
        inside = np.flatnonzero(np.isin(side.dealt.of_traces(keys), side.blocks))
    folds = np.full(len(keys), -1)
    folds[inside] = np.arange(len(inside))
    if len(inside) >= FEWEST_TRACES:
        folds[inside] = np.unique(keys[inside] % np.uint64(CROSS_FITTED), return_inverse=True)[1]
    return folds


def in_turn(first: Hashes, then: Hashes, blocks: int) -> Dealt:
    """Deal traces one to each block in turn, by their hashes: the first ones, then those of others that are none."""
    known, others = (np.sort(keys.byteswap()).byteswap() for keys in (np.unique(first), np.setdiff1d(then, first)))
    keys = np.concatenate([known, others])
    return Dealt.of(keys, np.arange(len(keys)) % blocks)


def split_off(
    shards: Shards, share: float, name: str, *, seed: int, by: str, of: int, engine: Engine = IN_PROCESS
) -> tuple[Shards, Shards]:
    """Return the groups that stay, and those of a share of `of` traces: drawn by the seed, or the latest.

    By time traces stand in the order of their latest time, and the border moves to the nearest change of it: no trace
    that is split off ends before, or with, one that stays. It may have begun before: see `count_earlier`.
    """
    traces = traces_of(shards, seed=seed, by=by, engine=engine)
    size = round(share * of)
    if not 0 < size < len(traces):
        lack = "measure on" if size == 0 else "learn from"
        problem = f"{name} {share} of {count(of, 'trace')} is {count(size, 'trace')}: nothing is left to {lack}"
        raise UsageError(f"{problem}; add traces (more values of trace_id) or change the share")
    dealt = in_blocks(traces, [size if by == TRACE else len(traces) - size])
    if not dealt.blocks.any():
        raise UsageError(f"{name} {share}: all {len(traces)} traces end at the same time; drop data.split: time")
    out, stays = (0, 1) if by == TRACE else (1, 0)
    return shards.changed(Side(dealt, (stays,))), shards.changed(Side(dealt, (out,)))


def in_blocks(traces: Traces, wanted: Sequence[int]) -> Dealt:
    """Deal traces in their order, a new block from each of the wanted borders on.

    By time a border moves to the nearest change of time, the earlier of two; equal ones become one.

    >>> by_time = Traces(np.arange(6, dtype=np.uint64), np.zeros(6, dtype=np.uint64), np.array([1.0, 1, 2, 2, 2, 3]))
    >>> in_blocks(by_time, [3]).blocks
    array([0, 0, 1, 1, 1, 1])
    """
    order, borders = traces.order, list(wanted)
    if not np.isnan(traces.latest).any():
        changes = np.flatnonzero(np.diff(traces.latest[order])) + 1
        borders = sorted({int(changes[np.argmin(np.abs(changes - one))]) for one in wanted}) if len(changes) else []
    blocks = np.empty(len(order), dtype=np.int64)
    blocks[order] = np.searchsorted(borders, np.arange(len(order)), side="right")
    return Dealt.of(traces.keys, blocks)


def fold_sides(
    shards: Shards, folds: int, *, seed: int, by: str, engine: Engine = IN_PROCESS
) -> list[tuple[Side, Side]]:
    """Return for each fold the groups to learn from and the groups to measure on.

    By trace: each fold is measured on once, and learned from in all the others. By time: of folds + 1 blocks, each
    but the first is measured on, and what was learned comes from the earlier ones; no two blocks end a trace together.
    """
    traces, blocks = traces_of(shards, seed=seed, by=by, engine=engine), folds if by == TRACE else folds + 1
    are = f"{count(len(traces), 'trace')} {'is' if len(traces) == 1 else 'are'}"
    if len(traces) < blocks:
        raise UsageError(f"folds is {folds}; {are} too few for them")
    dealt = in_blocks(traces, [-(-block * len(traces) // blocks) for block in range(1, blocks)])
    if dealt.blocks.max() < blocks - 1:
        raise UsageError(f"folds is {folds}; {are} at too few different times for them")
    everything = range(blocks)
    if by == TRACE:
        sides = [(tuple(block for block in everything if block != fold), (fold,)) for fold in range(folds)]
    else:
        sides = [(tuple(everything[: fold + 1]), (fold + 1,)) for fold in range(folds)]
    return [(Side(dealt, learned), Side(dealt, measured)) for learned, measured in sides]


def count_earlier(learned: Shards, measured: Shards) -> int:
    """Count the groups to measure on that are no later than the newest to learn from: their traces began before."""
    times = [[shards[number].times for number in range(len(shards))] for shards in (learned, measured)]
    newest, to_measure = ([of for of in side if of is not None and len(of)] for side in times)
    if not newest or not to_measure:
        return 0
    return int((np.concatenate(to_measure) <= max(of.max() for of in newest)).sum())


def earlier_warnings(name: str, earlier: int, of: int) -> Iterator[str]:
    """Warn where `earlier` of the held-out queries are no later than the newest training query.

    >>> list(earlier_warnings("test", 2, 10))
    ['test: 2 of 10 queries are no later than the newest training query: traces stay whole, and theirs began before']
    """
    if earlier:
        are = f"{earlier:,} of {of:,} queries {'is' if earlier == 1 else 'are'} no later than the newest training query"
        yield f"{name}: {are}: traces stay whole, and theirs began before"
