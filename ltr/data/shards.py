"""Groups in shards: the one road for data. Memory is a list of one shard, a directory of columns has many."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from ltr.data.groups import Groups


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
class Changed:
    """Shards of which something is made whenever one is read."""

    shards: Shards
    change: Callable[[Groups], Groups]

    def __len__(self) -> int:
        return len(self.shards)

    def __getitem__(self, number: int) -> Groups:
        return self.change(self.shards[number])


def changed(shards: Shards, change: Callable[[Groups], Groups]) -> Shards:
    """Return the shards after a change of each: of groups in memory at once, of others whenever one is read."""
    return Whole(change(shards.groups)) if isinstance(shards, Whole) else Changed(shards, change)
