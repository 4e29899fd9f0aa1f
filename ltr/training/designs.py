"""What a training learns from: designs of groups, one in memory or many that are read for a pass and given back.

Groups that cannot move w are left out, and counted.
"""

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, BoolArray, FloatArray, IntArray, as_column, as_matrix, as_weights, offsets_of, vanishing
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import DataError
from ltr.training.groups import Columns, Result, Skipped, Trainable
from ltr.training.targets import APART, apart, shares

MOST_REPEATED = 1 << 29  # numbers of phi (4 GB) that groups taken apart may have
KEPT_NUMBERS = 1 << 23  # of phi: fewer in all designs together stay in memory between the passes


@dataclass(frozen=True, slots=True, eq=False)
class Design:
    """What travels together to a training: the columns of groups of whole traces, and what they are fitted to."""

    phi: npt.ArrayLike  # (rows, features)
    labels: npt.ArrayLike
    offsets: npt.ArrayLike
    weights: npt.ArrayLike | None = None  # of the groups
    score_offset: npt.ArrayLike | None = None  # of the rows, added to the scores while w is learned
    keys: npt.ArrayLike | None = None  # of the rows: the rank of each id, for ties; only a ranking reads it
    traces: npt.ArrayLike | None = None  # of the groups, counted from 0; only standard errors read it


