"""What the columns can tell apart before any weight is known."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray
from ltr.listwise import Derivatives, Trainable, derivatives, deviations

IDENTIFIED = 1e-12  # a direction counts when its curvature at w = 0 exceeds this share of the largest


@dataclass(frozen=True, slots=True)
class Geometry:
    """Deviations of the columns inside the groups, and the curvature they give at w = 0."""

    scale: FloatArray  # (features,): deviation inside the groups; 1 where constant
    varying: BoolArray  # (features,): whether a column varies inside any group
    at_zero: Derivatives  # at w = 0, columns of unit deviation
    identified: FloatArray  # (features, directions): those that change a probability; columns of unit deviation
    not_identified: FloatArray  # (directions, features): those of w that change none

    @classmethod
    def of(cls, groups: Trainable) -> "Geometry":
        """Two passes over the groups."""
        deviation = deviations(groups)
        varying = deviation > 0
        scale = np.where(varying, deviation, 1.0)
        at_zero = derivatives(groups, np.zeros(len(scale)), scale)
        values, vectors = np.linalg.eigh(at_zero.hessian)
        counts = values > IDENTIFIED * values[-1]
        hidden = echelon(vectors[:, ~counts].T / scale) if not counts.all() else np.empty((0, len(scale)))
        return cls(scale, varying, at_zero, vectors[:, counts], hidden)


def echelon(directions: FloatArray) -> FloatArray:
    """The same span with as many zeros as elimination gives, each row's largest part 1: rows people can read.

    >>> echelon(np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])) + 0.0
    array([[ 1.,  0., -1.,  0.],
           [ 0.,  1.,  0., -1.]])
    """
    rows = directions / np.abs(directions).max(axis=1, keepdims=True)
    free = np.ones(rows.shape[1], dtype=bool)
    for row in range(len(rows)):
        pivot = int(np.argmax(np.abs(rows[row]) * free))
        free[pivot] = False
        rows[row] /= rows[row, pivot]
        others = np.arange(len(rows)) != row
        rows[others] -= np.outer(rows[others, pivot], rows[row])
        rows[np.abs(rows) < 1e-9 * np.abs(rows).max(axis=1, keepdims=True)] = 0.0
    return rows / np.abs(rows).max(axis=1, keepdims=True)


def smallest(w: FloatArray, free: FloatArray) -> FloatArray:
    """The smallest w that gives the same probabilities: w less its part along the free directions.

    >>> smallest(np.array([3.0, 1.0]), np.array([[1.0, -1.0]]))
    array([2., 2.])
    """
    if not len(free):
        return w
    orthonormal = np.linalg.qr(free.T)[0]
    return w - orthonormal @ (orthonormal.T @ w)
