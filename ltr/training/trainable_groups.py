"""Groups that can be trained on, checked. Those that cannot move w are left out, and counted."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, BoolArray, FloatArray, IntArray, as_column, as_matrix, as_offsets, as_weights
from ltr.errors import DataError
from ltr.training.targets import shares

Result = TypeVar("Result")
Columns = Callable[[FloatArray], FloatArray]  # phi to other columns of the same rows


@dataclass(frozen=True, slots=True)
class Skipped:
    """Counts of the groups left out. A group of one candidate counts as that, whatever its label."""

    one_candidate: int
    no_positive: int


@dataclass(frozen=True, slots=True)
class Trainable:
    """The groups to train on, as every trainer reads them."""

    phi: FloatArray  # (rows, features)
    offsets: IntArray  # (groups + 1,)
    weights: FloatArray  # (groups,), sum 1
    shares: FloatArray  # (rows,): targets times the group's weight
    score_offset: FloatArray  # (rows,): added to the scores; empty where nothing is
    skipped: Skipped
    trains: BoolArray  # (groups, those left out included): which of them are here
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
        """(groups, those left out included): which of them are here."""

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
    checked = CheckedGroups.of(phi, labels, offsets, weights=weights, score_offset=score_offset)
    if not len(checked.masses):
        raise DataError("no group can train: there are no groups")
    if not checked.trains.any():
        raise nothing_trains(checked.skipped)
    largest, total = total_mass(checked.masses[checked.trains])
    return checked.trainable(largest, total, targets_are=targets_are)


@dataclass(frozen=True, slots=True)
class CheckedGroups:
    """Arrays of groups after checks, and which of the groups can train."""

    phi: FloatArray
    labels: FloatArray
    offsets: IntArray
    masses: FloatArray  # weights as they were given
    score_offset: FloatArray  # empty without one
    trains: BoolArray
    skipped: Skipped

    @classmethod
    def of(
        cls,
        phi: npt.ArrayLike,
        labels: npt.ArrayLike,
        offsets: npt.ArrayLike,
        *,
        weights: npt.ArrayLike | None,
        score_offset: npt.ArrayLike | None,
    ) -> "CheckedGroups":
        """The groups, or the first number that cannot be used."""
        phi, offsets = as_matrix("phi", phi, offsets)
        labels = as_column("labels", labels, offsets, least=0)
        masses = as_weights(weights, len(offsets) - 1)
        added = (
            np.empty(0) if score_offset is None else as_column("score_offset", score_offset, offsets, least=-LARGEST)
        )
        alone = np.diff(offsets) < 2
        positive = np.maximum.reduceat(labels, offsets[:-1]) > 0 if len(masses) else alone
        skipped = Skipped(int(alone.sum()), int((~alone & ~positive).sum()))
        return cls(phi, labels, offsets, masses, added, positive & ~alone, skipped)

    def trainable(self, largest: float, total: float, *, targets_are: str, first: int = 0) -> Trainable:
        """Those that can train, their weights divided by the largest there is and by what they then add up to."""
        phi, labels, offsets, added, trains = self.phi, self.labels, self.offsets, self.score_offset, self.trains
        masses = self.masses[trains]
        if not trains.all():
            sizes = np.diff(offsets)
            rows = np.repeat(trains, sizes)
            phi, labels, added = phi[rows], labels[rows], added[rows[: len(added)]]
            offsets = as_offsets(np.concatenate(([0], np.cumsum(sizes[trains]))), len(phi))
        masses = masses / largest
        masses /= total
        if len(added) and (added == np.repeat(added[offsets[:-1]], np.diff(offsets))).all():
            added = np.empty(0)  # the same for all rows of a group changes no probability
        target = shares(labels, offsets, masses, of=targets_are)
        return Trainable(phi, offsets, masses, target, added, self.skipped, trains, first)


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
    more = (
        "; --negatives adds candidates of a catalogue, ltr init --from those of the samples"
        if skipped.one_candidate
        else ""
    )
    return DataError(f"no group can train: {counts}; a group needs two candidates and a label above 0{more}")


def count_positives(groups: TrainingGroups) -> int:
    """How many candidates have a part of the target."""
    return sum(groups.map(_count_positives))


def _count_positives(groups: Trainable) -> int:
    return int(np.count_nonzero(groups.shares))