class Designs(Protocol):
    """One design in memory, as a tuple; or many, each read when it is asked for. What travels is where they lie."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int, /) -> Design: ...


def extent_of(designs: Designs) -> tuple[int, float]:
    """Return the rows of the longest group of all designs, and the greatest label.

    >>> extent_of((Design([[0.5], [0.0], [1.0]], [0, 2, 1], [0, 2, 3]), Design([[1.0]], [1], [0, 1])))
    (2, 2.0)
    """
    longest, greatest = 0, 0.0
    for number in range(len(designs)):
        design = designs[number]
        longest = max(longest, int(np.diff(np.asarray(design.offsets)).max(initial=0)))
        greatest = max(greatest, float(np.max(np.asarray(design.labels), initial=0.0)))
    return longest, greatest


def trainable(
    phi: npt.ArrayLike,
    labels: npt.ArrayLike,
    offsets: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    score_offset: npt.ArrayLike | None = None,
    targets_are: str = "label",
) -> Trainable:
    """Return the groups that can train, in their order, after checks; nothing is copied when all of them can."""
    checked = CheckedGroups.of(Design(phi, labels, offsets, weights, score_offset), targets_are)
    if not len(checked.trains):
        raise DataError("no group can train: there are no groups")
    if not checked.trains.any():
        raise nothing_trains(checked.skipped)
    return checked.trainable(*total_mass(checked.masses))


def training_groups(
    designs: Designs, *, targets_are: str = "label", engine: Engine = IN_PROCESS
) -> "Trainable | TrainableShards":
    """Return the groups of all designs that can train, after checks."""
    if isinstance(designs, tuple):
        (one,) = designs
        data, weights = (one.phi, one.labels, one.offsets), one.weights
        return trainable(*data, weights=weights, score_offset=one.score_offset, targets_are=targets_are)
    parts = list(engine.map(partial(_counted, designs, targets_are), range(len(designs))))
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
        ShardReference(designs, number, firsts[number], largest, total, targets_are)
        for number, part in enumerate(parts)
        if len(part.masses)
    )
    weights = masses / largest
    weights /= total
    before = np.cumsum([0, *(len(part.trains) for part in parts)]).tolist()
    return TrainableShards(
        references,
        weights,
        trains=np.concatenate([part.trains for part in parts]),
        origins=np.concatenate([part.origins + first for part, first in zip(parts, before[:-1], strict=True)]),
        skipped=skipped,
        rows=sum(part.rows for part in parts),
        columns=parts[0].columns,
        engine=engine,
    )


@dataclass(frozen=True, slots=True)
class CheckedGroups:
    """The groups that can train, after checks of all that were given; their rows are still where they were given."""

    phi: FloatArray  # of all given rows
    score_offset: FloatArray  # of all given rows; empty without one
    rows: IntArray | BoolArray | None  # those that are trained on, some more than once; None: all
    labels: FloatArray  # of these rows
    offsets: IntArray
    masses: FloatArray  # weights as they were given, divided among the groups of one origin
    origins: IntArray
    trains: BoolArray
    skipped: Skipped
    targets_are: str

    @classmethod
    def of(cls, design: Design, targets_are: str) -> "CheckedGroups":
        """The groups, or the first number that cannot be used.

        With targets `apart` a group with several right candidates becomes as many groups (`targets.apart`).
        """
        phi, offsets = as_matrix("phi", design.phi, design.offsets)
        labels = as_column("labels", design.labels, offsets, least=0)
        masses, added = as_weights(design.weights, len(offsets) - 1), np.empty(0)
        if design.score_offset is not None:
            added = as_column("score_offset", design.score_offset, offsets, least=-LARGEST)
        sizes, extremes = np.diff(offsets), (np.maximum, np.minimum)
        greatest, least = (of.reduceat(labels, offsets[:-1]) if len(masses) else masses for of in extremes)
        alone = sizes < 2
        positive = ~alone & (greatest > 0)
        trains = positive & (greatest > least) if targets_are == APART else positive
        skipped = Skipped(*(int(part.sum()) for part in (alone, ~alone & ~positive, positive & ~trains)))
        rows: IntArray | BoolArray | None = None
        origins = np.flatnonzero(trains)
        masses = masses[origins]
        if len(origins) < len(trains):
            rows = np.repeat(trains, sizes)
            labels, offsets = labels[rows], offsets_of(sizes[origins])
        if targets_are == APART and np.count_nonzero(labels) > len(origins):
            parts = apart(labels, offsets)
            if len(parts.rows) * phi.shape[1] > MOST_REPEATED:
                raise too_many_repeated(len(parts.rows), phi.shape)
            rows = parts.rows if rows is None else np.flatnonzero(rows)[parts.rows]
            labels, offsets = parts.labels, parts.offsets
            masses, origins = masses[parts.origins] * parts.share, origins[parts.origins]
        return cls(phi, added, rows, labels, offsets, masses, origins, trains, skipped, targets_are)

    def trainable(self, largest: float, total: float, *, first: int = 0) -> Trainable:
        """The groups, their weights divided by the largest there is and by what they then add up to."""
        phi, offsets, added, rows = self.phi, self.offsets, self.score_offset, self.rows
        if rows is not None:
            phi, added = phi[rows], added[rows] if len(added) else added
        masses = self.masses / largest
        masses /= total
        if len(added) and (added == np.repeat(added[offsets[:-1]], np.diff(offsets))).all():
            added = np.empty(0)  # the same for all rows of a group changes no probability
        target = shares(self.labels, offsets, masses, of=self.targets_are)
        return Trainable(phi, offsets, masses, target, added, self.skipped, self.trains, self.origins, first)


@dataclass(frozen=True, slots=True, eq=False)
class ShardReference:
    """A shard to be read: its number and all that its groups depend on beyond it."""

    designs: Designs
    number: int
    first: int  # of its groups that can train, the place of the first among those of all shards
    largest: float  # weight of a group
    total: float  # of all weights, as shares of the largest
    targets_are: str
    equal_weights: int = 0  # how many groups share the weight evenly; 0: each has its own
    changes: tuple[Columns, ...] = ()  # of the columns, one after the other

    def read(self) -> Trainable:
        """The groups of the shard that can train."""
        checked = CheckedGroups.of(self.designs[self.number], self.targets_are)
        groups = checked.trainable(self.largest, self.total, first=self.first)
        for change in self.changes:
            groups = groups.with_columns(change, 0)
        if self.equal_weights:
            groups = replace(groups, weights=np.full(len(groups), 1 / self.equal_weights))
        return groups


def on_shard(function: Callable[[Trainable], Result], reference: ShardReference) -> Result:
    """What the function says of the groups of a shard."""
    return function(reference.read())


@dataclass(frozen=True, slots=True, eq=False)
class TrainableShards:
    """The groups to train on in many designs: what `Trainable` is in one. Sums are added in their order."""

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
        if self.engine is not IN_PROCESS:
            return self.engine.map(partial(on_shard, function), self.references)
        return map(function, self.each())

    def each(self) -> Iterator[Trainable]:
        """The groups of each shard here."""
        for reference in self.references:
            if reference.number in self.kept:
                yield self.kept[reference.number]
                continue
            groups = reference.read()
            if self.rows * self.columns <= KEPT_NUMBERS:
                self.kept[reference.number] = groups
            yield groups

    def with_columns(self, change: Columns, columns: int) -> Self:
        """The same groups with other columns, so many of them."""
        changed = tuple(replace(shard, changes=(*shard.changes, change)) for shard in self.references)
        return replace(self, references=changed, columns=columns, kept={})

    def with_equal_weights(self) -> Self:
        """The same groups, all with the same weight."""
        number = len(self)
        equal = tuple(replace(shard, equal_weights=number) for shard in self.references)
        return replace(self, references=equal, weights=np.full(number, 1 / number), kept={})


TrainingGroups = Trainable | TrainableShards  # what is a sum over all groups is asked of each shard, and added in order


@dataclass(frozen=True, slots=True)
class _Counted:
    """What a first pass finds in a shard."""

    trains: BoolArray
    origins: IntArray
    masses: FloatArray  # of the groups that can train
    skipped: Skipped
    rows: int  # of these groups
    columns: int


def _counted(designs: Designs, targets_are: str, number: int) -> _Counted:
    checked = CheckedGroups.of(designs[number], targets_are)
    rows, columns = len(checked.labels), checked.phi.shape[1]
    return _Counted(checked.trains, checked.origins, checked.masses, checked.skipped, rows, columns)


def total_mass(masses: FloatArray) -> tuple[float, float]:
    """The largest weight, and the sum of all as shares of it: what weights are divided by so that they add up to 1.

    >>> total_mass(np.array([1.0, 4.0]))
    (4.0, 1.25)
    """
    largest = float(masses.max())
    return largest, float((masses / largest).sum())


def nothing_trains(skipped: Skipped) -> DataError:
    """The error about groups none of which can train."""
    counts = f"{skipped.one_candidate} with one candidate, {skipped.no_positive} without a positive label"
    counts += f", {skipped.equally_right} with all candidates equally right" if skipped.equally_right else ""
    more = (
        "; --negatives adds candidates of a catalogue, ltr init --from those of the samples"
        if skipped.one_candidate
        else ""
    )
    return DataError(f"no group can train: {counts}; a group needs two candidates and a label above 0{more}")


def too_many_repeated(rows: int, shape: tuple[int, ...]) -> DataError:
    """The error about groups that memory should not hold once for each of their right candidates.

    >>> print(too_many_repeated(40_000_000, (700_000, 136)))
    train.targets apart makes 40,000,000 rows of 700,000, 44 GB, wrong candidates once a right one; set it to label
    """
    made = f"{rows:,} rows of {shape[0]:,}, {rows * shape[1] * 8 / 1e9:.0f} GB"
    return DataError(f"train.targets apart makes {made}, wrong candidates once a right one; set it to label")


def count_origins(groups: TrainingGroups) -> int:
    """How many of the given groups train: fewer than are trained on, where right candidates train apart."""
    return int(groups.trains.sum())


def count_positives(groups: TrainingGroups) -> int:
    """How many candidates have a part of the target."""
    return sum(groups.map(_count_positives))


def _count_positives(groups: Trainable) -> int:
    return int(np.count_nonzero(groups.shares))
