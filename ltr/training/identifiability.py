"""What the columns can tell apart before any weight is known."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ltr.arrays import LARGEST, BoolArray, FloatArray
from ltr.training.column_scale import deviations, largest_steps, row_deviations
from ltr.training.curves import STRAIGHT, Knots
from ltr.training.objective import Derivatives, Trainable, derivatives

OPEN = 1e-6  # share of a column from which a direction that changes no probability leaves its weight open
IDENTIFIED = 1e-12  # a direction counts when its curvature at w = 0 exceeds this share of the largest
CLEARED = 1e-9  # what elimination leaves of a number it has cleared
NARROW = 256  # columns up to which the spectrum costs little beside any training


@dataclass(frozen=True, slots=True)
class Spectrum:
    """The directions of w by their curvature at w = 0, every group weighing the same."""

    curvature: FloatArray  # (directions,): those above their limit
    identified: FloatArray  # (features, directions): orthonormal, columns of unit deviation
    not_identified: FloatArray  # (rest, features), of w: they change no probability to 1e-12 of the curvature
    open_share: FloatArray  # (features,): how much of each column's own direction lies in those


@dataclass(frozen=True)  # no slots: what nobody asks for is not computed
class Geometry:
    """Deviations of the columns inside the groups, and the curvature they give at w = 0."""

    groups: Trainable
    deviation: FloatArray  # (features,): inside the groups
    units: FloatArray  # (features,): no step inside a group is larger

    @classmethod
    def of(cls, groups: Trainable) -> "Geometry":
        """Two passes over the groups."""
        units = largest_steps(groups)
        return cls(groups, deviations(groups, units), units)

    @cached_property
    def scale(self) -> FloatArray:
        """What divides the columns: their deviation; 1 where constant, or so small that w would leave its range."""
        return np.where(self.deviation > 1 / LARGEST, self.deviation, 1.0)

    @cached_property
    def at_zero(self) -> Derivatives:
        """Loss and derivatives at w = 0, columns of unit deviation."""
        return derivatives(self.groups, np.zeros(len(self.scale)), self.scale)

    @cached_property
    def spectrum(self) -> Spectrum:
        """Every direction, by an eigen-decomposition: the work grows with the cube of the columns."""
        values, vectors = np.linalg.eigh(self._equal_hessian())
        counts = values > IDENTIFIED * values[-1]
        rest = vectors[:, ~counts]
        open_share = (rest * rest).sum(axis=1)
        return Spectrum(values[counts], vectors[:, counts], echelon(rest.T) / self.scale, open_share)

    def _equal_hessian(self) -> FloatArray:
        weights = np.full(self.groups.groups, 1 / self.groups.groups)
        if np.ptp(self.groups.weights) == 0:
            return self.at_zero.hessian
        return derivatives(replace(self.groups, weights=weights), np.zeros(len(self.scale)), self.scale).hessian

    @property
    def is_known(self) -> bool:
        """Whether the spectrum costs little, or a trainer has paid for it."""
        return len(self.scale) <= NARROW or "spectrum" in vars(self)

    @property
    def is_open(self) -> BoolArray:
        """Columns whose weight the data leave open, by what rounding cannot put there; as far as that is known."""
        if self.is_known:
            return self.spectrum.open_share > OPEN
        return self.deviation <= 1 / LARGEST

    def not_identified(self) -> FloatArray:
        """Directions of w that change no probability, largest part 1; only constant columns where that is dear."""
        if self.is_known:
            rows = self.spectrum.not_identified
            return rows / np.abs(rows).max(axis=1, keepdims=True)
        constant = np.flatnonzero(self.deviation <= 1 / LARGEST)
        rows = np.zeros((len(constant), len(self.scale)))
        rows[np.arange(len(constant)), constant] = 1.0
        return rows

    def identified_part(self, gradient: FloatArray) -> FloatArray:
        """The gradient along the identified directions, where they are known; by columns of unit deviation."""
        return self.spectrum.identified.T @ gradient if self.is_known else gradient


def echelon(directions: FloatArray) -> FloatArray:
    """The same span with as many zeros as elimination gives, each row's first part above 0: rows people can read.

    >>> echelon(np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])) + 0.0
    array([[ 1.,  0., -1.,  0.],
           [ 0.,  1.,  0., -1.]])
    """
    rows = directions.copy()
    for done in range(len(rows)):  # the largest number left is the pivot: nothing grows
        row, pivot = divmod(int(np.argmax(np.abs(rows[done:]))), rows.shape[1])
        rows[[done, done + row]] = rows[[done + row, done]]
        if abs(rows[done, pivot]) < CLEARED:
            rows = rows[:done]  # the rest lay in the span of the rows above
            break
        rows[done] /= rows[done, pivot]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, pivot], rows[done])
        rows[np.abs(rows) < CLEARED * np.abs(rows).max(axis=1, keepdims=True)] = 0.0
    firsts = rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)]
    return rows * np.sign(firsts)[:, np.newaxis]


def smallest(w: FloatArray, free: FloatArray) -> FloatArray:
    """The smallest w that gives the same probabilities: w less its part along the free directions.

    >>> smallest(np.array([3.0, 1.0]), np.array([[1.0, -1.0]]))
    array([2., 2.])
    """
    if not len(free):
        return w
    orthonormal = np.linalg.qr(free.T)[0]
    return w - orthonormal @ (orthonormal.T @ w)


def in_units(groups: Trainable, *, standardize: bool, knots: Knots = STRAIGHT) -> tuple[Trainable, FloatArray | None]:
    """The groups as they are trained on, and what their columns were divided by; None for the raw scale."""
    if not standardize and not len(knots):
        return groups, None
    units = knots.units(row_deviations(groups) if standardize else np.ones(groups.phi.shape[1]))
    if not len(knots):
        return replace(groups, phi=groups.phi / units), units
    bent = knots(groups.phi)
    bent /= units  # in place: it is the larger matrix
    return replace(groups, phi=bent), units
