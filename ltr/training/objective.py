"""The objective: the mean over groups of -sum t * log softmax(phi w + score_offset), and its derivatives.

A score offset is a fixed number of a row: -log of the probability with which it was drawn (0: it was there anyway).
Groups of one candidate, and groups without a positive label, cannot move w: they are left out, and counted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

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
from ltr.training.kernels.passes import for_passes
from ltr.training.targets import shares

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

    def __len__(self) -> int:
        return len(self.weights)


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
    phi, offsets = as_matrix("phi", phi, offsets)
    labels = as_column("labels", labels, offsets, least=0)
    masses = as_weights(weights, len(offsets) - 1)
    added = np.empty(0) if score_offset is None else as_column("score_offset", score_offset, offsets, least=-LARGEST)
    if not len(masses):
        raise DataError("no group can train: there are no groups")
    alone = np.diff(offsets) < 2
    positive = np.maximum.reduceat(labels, offsets[:-1]) > 0
    skipped = Skipped(int(alone.sum()), int((~alone & ~positive).sum()))
    trains = positive & ~alone
    if not trains.any():
        counts = f"{skipped.one_candidate} with one candidate, {skipped.no_positive} without a positive label"
        more = (
            "; --negatives adds candidates of a catalogue, ltr init --from those of the samples"
            if skipped.one_candidate
            else ""
        )
        raise DataError(f"no group can train: {counts}; a group needs two candidates and a label above 0{more}")
    if not trains.all():
        sizes = np.diff(offsets)
        rows = np.repeat(trains, sizes)
        phi, labels, masses, added = phi[rows], labels[rows], masses[trains], added[rows[: len(added)]]
        offsets = as_offsets(np.concatenate(([0], np.cumsum(sizes[trains]))), len(phi))
    masses = masses / masses.max()
    masses /= masses.sum()
    if len(added) and (added == np.repeat(added[offsets[:-1]], np.diff(offsets))).all():
        added = np.empty(0)  # the same for all rows of a group changes no probability
    return Trainable(phi, offsets, masses, shares(labels, offsets, masses, of=targets_are), added, skipped, trains)


def sampled(groups: Trainable, step: int) -> Trainable:
    """Every step-th group, with weights that sum to 1.

    >>> pairs = trainable(np.arange(6.0)[:, np.newaxis], np.array([0, 1] * 3), np.array([0, 2, 4, 6]))
    >>> sampled(pairs, 2).phi.ravel(), sampled(pairs, 2).weights
    (array([0., 1., 4., 5.]), array([0.5, 0.5]))
    """
    sizes, is_drawn = np.diff(groups.offsets), np.arange(len(groups)) % step == 0
    rows, total = np.repeat(is_drawn, sizes), groups.weights[is_drawn].sum()
    offsets = np.concatenate(([0], np.cumsum(sizes[is_drawn])))
    weights, shares = groups.weights[is_drawn] / total, groups.shares[rows] / total
    added = groups.score_offset[rows[: len(groups.score_offset)]]
    return Trainable(groups.phi[rows], offsets, weights, shares, added, groups.skipped, is_drawn)


@dataclass(frozen=True, slots=True)
class Slope:
    """The mean cross-entropy and its gradient at one w, without the penalty, for columns divided by a scale."""

    loss: float
    gradient: FloatArray  # (features,)


@dataclass(frozen=True, slots=True)
class Derivatives(Slope):
    """The same with the Hessian."""

    hessian: FloatArray  # (features, features)


def slope(groups: Trainable, w: FloatArray, scale: FloatArray) -> Slope:
    """Loss and gradient of sum_g weight_g * -sum_i t_i log p_i, in the coordinates w * scale.

    gradient = X'(p - t), X = (phi - its group's first row) / scale: a shift of a group changes no probability.

    >>> pair = trainable(np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    >>> slope(pair, np.zeros(1), np.ones(1)).gradient
    array([-0.5])
    """
    if for_passes(groups.phi.shape[1], len(groups.phi), has_offset=bool(len(groups.score_offset))):
        return derivatives(groups, w, scale)
    loss, gradient = 0.0, np.zeros(groups.phi.shape[1])
    for run in passes(groups):
        part = _softmax_run(groups, run, w * scale, scale)
        loss, gradient = loss + part.loss, gradient + part.gradient
    return Slope(loss, gradient)


def derivatives(groups: Trainable, w: FloatArray, scale: FloatArray) -> Derivatives:
    """Loss, gradient and Hessian; a group adds sum_i p_i x_i x_i' - mu mu', mu = sum_i p_i x_i, to the Hessian.

    >>> pair = trainable(np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    >>> at_zero = derivatives(pair, np.zeros(1), np.ones(1))
    >>> round(at_zero.loss, 6), at_zero.gradient, at_zero.hessian
    (0.693147, array([-0.5]), array([[0.25]]))
    >>> drawn = trainable(np.array([[1.0], [0.0]]), [1, 0], [0, 2], score_offset=[0.0, np.log(3.0)])
    >>> derivatives(drawn, np.zeros(1), np.ones(1)).gradient  # p = 1/4, as the wrong one stands for three
    array([-0.75])
    """
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
