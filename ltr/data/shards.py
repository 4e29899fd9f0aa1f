"""Groups in shards: the one road for data. Memory is a list of one shard, a directory of columns has many."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from ltr.arrays import IntArray
from ltr.data.groups import Groups, select


class Shards(Protocol):
    """Groups of whole traces, each shard read when it is asked for; a shard may hold no group.

    What travels to other processes is where a shard lies, never its rows.
    """

    def __len__(self) -> int:
        """How many shards there are."""
        ...

    def __getitem__(self, number: int, /) -> Groups:
        """The groups of a shard."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Whole:
    """Groups in memory: the only shard."""

    groups: Groups

    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> Groups:
        return (self.groups,)[number]


@dataclass(frozen=True, slots=True, eq=False)
class Picked:
    """Some of the groups of each shard."""

    shards: Shards
    places: tuple[IntArray, ...]  # of each shard

    def __len__(self) -> int:
        return len(self.shards)

    def __getitem__(self, number: int) -> Groups:
        return select(self.shards[number], self.places[number])


@dataclass(frozen=True, slots=True, eq=False)
class Changed:
    """Shards of which something is made whenever one is read."""

    shards: Shards
    change: Callable[[Groups], Groups]

    def __len__(self) -> int:
        return len(self.shards)

    def __getitem__(self, number: int) -> Groups:
        return self.change(self.shards[number])


def count_groups(shards: Shards) -> int:
    """Count the groups of all shards."""
    return sum(len(shards[number].offsets) - 1 for number in range(len(shards)))


@runtime_checkable
class Extended(Protocol):
    """Shards that know their extent without reading all that they hold."""

    def extent(self) -> tuple[int, float]:
        """Return the candidates of the longest group, and the greatest label."""
        ...


def extent(shards: Shards) -> tuple[int, float]:
    """Return the candidates of the longest group, and the greatest label."""
    if isinstance(shards, Extended):
        return shards.extent()
    longest, greatest = 0, 0.0
    for number in range(len(shards)):
        groups = shards[number]
        longest = max(longest, int(np.diff(groups.offsets).max(initial=0)))
        greatest = max(greatest, float(np.nanmax(groups.labels, initial=0.0)))
    return longest, greatest


def changed(shards: Shards, change: Callable[[Groups], Groups]) -> Shards:
    """Return the shards after a change of each: of groups in memory at once, of others whenever one is read."""
    return Whole(change(shards.groups)) if isinstance(shards, Whole) else Changed(shards, change)


def picked(shards: Shards, places: IntArray, sizes: Sequence[int]) -> Shards:
    """Return some of the groups, by their places among those of all shards, which have so many."""
    if isinstance(shards, Whole):
        return Whole(select(shards.groups, places))
    firsts = np.cumsum([0, *sizes])
    ends = np.searchsorted(places, firsts)
    of_shards = zip(ends[:-1], ends[1:], firsts[:-1], strict=True)
    return Picked(shards, tuple(places[begin:end] - first for begin, end, first in of_shards))
