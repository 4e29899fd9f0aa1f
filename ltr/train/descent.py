"""The specification's trainer: one gradient step per group, group after group."""

from collections.abc import Iterator

import numpy as np

from ltr.arrays import FloatArray
from ltr.errors import RunError
from ltr.listwise import Trainable
from ltr.model import Fitted
from ltr.train.config import Epoch, OnEpoch, TrainConfig
from ltr.train.geometry import Geometry

Step = tuple[FloatArray, FloatArray, FloatArray, float]


def fit_descent(groups: Trainable, geometry: Geometry, config: TrainConfig, on_epoch: OnEpoch) -> Fitted:
    """w after `epochs` passes from w = 1, each group stepping w <- w - rate * (X'(p - t) + 2 * l2 * w).

    A group's weight over the mean weight scales X'(p - t). The loss of an epoch is the weighted mean of
    each group's objective before its own step.
    """
    with np.errstate(all="ignore"):  # a diverging w is found at the end of its epoch
        steps = list(_steps(groups, config.learning_rate))
        w, history = np.append(np.ones(groups.phi.shape[1]), 0.0), list[float]()
        for number in range(config.epochs):
            loss, w = _epoch(steps, w, groups.weights, config)
            if not (np.isfinite(loss) and np.isfinite(w).all()):
                raise RunError(f"descent diverged in epoch {number + 1}; lower learning_rate or scale the features")
            history.append(loss)
            on_epoch(Epoch(number + 1, loss, w[:-1].copy()))
    return Fitted(w[:-1].copy(), np.array(history), config.epochs)


def _steps(groups: Trainable, learning_rate: float) -> Iterator[Step]:
    """Of each group: X and a column of ones, targets, its rate, and its rate times X't.

    The column of ones makes one product give both sum e_i x_i and sum e_i. What w holds in its place, 0
    but for rounding, shifts all scores of a group alike.
    """
    x = np.column_stack((groups.phi, np.ones(len(groups.phi))))
    targets = groups.shares / np.repeat(groups.weights, np.diff(groups.offsets))
    rates = learning_rate * groups.weights * groups.groups
    for group, rate in enumerate(rates.tolist()):
        rows = slice(groups.offsets[group], groups.offsets[group + 1])
        yield x[rows], targets[rows], rate * (targets[rows] @ x[rows]), rate


def _epoch(steps: list[Step], w: FloatArray, weights: FloatArray, config: TrainConfig) -> tuple[float, FloatArray]:
    w, exp = w.copy(), np.exp
    shrink = 1 - 2 * config.learning_rate * config.l2
    z, fit, square = np.empty(len(steps)), np.empty(len(steps)), np.empty(len(steps))
    for group, (x, t, pull, rate) in enumerate(steps):
        shifted = x.dot(w)
        shifted -= shifted[shifted.argmax()]
        fit[group] = t.dot(shifted)
        square[group] = w.dot(w)
        push = exp(shifted).dot(x)
        z[group] = push[-1]
        push *= rate / push[-1]
        w *= shrink
        w -= push
        w += pull
    return float(weights @ (np.log(z) - fit + config.l2 * square)), w
