"""Identifiability: the directions of w that the data determine, and those that change no probability."""

import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TypeVar

import numpy as np

from ltr.arrays import LARGEST, BoolArray, FloatArray
from ltr.training.column_scale import deviations, largest_steps, row_deviations
from ltr.training.nonlinear_terms import COST, NO_TERMS, Terms
from ltr.training.objective import Derivatives, TrainingGroups, derivatives

Groups = TypeVar("Groups", bound=TrainingGroups)

OPEN = 1e-6  # a weight is open if this share of its column lies in directions that change no probability
IDENTIFIED = 1e-12  # a direction counts when its curvature at w = 0 exceeds this share of the largest
CLEARED = 1e-9  # elimination may leave this much of a number that it has set to 0
CHEAP_SPECTRUM = 256  # columns up to which the spectrum costs little compared with any training


@dataclass(frozen=True, slots=True)
class Spectrum:
    """The directions of w by their curvature at w = 0, with equal weights for all groups."""

    curvature: FloatArray  # (directions,): those above their limit
    identified: FloatArray  # (features, directions): orthonormal, columns of unit deviation
    not_identified: FloatArray  # (rest, features), of w: their curvature is at most 1e-12 of the largest
    open_share: FloatArray  # (features,): the share of each column's own direction that lies in those


@dataclass(frozen=True)  # no slots, for cached_property: the work for many columns is too large to do unless needed
class Geometry:
    """Deviations of the columns inside the groups, and the curvature they give at w = 0."""

    groups: TrainingGroups
    deviation: FloatArray  # (features,): inside the groups
    units: FloatArray  # (features,): no step inside a group is larger
    scale: FloatArray  # (features,) that columns are divided by: the deviation, or 1 where it is 0 or below 1 / LARGEST

    @classmethod
    def of(cls, groups: TrainingGroups) -> "Geometry":
        """Two passes over the groups."""
        units = largest_steps(groups)
        deviation = deviations(groups, units)
        return cls(groups, deviation, units, np.where(deviation > 1 / LARGEST, deviation, 1.0))

    @cached_property
    def at_zero(self) -> Derivatives:
        """Loss and derivatives at w = 0, columns of unit deviation."""
        return derivatives(self.groups, np.zeros(len(self.scale)), self.scale)

    @cached_property
    def spectrum(self) -> Spectrum:
        """All directions, by an eigen-decomposition: the work grows with the cube of the columns."""
        hessian = self.at_zero.hessian
        if np.ptp(self.groups.weights) > 0:
            hessian = derivatives(self.groups.with_equal_weights(), np.zeros(len(self.scale)), self.scale).hessian
        values, vectors = np.linalg.eigh(hessian)
        counts = values > IDENTIFIED * values[-1]
        rest = vectors[:, ~counts]
        open_share = (rest * rest).sum(axis=1)
        return Spectrum(values[counts], vectors[:, counts], echelon(rest.T) / self.scale, open_share)

    @property
    def is_known(self) -> bool:
        """Whether the spectrum costs little, or has been computed already."""
        return len(self.scale) <= CHEAP_SPECTRUM or "spectrum" in vars(self)

    @property
    def is_open(self) -> BoolArray:
        """Columns whose weight the data do not determine; only the constant ones unless the spectrum is known."""
        if self.is_known:
            return self.spectrum.open_share > OPEN
        return self.deviation <= 1 / LARGEST

    def not_identified(self) -> FloatArray:
        """Directions of w that change no probability, largest part 1; only constant columns unless it is known."""
        if self.is_known:
            rows = self.spectrum.not_identified
            return rows / np.abs(rows).max(axis=1, keepdims=True)
        constant = np.flatnonzero(self.deviation <= 1 / LARGEST)
        rows = np.zeros((len(constant), len(self.scale)))
        rows[np.arange(len(constant)), constant] = 1.0
        return rows

    def identified_part(self, gradient: FloatArray) -> FloatArray:
        """The gradient along the identified directions, columns of unit deviation; all of it unless they are known."""
        return self.spectrum.identified.T @ gradient if self.is_known else gradient


def echelon(directions: FloatArray) -> FloatArray:
    """Rows with the same span, with as many zeros as elimination gives and the first part positive: easy to read.

    >>> echelon(np.array([[1.0, 1.0, -1.0, -1.0], [1.0, -1.0, -1.0, 1.0]])) + 0.0
    array([[ 1.,  0., -1.,  0.],
           [ 0.,  1.,  0., -1.]])
    """
    rows = directions.copy()
    for top in range(len(rows)):  # the largest number below is the pivot: nothing grows
        below, pivot = divmod(int(np.argmax(np.abs(rows[top:]))), rows.shape[1])
        rows[[top, top + below]] = rows[[top + below, top]]
        if abs(rows[top, pivot]) < CLEARED:
            rows = rows[:top]  # the others lay in the span of these
            break
        rows[top] /= rows[top, pivot]
        others = np.arange(len(rows)) != top
        rows[others] -= np.outer(rows[others, pivot], rows[top])
        rows[np.abs(rows) < CLEARED * np.abs(rows).max(axis=1, keepdims=True)] = 0.0
    firsts = rows[np.arange(len(rows)), np.argmax(rows != 0, axis=1)]
    return rows * np.sign(firsts)[:, np.newaxis]


def smallest(w: FloatArray, free: FloatArray) -> FloatArray:
    """The smallest w with the same probabilities: w minus its part along the free directions.

    >>> smallest(np.array([3.0, 1.0]), np.array([[1.0, -1.0]]))
    array([2., 2.])
    """
    if not len(free):
        return w
    orthonormal = np.linalg.qr(free.T)[0]
    return w - orthonormal @ (orthonormal.T @ w)


def in_units(groups: Groups, *, standardize: bool, terms: Terms = NO_TERMS) -> tuple[Groups, FloatArray | None]:
    """The groups as they are trained on, and what their columns were divided by; None for the raw scale.

    A term's column is divided by sqrt(COST) times a unit: that of its feature, or the deviation of the product.
    """
    if not standardize and not len(terms):
        return groups, None
    units = row_deviations(groups) if standardize else np.ones(groups.columns)
    if len(terms):
        of_products = np.ones(len(terms.products))
        if standardize and len(terms.products):
            of_products = row_deviations(groups.with_columns(terms.products, len(terms.products)))
            of_products[of_products < 1 / LARGEST] = 1.0  # they count as constant: a weight of theirs would overflow
        units = np.concatenate([units, math.sqrt(COST) * np.concatenate([units[terms.knots.columns], of_products])])
    return groups.with_columns(partial(_divided, units=units, terms=terms), len(units)), units


def _divided(phi: FloatArray, units: FloatArray, terms: Terms) -> FloatArray:
    """Phi with its terms, divided by the units."""
    if not len(terms):
        return phi / units
    columns = terms(phi)
    columns /= units  # in place: it is the larger matrix
    return columns


def centre_of(prior: FloatArray | None, columns: int) -> FloatArray:
    """What the penalty pulls the weights of so many columns towards: the prior, and 0 for the terms that follow.

    >>> centre_of(np.array([2.0]), 3)
    array([2., 0., 0.])
    """
    centre = np.zeros(columns)
    if prior is not None:
        centre[: len(prior)] = prior
    return centre
