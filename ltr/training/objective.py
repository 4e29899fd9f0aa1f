"""The objective: the mean over groups of -sum t * log softmax(phi w + score_offset), and its derivatives.

A score offset is a fixed number of a row: -log of the probability with which it was drawn (0: it was there anyway).
Groups of one candidate, and groups without a positive label, cannot move w: they are left out, and counted.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from ltr.arrays import (
    LARGEST,
    BoolArray,
    FloatArray,
    IntArray,
    as_column,
    as_matrix,
    as_offsets,
    as_weights,
    chunks,
    code_sums,
)
from ltr.errors import DataError
from ltr.training.kernels.dispatch_by_size import for_passes
from ltr.training.targets import shares

Result = TypeVar("Result")
Columns = Callable[[FloatArray], FloatArray]  # phi to other columns of the same rows

SAFE = 300.0  # exp of scores up to here cannot overflow: they need no shift by the largest of their group
RUN_NUMBERS = 1 << 16  # numbers of phi in one run of a pass: its temporaries stay in the cache


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


@dataclass(frozen=True, slots=True)
class Slope:
    """The mean cross-entropy and its gradient at one w, without the penalty, for columns divided by a scale."""

    loss: float
    gradient: FloatArray  # (features,)

    def __add__(self, other: "Slope") -> "Slope":
        """That of both, where each is of a shard."""
        return Slope(self.loss + other.loss, self.gradient + other.gradient)


@dataclass(frozen=True, slots=True)
class Derivatives(Slope):
    """The same with the Hessian."""

    hessian: FloatArray  # (features, features)

    def __add__(self, other: Slope) -> "Derivatives":
        """Those of both, where each are of a shard."""
        if not isinstance(other, Derivatives):
            return NotImplemented
        return Derivatives(self.loss + other.loss, self.gradient + other.gradient, self.hessian + other.hessian)


def slope(groups: TrainingGroups, w: FloatArray, scale: FloatArray) -> Slope:
    """Loss and gradient of sum_g weight_g * -sum_i t_i log p_i, in the coordinates w * scale.

    gradient = X'(p - t), X = (phi - its group's first row) / scale: a shift of a group changes no probability.

    >>> pair = trainable(np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    >>> slope(pair, np.zeros(1), np.ones(1)).gradient
    array([-0.5])
    """
    return reduce(add, groups.map(partial(_slope, w=w, scale=scale)))


def _slope(groups: Trainable, w: FloatArray, scale: FloatArray) -> Slope:
    if for_passes(groups.phi.shape[1], len(groups.phi), has_offset=bool(len(groups.score_offset))):
        return _derivatives(groups, w, scale)
    loss, gradient = 0.0, np.zeros(groups.phi.shape[1])
    for run in passes(groups):
        part = _softmax_run(groups, run, w * scale, scale)
        loss, gradient = loss + part.loss, gradient + part.gradient
    return Slope(loss, gradient)


def derivatives(groups: TrainingGroups, w: FloatArray, scale: FloatArray) -> Derivatives:
    """Loss, gradient and Hessian; a group adds sum_i p_i x_i x_i' - mu mu', mu = sum_i p_i x_i, to the Hessian.

    >>> pair = trainable(np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    >>> at_zero = derivatives(pair, np.zeros(1), np.ones(1))
    >>> round(at_zero.loss, 6), at_zero.gradient, at_zero.hessian
    (0.693147, array([-0.5]), array([[0.25]]))
    >>> drawn = trainable(np.array([[1.0], [0.0]]), [1, 0], [0, 2], score_offset=[0.0, np.log(3.0)])
    >>> derivatives(drawn, np.zeros(1), np.ones(1)).gradient  # p = 1/4, as the wrong one stands for three
    array([-0.75])
    """
    return reduce(add, groups.map(partial(_derivatives, w=w, scale=scale)))


def _derivatives(groups: Trainable, w: FloatArray, scale: FloatArray) -> Derivatives:
    features = groups.phi.shape[1]
    if kernels := for_passes(features, len(groups.phi), has_offset=bool(len(groups.score_offset))):
        arrays = (groups.phi, groups.offsets, groups.weights, groups.shares, groups.score_offset)
        return Derivatives(*kernels.derivatives(w, *arrays, scale))
    loss, gradient, hessian = 0.0, np.zeros(features), np.zeros((features, features))
    for run in passes(groups):
        part = _softmax_run(groups, run, w * scale, scale)
        px = part.x * part.p
        means = np.add.reduceat(px, run.starts, axis=1)
        loss, gradient = loss + part.loss, gradient + part.gradient
        hessian = hessian + (px @ part.x.T - (means / groups.weights[run.groups]) @ means.T)
    return Derivatives(loss, gradient, hessian)


@dataclass(frozen=True, slots=True)
class ClusterSpread:
    """The parts s_c of clusters of groups in the gradient, summed up."""

    products: FloatArray  # (features, features): sum_c s_c s_c'
    largest: float  # of any number of any s_c


def cluster_spread(groups: TrainingGroups, w: FloatArray, scale: FloatArray, clusters: IntArray) -> ClusterSpread:
    """The spread of the clusters' parts in the gradient; all groups of a cluster lie in one shard.

    >>> pair = trainable(np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    >>> cluster_spread(pair, np.zeros(1), np.ones(1), np.array([0]))
    ClusterSpread(products=array([[0.25]]), largest=0.5)
    """
    parts = list(groups.map(partial(_cluster_spread, w=w, scale=scale, clusters=clusters)))
    return ClusterSpread(reduce(add, (part.products for part in parts)), max(part.largest for part in parts))


def _cluster_spread(groups: Trainable, w: FloatArray, scale: FloatArray, clusters: IntArray) -> ClusterSpread:
    codes = np.unique(clusters[groups.first : groups.first + len(groups)], return_inverse=True)[1]
    slopes = cluster_slopes(groups, w, scale, codes)
    return ClusterSpread(slopes.T @ slopes, float(np.abs(slopes).max(initial=0.0)))


def cluster_slopes(groups: Trainable, w: FloatArray, scale: FloatArray, clusters: IntArray) -> FloatArray:
    """The part of each cluster of groups in the gradient, (clusters, features): the sum of weight * X'(p - t).

    >>> pair = trainable(np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    >>> cluster_slopes(pair, np.zeros(1), np.ones(1), np.array([0]))
    array([[-0.5]])
    """
    count = int(clusters.max()) + 1
    sums = np.zeros((count, len(w)))
    for run in passes(groups):
        part = _softmax_run(groups, run, w * scale, scale)
        slopes = np.add.reduceat(part.x * (part.p - groups.shares[run.rows]), run.starts, axis=1)
        for index, column in enumerate(slopes):
            sums[:, index] += code_sums(clusters[run.groups], column, count)
    return sums


def count_positives(groups: TrainingGroups) -> int:
    """How many candidates have a part of the target."""
    return sum(groups.map(_count_positives))


def _count_positives(groups: Trainable) -> int:
    return int(np.count_nonzero(groups.shares))


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive whole groups, few enough that a pass over their columns stays in the cache."""

    groups: slice
    rows: slice
    starts: IntArray  # first row of each group, counted from the first of the run
    sizes: IntArray


def passes(groups: Trainable) -> Iterator[Run]:
    """One pass over all groups, in runs."""
    offsets = groups.offsets
    for first, last in chunks(offsets, max(RUN_NUMBERS // groups.phi.shape[1], 1)):
        starts = offsets[first:last] - offsets[first]
        yield Run(slice(first, last), slice(offsets[first], offsets[last]), starts, np.diff(offsets[first : last + 1]))


@dataclass(frozen=True, slots=True)
class _SoftmaxRun:
    """The part of one run in the loss and the gradient, and what they are made of."""

    loss: float
    gradient: FloatArray  # (features,)
    x: FloatArray  # (features, rows)
    p: FloatArray  # (rows,): probabilities times the group's weight


def _softmax_run(groups: Trainable, run: Run, scaled_w: FloatArray, scale: FloatArray) -> _SoftmaxRun:
    """Probabilities of one run, and its part in loss and gradient; scaled_w: w * scale."""
    shares, weights = groups.shares[run.rows], groups.weights[run.groups]
    x = centred_columns(groups, run, scale)
    shifted = scaled_w @ x
    if len(groups.score_offset):
        shifted += groups.score_offset[run.rows]
    if max(shifted.max(), -shifted.min()) > SAFE:  # else no exp overflows, and no sum of them vanishes
        shifted -= np.repeat(np.maximum.reduceat(shifted, run.starts), run.sizes)
    p = np.exp(shifted)
    z = np.add.reduceat(p, run.starts)
    p *= np.repeat(weights / z, run.sizes)  # weighted: the sum of a group is its weight
    return _SoftmaxRun(float(weights @ np.log(z) - shares @ shifted), x @ (p - shares), x, p)


def centred_columns(groups: Trainable, run: Run, scale: FloatArray, *, origins: IntArray | None = None) -> FloatArray:
    """Columns of the run, (features, rows), minus one row of each group (`origins`, else the first), over the scale."""
    columns = np.array(groups.phi[run.rows].T, order="C")
    columns -= np.repeat(columns[:, run.starts if origins is None else origins], run.sizes, axis=1)
    columns /= scale[:, np.newaxis]
    return columns
