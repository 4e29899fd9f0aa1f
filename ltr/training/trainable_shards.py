"""Groups to train on in shards: each is read for a pass and given back, and what is summed is added in their order."""

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from typing import Protocol, Self

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, vanishing
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.errors import DataError
from ltr.training.trainable_groups import CheckedGroups, Columns, Result, Skipped, Trainable, nothing_trains, total_mass

KEPT_NUMBERS = 1 << 23  # of phi: fewer in all shards together stay in memory between the passes


@dataclass(frozen=True, slots=True, eq=False)
class ShardArrays:
    """Arrays of groups of whole traces, as `fit` takes them."""

    phi: FloatArray
    labels: FloatArray
    offsets: IntArray
    weights: FloatArray | None = None
    score_offset: FloatArray | None = None


class ShardSource(Protocol):
    """Where shards are read from, again in each pass; small, as it travels to whoever reads them."""

    def __len__(self) -> int: ...

    def shard(self, number: int) -> ShardArrays:
        """The arrays of that shard."""


@dataclass(frozen=True, slots=True, eq=False)
class ShardReference:
    """A shard to be read: its number and all that its groups depend on beyond it."""

    source: ShardSource
    number: int
    first: int  # of its groups that can train, the place of the first among those of all shards
    largest: float  # weight of a group
    total: float  # of all weights, as shares of the largest
    targets_are: str
    equal_weights: int = 0  # how many groups share the weight evenly; 0: each has its own
    changes: tuple[Columns, ...] = ()  # of the columns, one after the other

    def read(self) -> Trainable:
        """The groups of the shard that can train."""
        shard = self.source.shard(self.number)
        groups = checked_shard(shard, self.targets_are).trainable(self.largest, self.total, first=self.first)
        for change in self.changes:
            groups = groups.with_columns(change, 0)
        if self.equal_weights:
            groups = replace(groups, weights=np.full(len(groups), 1 / self.equal_weights))
        return groups


def checked_shard(shard: ShardArrays, targets_are: str) -> CheckedGroups:
    """The groups of a shard that can train, after checks."""
    weights, score_offset, arrays = shard.weights, shard.score_offset, (shard.phi, shard.labels, shard.offsets)
    return CheckedGroups.of(*arrays, weights=weights, score_offset=score_offset, targets_are=targets_are)


def on_shard(function: Callable[[Trainable], Result], reference: ShardReference) -> Result:
    """What the function says of the groups of a shard."""
    return function(reference.read())


@dataclass(frozen=True, slots=True, eq=False)
class TrainableShards:
    """The groups to train on in shards: what `Trainable` is in one."""

    references: tuple[ShardReference, ...]  # of shards with groups that can train
    weights: FloatArray
    trains: BoolArray
    origins: IntArray
    skipped: Skipped
    rows: int
    columns: int
    engine: Engine = IN_PROCESS
    kept: dict[int, Trainable] = field(default_factory=dict)  # where all of them are few

    def __len__(self) -> int:
        return len(self.weights)

    def map(self, function: Callable[[Trainable], Result]) -> Iterator[Result]:
        """What the function says of each shard, in order."""
        if self.engine is not IN_PROCESS or self.rows * self.columns > KEPT_NUMBERS:
            return self.engine.map(partial(on_shard, function), self.references)
        return map(function, map(self._kept, self.references))

    def _kept(self, reference: ShardReference) -> Trainable:
        if reference.number not in self.kept:
            self.kept[reference.number] = reference.read()
        return self.kept[reference.number]

    def with_columns(self, change: Columns, columns: int) -> Self:
        """The same groups with other columns, so many of them."""
        changed = tuple(replace(shard, changes=(*shard.changes, change)) for shard in self.references)
        return replace(self, references=changed, columns=columns, kept={})

    def with_equal_weights(self) -> Self:
        """The same groups, all with the same weight."""
        number = len(self)
        equal = tuple(replace(shard, equal_weights=number) for shard in self.references)
        return replace(self, references=equal, weights=np.full(number, 1 / number), kept={})


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a first pass finds in a shard."""

    trains: BoolArray
    origins: IntArray
    masses: FloatArray  # of the groups that can train
    skipped: Skipped
    rows: int  # of these groups
    columns: int


def _counted(number: int, source: ShardSource, targets_are: str) -> _Counted:
    checked = checked_shard(source.shard(number), targets_are)
    rows, columns = len(checked.labels), checked.phi.shape[1]
    return _Counted(checked.trains, checked.origins, checked.masses, checked.skipped, rows, columns)


def trainable_shards(
    source: ShardSource, *, targets_are: str = "label", engine: Engine = IN_PROCESS
) -> TrainableShards:
    """The groups of all shards that can train, after checks, as `trainable` gives them for arrays."""
    counted = partial(_counted, source=source, targets_are=targets_are)
    parts = list(engine.map(counted, range(len(source))))
    if not parts:
        raise DataError("no group can train: there are no groups")
    skipped = Skipped(*map(sum, zip(*(astuple(part.skipped) for part in parts), strict=True)))
    masses = np.concatenate([part.masses for part in parts])
    if not len(masses):
        raise nothing_trains(skipped)
    if problem := vanishing(masses)[1]:
        raise DataError(f"weights: {problem}")
    largest, total = total_mass(masses)
    firsts = np.cumsum([0, *(len(part.masses) for part in parts)]).tolist()
    references = tuple(
        ShardReference(source, number, firsts[number], largest, total, targets_are)
        for number, part in enumerate(parts)
        if len(part.masses)
    )
    weights = masses / largest
    weights /= total
    trains = np.concatenate([part.trains for part in parts])
    before = np.cumsum([0, *(len(part.trains) for part in parts)]).tolist()
    origins = np.concatenate([part.origins + first for part, first in zip(parts, before[:-1], strict=True)])
    rows = sum(part.rows for part in parts)
    return TrainableShards(references, weights, trains, origins, skipped, rows, parts[0].columns, engine)
