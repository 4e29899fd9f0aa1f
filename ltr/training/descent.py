"""Gradient descent as specified: one step for each group, one group after the other."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain

import numpy as np

from ltr.arrays import FloatArray
from ltr.errors import DivergedError
from ltr.training.config import TrainConfig, remedy
from ltr.training.designs import TrainingGroups
from ltr.training.epochs import Epoch, OnEpoch, Progress
from ltr.training.geometry import Geometry
from ltr.training.groups import Run, Trainable, for_steps, passes
from ltr.training.model import Fitted

Step = tuple[FloatArray, FloatArray, FloatArray, float, FloatArray | None]
EpochPass = Callable[[FloatArray], tuple[float, FloatArray]]
HELD_NUMBERS = 1 << 22  # numbers of phi up to which the steps of all groups stay in memory between epochs


def fit_descent(
    groups: TrainingGroups, geometry: Geometry, config: TrainConfig, on_epoch: OnEpoch, progress: Progress | None = None
) -> Fitted:
    """w after `epochs` passes from w = `init`; each group makes the step w <- w - rate * (X'(p - t) + 2 * l2 * w).

    X'(p - t) is multiplied by the group's weight over the mean weight. The loss of an epoch is the weighted mean of
    the objectives that the groups have before their own step. A pass goes through the groups of one shard after those
    of another.
    """
    with np.errstate(all="ignore"):  # the end of the epoch checks for a w that diverges
        one_pass = (
            epoch_pass(groups, config) if isinstance(groups, Trainable) else partial(_over_shards, groups, config)
        )
        progress = progress or Progress(np.full(groups.columns, float(config.init)), ())
        w, history = progress.w, list(progress.history)

        def reached() -> Progress:
            return Progress(w.copy(), tuple(history))

        for number in range(len(history), config.epochs):
            loss, w = one_pass(w)
            if not (np.isfinite(loss) and np.isfinite(w).all()):
                raise DivergedError(f"descent diverged in epoch {number + 1}; {remedy(config)}")
            history.append(loss)
            if on_epoch(Epoch(number + 1, loss, w.copy(), reached)):
                break
    return Fitted(w.copy(), np.array(history), len(history))


def _over_shards(groups: TrainingGroups, config: TrainConfig, w: FloatArray) -> tuple[float, FloatArray]:
    """One epoch over shards: each is a share of the whole, and so is its loss."""
    total = 0.0
    for shard in groups.each():
        share = len(shard) / len(groups)
        own = replace(shard, weights=shard.weights / share, shares=shard.shares / share)
        loss, w = epoch_pass(own, config)(w)
        total += loss * share
    return total, w


def epoch_pass(groups: Trainable, config: TrainConfig) -> EpochPass:
    """The function that makes one epoch: from w to the loss and the next w."""
    if kernels := for_steps(groups.columns, len(groups) * config.epochs):
        arrays = (groups.phi, groups.offsets, groups.weights, groups.shares, groups.score_offset)
        return lambda w: kernels.epoch(w, *arrays, config.learning_rate, config.penalty)
    runs = list(passes(groups))
    if groups.phi.size > HELD_NUMBERS:
        return lambda w: _epoch((_steps(groups, run, config.learning_rate) for run in runs), w, groups.weights, config)
    steps = [list(_steps(groups, run, config.learning_rate)) for run in runs]
    return lambda w: _epoch(steps, w, groups.weights, config)


def _steps(groups: Trainable, run: Run, learning_rate: float) -> Iterator[Step]:
    """Of each group: X with a column of ones, the targets t, rate * X't, its rate, and its score offset if it has one.

    With the column of ones, one product gives both sum e_i x_i and sum e_i. The weight of that column, 0 but for
    rounding, shifts all scores of a group alike.
    """
    x = np.column_stack((groups.phi[run.rows], np.ones(run.rows.stop - run.rows.start)))
    weights = groups.weights[run.groups]
    targets = groups.shares[run.rows] / np.repeat(weights, run.sizes)
    rates = learning_rate * weights * len(groups)
    starts, ends = run.starts.tolist(), (run.starts + run.sizes).tolist()
    added = groups.score_offset[run.rows] if len(groups.score_offset) else None
    for first, last, rate in zip(starts, ends, rates.tolist(), strict=True):
        t = targets[first:last]
        yield x[first:last], t, rate * (t @ x[first:last]), rate, None if added is None else added[first:last]


def _epoch(
    runs: Iterable[Iterable[Step]], w: FloatArray, weights: FloatArray, config: TrainConfig
) -> tuple[float, FloatArray]:
    w, exp = np.append(w, 0.0), np.exp
    shrink = 1 - 2 * config.learning_rate * config.penalty
    z, fit, square = np.empty(len(weights)), np.empty(len(weights)), np.empty(len(weights))
    for group, (x, t, towards_t, rate, added) in enumerate(chain.from_iterable(runs)):
        shifted = x.dot(w)
        if added is not None:
            shifted += added
        shifted -= shifted[shifted.argmax()]
        fit[group] = t.dot(shifted)
        square[group] = w.dot(w)
        towards_p = exp(shifted).dot(x)
        z[group] = towards_p[-1]
        towards_p *= rate / towards_p[-1]
        w *= shrink
        w -= towards_p
        w += towards_t
    return float(weights @ (np.log(z) - fit + config.penalty * square)), w[:-1].copy()
