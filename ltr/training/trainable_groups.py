"""Groups that can be trained on, checked. Those that cannot move w are left out, and counted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, BoolArray, FloatArray, IntArray, as_column, as_matrix, as_weights, offsets_of
from ltr.errors import DataError
from ltr.training.targets import APART, apart, shares

Result = TypeVar("Result")
Columns = Callable[[FloatArray], FloatArray]  # phi to other columns of the same rows
MOST_REPEATED = 1 << 29  # numbers of phi (4 GB) that groups taken apart may have


@dataclass(frozen=True, slots=True)
class Skipped:
    """Counts of the groups left out. A group of one candidate counts as that, whatever its label."""

    one_candidate: int
    no_positive: int
    equally_right: int = 0  # all candidates are; left out where right ones train apart, against wrong ones alone


@dataclass(frozen=True, slots=True)
class Trainable:
    """The groups to train on, as every trainer reads them."""

    phi: FloatArray  # (rows, features)
    offsets: IntArray  # (groups + 1,)
    weights: FloatArray  # (groups,), sum 1
    shares: FloatArray  # (rows,): targets times the group's weight
    score_offset: FloatArray  # (rows,): added to the scores; empty where nothing is
    skipped: Skipped
    trains: BoolArray  # (groups that were given): which of them are here
    origins: IntArray  # (groups,): the given group that each is, or is a part of where right candidates train apart
    first: int = 0  # of the first group here the place among those of all shards

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def columns(self) -> int:
        """How many features phi has."""
        return self.phi.shape[1]

    @property
    def rows(self) -> int:
        """How many candidates there are."""
        return len(self.phi)

    def map(self, function: "Callable[[Trainable], Result]") -> Iterator[Result]:
        """What the function says of each shard, of which this is the only one."""
        yield function(self)

    def with_columns(self, change: Columns, columns: int) -> Self:  # shards need it beforehand
        """The same groups with other columns, so many of them."""
        return replace(self, phi=change(self.phi))

    def with_equal_weights(self) -> Self:
        """The same groups, all with the same weight; the shares stay as they are."""
        return replace(self, weights=np.full(len(self), 1 / len(self)))


class TrainingGroups(Protocol):
    """Groups to train on: in one shard (`Trainable`), or in several that are read one after the other (`shards`).

    What is a sum over all groups is asked of each shard, and added in the order of the shards.
    """

    @property
    def weights(self) -> FloatArray:
        """(groups,), sum 1."""

    @property
    def skipped(self) -> Skipped:
        """Counts of the groups left out."""

    @property
    def trains(self) -> BoolArray:
        """(groups that were given): which of them are here."""

    @property
    def origins(self) -> IntArray:
        """(groups,): the given group that each is, or is a part of where right candidates train apart."""

    @property
    def columns(self) -> int:
        """How many features phi has."""

    @property
    def rows(self) -> int:
        """How many candidates there are."""

    def __len__(self) -> int: ...

    def map(self, function: Callable[[Trainable], Result]) -> Iterator[Result]:
        """What the function says of each shard, in order."""

    def with_columns(self, change: Columns, columns: int) -> Self:
        """The same groups with other columns, so many of them."""

    def with_equal_weights(self) -> Self:
        """The same groups, all with the same weight; the shares stay as they are."""


def trainable(
    phi: npt.ArrayLike,
    labels: npt.ArrayLike,
    offsets: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    score_offset: npt.ArrayLike | None = None,
    targets_are: str = "label",
) -> Trainable:
    """The groups that can train, in their order, after checks; nothing is copied when all of them can."""
    checked = CheckedGroups.of(
        phi, labels, offsets, weights=weights, score_offset=score_offset, targets_are=targets_are
    )
    if not len(checked.trains):
        raise DataError("no group can train: there are no groups")
    if not checked.trains.any():
        raise nothing_trains(checked.skipped)
    return checked.trainable(*total_mass(checked.masses))


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
    def of(
        cls,
        phi: npt.ArrayLike,
        labels: npt.ArrayLike,
        offsets: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None,
        score_offset: npt.ArrayLike | None,
        targets_are: str,
    ) -> "CheckedGroups":
        """The groups, or the first number that cannot be used.

        With targets `apart` a group with several right candidates becomes as many groups (`targets.apart`).
        """
        phi, offsets = as_matrix("phi", phi, offsets)
        labels = as_column("labels", labels, offsets, least=0)
        masses = as_weights(weights, len(offsets) - 1)
        added = (
            np.empty(0) if score_offset is None else as_column("score_offset", score_offset, offsets, least=-LARGEST)
        )
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
