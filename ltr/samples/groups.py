"""Groups: the candidates of each query and their labels, as columns with offsets; whole, or in shards.

Shards are the one road for data: memory is a list of one shard, a directory of columns has many.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ltr.arrays import LARGEST, Array, FloatArray, IntArray, as_weights, offsets_of, ragged
from ltr.errors import DataError, count
from ltr.hashes import hashed, mixed
from ltr.samples.candidates import Candidates
from ltr.samples.columns import (
    NEEDED,
    NO_CODES,
    Axis,
    Column,
    Places,
    Texts,
    at,
    at_least,
    columns,
    packed,
    places_in,
    read,
    stacked,
)

ABSENT, WRONG, RIGHT = range(3)  # of a group: it has no {"none": true} with a label, or one with label 0, or 1
WEIGHTS = Column("groups", absent=1.0, check=lambda _, column, offsets: as_weights(column, int(offsets[-1])))
TIMES = Column("groups", absent=np.nan, check=at_least(-LARGEST))
NONE = Column("groups", absent=ABSENT, check=places_in((ABSENT, WRONG, RIGHT)))
OUTCOMES = Texts("groups", absent="")


@dataclass(frozen=True, slots=True, eq=False)
class Groups:
    """Candidates with their labels, weights and times.

    A column that is None says the same of every group: weight 1, no time, none ABSENT, no outcome.
    """

    candidates: Candidates
    labels: FloatArray = field(metadata={"column": Column("rows", check=at_least(0.0))})  # NaN where a line has none
    offsets: IntArray  # those of the candidates
    weights: FloatArray | None = field(default=None, metadata={"column": WEIGHTS})  # above 0
    times: FloatArray | None = field(default=None, metadata={"column": TIMES})  # seconds since 1970
    none: IntArray | None = field(default=None, metadata={"column": NONE})  # RIGHT: nothing offered is right
    none_groups: "Groups | None" = None  # those that were left out because none is right
    outcomes: tuple[str, ...] | None = field(default=None, metadata={"column": OUTCOMES})  # their ids

    @property
    def group_weights(self) -> FloatArray:
        """The weight of each group."""
        return np.ones(self.num_groups) if self.weights is None else self.weights

    @property
    def num_none(self) -> int:
        """How many groups were left out because none is right."""
        return 0 if self.none_groups is None else self.none_groups.num_groups

    @property
    def num_groups(self) -> int:
        """How many groups there are."""
        return len(self.offsets) - 1

    @property
    def right_rows(self) -> IntArray:
        """The rows whose candidate was right."""
        return np.flatnonzero(self.labels > 0)

    @property
    def fingerprint(self) -> str:
        """A digest of the keys of all groups and the names and labels of their candidates, in any order.

        Sixteen digits that are equal where two runs answered the same queries: the sum of a hash of each row, so that
        the order of groups and rows changes nothing. It shows an accidental change; it does not resist a forger.
        """
        candidates = self.candidates
        traces, nodes = hashed(candidates.trace_ids)[candidates.traces], hashed(candidates.node_ids)
        keys = mixed(mixed(traces) + nodes)
        rows = np.repeat(keys, np.diff(self.offsets)) ^ mixed(hashed(candidates.name_texts))[candidates.names]
        labelled = mixed(mixed(rows) + (self.labels + 0.0).view(np.uint64))  # + 0.0: -0.0 is 0.0
        return f"{int(np.add.reduce(labelled)):016x}"

    def select(self, indices: IntArray) -> "Groups":
        """Return the groups at the indices, in that order, with the tables cut to what they use.

        So a text that only groups of the test set have is not there to be learned from.
        """
        sizes = np.diff(self.offsets)[indices]
        owner, within = ragged(sizes)
        return self.take(indices, self.offsets[indices][owner] + within, sizes)

    def take(self, indices: IntArray, rows: IntArray, sizes: IntArray) -> "Groups":
        """Return the groups at the indices with these rows, so many each, and the tables cut to what they use."""
        candidates = self.candidates.take(indices, rows, sizes)
        places: Places = {"groups": indices, "rows": rows}
        return Groups(candidates, offsets=candidates.offsets, **at(Groups, self, places, cut=True))

    def without_numbers(self) -> "Groups":
        """Return the groups without ready numbers, so that features can be fitted to them anew."""
        candidates, none = self.candidates, self.none_groups
        if candidates.kind == "graph" and candidates.graphs.size < candidates.names.size:
            problem = "without the graphs themselves, as an earlier version wrote it; featurize again"
            raise DataError(f"{self.shown_files}: {problem}")
        plain = replace(candidates, features=None, feature_names=(), fit="", are_applied=False)
        return replace(self, candidates=plain, none_groups=None if none is None else none.without_numbers())

    def without_traces(self, names: set[str]) -> "Groups":
        """Return the groups of all other traces."""
        ids = self.candidates.trace_ids
        if names.isdisjoint(ids):
            return self
        stays = np.array([name not in names for name in ids])[self.candidates.traces]
        return replace(self.select(np.flatnonzero(stays)), none_groups=self.none_groups)

    def without_none(self) -> "Groups":
        """Return the groups for which something offered may be right, and beside them those for which none is."""
        if self.none is None or not (is_none := self.none == RIGHT).any():
            return self
        number = int(is_none.sum())
        if number == len(is_none):
            problem = f"none is right in {count(number, 'group')}, and there is no other to use"
            raise DataError(f"{self.shown_files}: {problem}")
        return replace(self.select(np.flatnonzero(~is_none)), none_groups=self.select(np.flatnonzero(is_none)))

    def to_learn(self) -> "Groups":
        """Return `without_none`, of a shard: it may hold no group for which something offered may be right."""
        if self.none is None or not len(self.none) or not (self.none == RIGHT).all():
            return self.without_none()
        return replace(self.select(NO_CODES), none_groups=self)

    def left_out(self) -> "Groups":
        """Return the groups that were left out because none is right."""
        return self.select(NO_CODES) if self.none_groups is None else self.none_groups

    @property
    def shown_files(self) -> str:
        """The files of the groups, as messages name them."""
        return ", ".join(file.path for file in self.candidates.files)

    def arrays(self) -> dict[str, Array]:
        """Return the groups as arrays by name, texts packed; without ready numbers, lines, and what is said of all."""
        pairs: list[tuple[Column, Any]] = [(column, self.candidates) for column in columns(Candidates)]
        pairs += [(column, self) for column in columns(Groups)]
        # what candidates may lack came into the format last: equal groups have equal bytes in all versions
        pairs.sort(key=lambda pair: pair[1] is self.candidates and pair[0].absent is not NEEDED)
        return {"offsets": self.offsets} | packed(pairs)

    @staticmethod
    def axes() -> dict[str, Axis]:
        """Return whether each array of a file has an entry for each group or for each row."""
        return {column.name: column.axis for column in (*columns(Groups), *columns(Candidates))}

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Array], offsets: IntArray, **of_all: Any) -> "Groups":
        """Return the groups of `arrays`, with fields of all candidates; an error of any kind where they do not fit."""
        lines = np.ones(int(offsets[-1]), dtype=np.int64)
        candidates = Candidates(offsets=offsets, **{"lines": lines, **read(Candidates, arrays, offsets), **of_all})
        return Groups(candidates, offsets=offsets, **read(Groups, arrays, offsets))

    @classmethod
    def stack(cls, parts: "Sequence[Groups]") -> "Groups":
        """Return the groups of all parts, one after the other; lines of later parts have no place in the files."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0].candidates
        sizes: dict[Axis, list[int]] = {
            "groups": [part.num_groups for part in parts],
            "rows": [len(part.labels) for part in parts],
        }
        offsets = offsets_of(np.concatenate([np.diff(part.offsets) for part in parts]))
        together = stacked(Candidates, [part.candidates for part in parts], sizes)
        if len(first.lines):
            together["lines"][len(first.lines) :] = first.lines[0]
        nones = [part.none_groups for part in parts if part.none_groups is not None and len(part.none_groups.labels)]
        return Groups(
            replace(first, offsets=offsets, **together),
            offsets=offsets,
            none_groups=cls.stack(nones) if nones else None,
            **stacked(Groups, parts, sizes),
        )


