"""The objective: the mean over groups of -sum t * log softmax(phi w + score_offset), and its derivatives.

A score offset is a fixed number of a row: -log of the probability with which it was drawn (0: it was there anyway).
"""

from dataclasses import dataclass
from functools import partial, reduce
from operator import add

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums, group_sums
from ltr.training.designs import CheckedGroups, Design, TrainingGroups, total_mass
from ltr.training.groups import Run, Trainable, centred_columns, for_passes, passes
from ltr.training.temperature import log_softmax

SAFE = 300.0  # exp of scores up to here cannot overflow: they need no shift by the largest of their group


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

    >>> from ltr.training.designs import trainable
    >>> pair = trainable(np.array([[1.0], [0.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    >>> slope(pair, np.zeros(1), np.ones(1)).gradient
    array([-0.5])
    """
    return reduce(add, groups.map(partial(_slope, w=w, scale=scale)))


def _slope(groups: Trainable, w: FloatArray, scale: FloatArray) -> Slope:
    if for_passes(groups.columns, groups.rows):
        return _derivatives(groups, w, scale)
    loss, gradient = 0.0, np.zeros(groups.columns)
    for run in passes(groups):
        part = _softmax_run(groups, run, w * scale, scale)
        loss, gradient = loss + part.loss, gradient + part.gradient
    return Slope(loss, gradient)


def derivatives(groups: TrainingGroups, w: FloatArray, scale: FloatArray) -> Derivatives:
    """Loss, gradient and Hessian; a group adds sum_i p_i x_i x_i' - mu mu', mu = sum_i p_i x_i, to the Hessian.

    >>> from ltr.training.designs import trainable
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
    features = groups.columns
    if kernels := for_passes(features, groups.rows):
        arrays = (groups.phi, groups.offsets, groups.weights, groups.shares, groups.score_offset)
        return Derivatives(*kernels.derivatives(w, *arrays, scale))
    loss, gradient, hessian = 0.0, np.zeros(features), np.zeros((features, features))
    for run in passes(groups):
        part = _softmax_run(groups, run, w * scale, scale)
        roots = np.sqrt(part.p)
        rooted = part.x * roots
        means = np.add.reduceat(rooted * roots, run.starts, axis=1) / np.sqrt(groups.weights[run.groups])
        loss, gradient = loss + part.loss, gradient + part.gradient
        hessian = hessian + (rooted @ rooted.T - means @ means.T)  # a matrix by itself turned: half the products
    return Derivatives(loss, gradient, hessian)


@dataclass(frozen=True, slots=True)
class ClusterSpread:
    """The parts s_c of clusters of groups in the gradient, summed up."""

    products: FloatArray  # (features, features): sum_c s_c s_c'
    largest: float  # of any number of any s_c


def cluster_spread(groups: TrainingGroups, w: FloatArray, scale: FloatArray, clusters: IntArray) -> ClusterSpread:
    """The spread of the clusters' parts in the gradient; all groups of a cluster lie in one shard.

    >>> from ltr.training.designs import trainable
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

    >>> from ltr.training.designs import trainable
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


def group_losses(
    scores: FloatArray,
    labels: FloatArray,
    offsets: IntArray,
    score_offset: FloatArray | None = None,
    targets_are: str = "label",
) -> FloatArray:
    """-sum t log softmax(scores + score_offset) of each group; NaN of one that cannot train.

    With targets `apart` it is the mean over the groups that a group becomes.

    >>> group_losses(np.log([3.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]), np.array([0, 2, 3])).round(6)
    array([0.287682,      nan])
    """
    design = Design(scores[:, np.newaxis], labels, offsets, score_offset=score_offset)
    checked = CheckedGroups.of(design, targets_are)
    losses = np.full(len(offsets) - 1, np.nan)
    if not checked.trains.any():
        return losses
    groups = checked.trainable(*total_mass(checked.masses))
    column = groups.phi[:, 0] + groups.score_offset if len(groups.score_offset) else groups.phi[:, 0]
    sums = -group_sums(groups.shares * log_softmax(column, groups.offsets), groups.offsets)
    by_origin = (np.bincount(groups.origins, weights=of, minlength=len(losses)) for of in (sums, groups.weights))
    losses[groups.trains] = np.divide(*(of[groups.trains] for of in by_origin))
    return losses