def none_warnings(num_none: int, of: str = "") -> Iterator[str]:
    """Warn of so many groups that were left out because none is right; `of`: their data, such as "test data: "."""
    if num_none:
        yield f"{of}none: {count(num_none, 'group')}, not used: nothing offered is right"


class Shards(ABC):
    """Groups of whole traces, each shard read when it is asked for; a shard may hold no group.

    What travels to other processes is where a shard lies, never its rows.
    """

    __slots__ = ()

    @abstractmethod
    def __len__(self) -> int:
        """How many shards there are."""

    @abstractmethod
    def __getitem__(self, number: int, /) -> Groups:
        """Return the groups of a shard."""

    def __iter__(self) -> Iterator[Groups]:
        return (self[number] for number in range(len(self)))

    def changed(self, change: Callable[[Groups], Groups]) -> "Shards":
        """Return the shards after a change of each, which is made whenever one is read."""
        return Changed(self, change)

    def picked(self, places: IntArray, sizes: Sequence[int]) -> "Shards":
        """Return some of the groups, by their places among those of all shards, which have so many."""
        firsts = np.cumsum([0, *sizes])
        ends = np.searchsorted(places, firsts)
        of_shards = zip(ends[:-1], ends[1:], firsts[:-1], strict=True)
        return Picked(self, tuple(places[begin:end] - first for begin, end, first in of_shards))

    def count_groups(self) -> int:
        """Count the groups of all shards."""
        return sum(self[number].num_groups for number in range(len(self)))

    def extent(self) -> tuple[int, float]:
        """Return the candidates of the longest group, and the greatest label."""
        longest, greatest = 0, 0.0
        for number in range(len(self)):
            groups = self[number]
            longest = max(longest, int(np.diff(groups.offsets).max(initial=0)))
            greatest = max(greatest, float(np.nanmax(groups.labels, initial=0.0)))
        return longest, greatest


@dataclass(frozen=True, slots=True, eq=False)
class Whole(Shards):
    """Groups in memory: the only shard."""

    groups: Groups

    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> Groups:
        return (self.groups,)[number]

    def changed(self, change: Callable[[Groups], Groups]) -> "Whole":
        """Return the groups after the change, which is made at once."""
        return Whole(change(self.groups))

    def picked(self, places: IntArray, sizes: Sequence[int]) -> "Whole":  # noqa: ARG002 - of all shards
        """Return the groups at the places."""
        return Whole(self.groups.select(places))


@dataclass(frozen=True, slots=True, eq=False)
class Picked(Shards):
    """Some of the groups of each shard."""

    shards: Shards
    places: tuple[IntArray, ...]  # of each shard

    def __len__(self) -> int:
        return len(self.shards)

    def __getitem__(self, number: int) -> Groups:
        return self.shards[number].select(self.places[number])


@dataclass(frozen=True, slots=True, eq=False)
class Changed(Shards):
    """Shards of which something is made whenever one is read."""

    shards: Shards
    change: Callable[[Groups], Groups]

    def __len__(self) -> int:
        return len(self.shards)

    def __getitem__(self, number: int) -> Groups:
        return self.change(self.shards[number])
