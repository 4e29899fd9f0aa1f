"""The geometry of the columns: their scale, and the directions of w that the data determine or leave open."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce
from operator import add

import numpy as np

from ltr.arrays import LARGEST, BoolArray, FloatArray
from ltr.training.designs import TrainingGroups
from ltr.training.groups import Trainable, centred_columns, for_passes, passes
from ltr.training.objective import Derivatives, derivatives
from ltr.training.terms import NO_TERMS, Terms

COST = 10.0  # a term is penalised this many times as much as a feature: without evidence a score stays a weighted sum
OPEN = 1e-6  # a weight is open if this share of its column lies in directions that change no probability
IDENTIFIED = 1e-12  # a direction counts when its curvature at w = 0 exceeds this share of the largest
CLEARED = 1e-9  # elimination may leave this much of a number that it has set to 0
CHEAP_SPECTRUM = 256  # columns up to which the spectrum costs little compared with any training
MOST_PARTS = 5  # of a direction that a text names


def deviations(groups: TrainingGroups, units: FloatArray) -> FloatArray:
    """Deviation of each column inside the groups: sqrt(mean over rows of (phi - its group's mean)^2); 0 if constant.

    units: `largest_steps(groups)`, by which columns are divided on the way.

    >>> from ltr.training.designs import trainable
    >>> phi = np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 9.0], [7.0, 9.0]])
    >>> groups = trainable(phi, np.array([0, 1, 0, 1]), np.array([0, 2, 4]))
    >>> deviations(groups, largest_steps(groups))
    array([1., 0.])
    """
    squares = reduce(add, groups.map(partial(_squares, units=units)))
    return units * np.sqrt(np.maximum(squares, 0.0) / groups.rows)


def _squares(groups: Trainable, units: FloatArray) -> FloatArray:
    """The sum of the squared differences of each column to the mean of its group, divided by the units."""
    zero = np.zeros(len(units))
    if kernels := for_passes(
        len(units), groups.rows
    ):  # the Hessian at w = 0, with sizes as weights, holds the sums of squares
        sizes = np.diff(groups.offsets).astype(np.float64)
        _, _, hessian = kernels.derivatives(zero, groups.phi, groups.offsets, sizes, groups.shares, np.empty(0), units)
        squares: FloatArray = np.diag(hessian)
        return squares
    squares = zero
    for run in passes(groups):
        x = centred_columns(groups, run, units)
        x -= np.repeat(np.add.reduceat(x, run.starts, axis=1) / run.sizes, run.sizes, axis=1)
        squares += (x * x).sum(axis=1)
    return squares


def row_deviations(groups: TrainingGroups) -> FloatArray:
    """Deviation of each column over the rows of all groups together; 1 where a column is constant.

    >>> from ltr.training.designs import trainable
    >>> phi = np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 7.0], [7.0, 7.0]])
    >>> row_deviations(trainable(phi, np.array([0, 1, 0, 1]), np.array([0, 2, 4]))).round(6)
    array([2.236068, 1.      ])
    """
    largest, first_rows = zip(*groups.map(_largest_and_first), strict=True)
    units = np.ldexp(1.0, np.frexp(reduce(np.maximum, largest))[1])  # powers of two: exact, and squares stay in range
    origin = first_rows[0] / units  # of a constant column nothing is left: exactly 0
    moments = list(groups.map(partial(_moments, units=units, origin=origin)))
    means = np.zeros(len(units)) + sum(rows / groups.rows * mean for rows, mean, _ in moments)
    spread = sum(rows / groups.rows * ((mean - means) ** 2 + variance) for rows, mean, variance in moments)
    result = units * np.sqrt(spread)
    return np.where(result > 0, result, 1.0)


def _largest_and_first(groups: Trainable) -> tuple[FloatArray, FloatArray]:
    """The greatest absolute value of each column, and the first row."""
    return np.array([np.abs(column).max() for column in groups.phi.T]), groups.phi[0].copy()


def _moments(groups: Trainable, units: FloatArray, origin: FloatArray) -> tuple[int, FloatArray, FloatArray]:
    """Rows, and the mean and the variance of each column less the origin, divided by the units."""
    mean, variance = np.empty((2, groups.columns))
    for index, column in enumerate(groups.phi.T):
        shifted = column / units[index] - origin[index]
        mean[index], variance[index] = shifted.mean(), shifted.var()
    return groups.rows, mean, variance


def largest_steps(groups: TrainingGroups) -> FloatArray:
    """A power of two above the largest step of each column inside a group.

    Division by it is exact, and the squares of what is left stay in range.
    """
    largest = np.maximum(np.finfo(float).tiny, reduce(np.maximum, groups.map(_steps)))
    return np.ldexp(1.0, np.frexp(largest)[1])


def _steps(groups: Trainable) -> FloatArray:
    """The largest step of each column inside a group."""
    if kernels := for_passes(groups.columns, groups.rows):
        steps: FloatArray = kernels.steps(groups.phi, groups.offsets)
        return steps
    largest, unscaled = np.zeros(groups.columns), np.ones(groups.columns)
    for run in passes(groups):
        largest = np.maximum(largest, np.abs(centred_columns(groups, run, unscaled)).max(axis=1))
    return largest


def in_units(
    groups: TrainingGroups, *, standardize: bool, terms: Terms = NO_TERMS
) -> tuple[TrainingGroups, FloatArray | None]:
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


def direction_text(direction: FloatArray, names: Sequence[str] | None = None, units: FloatArray | None = None) -> str:
    """A direction as a sum of columns, its largest part 1, shortened to the largest parts; x1..xn without names.

    The size of a part is counted times `units`, the step that a column makes inside the groups.

    >>> direction_text(np.array([2.0, 0.0, -1.0]))
    'x1 - 0.5 x3'
    >>> direction_text(np.array([1.0, -1e-8]), units=np.array([1.0, 1e8]))
    'x1 - 1e-08 x2'
    >>> direction_text(np.array([1.0, 0.1, 4.0, 2.0, 2.0, 0.2, 2.0]))
    '0.25 x1 + x3 + 0.5 x4 + 0.5 x5 + 0.5 x7 and 2 more'
    """
    parts = direction / np.abs(direction).max()
    sizes = np.abs(parts if units is None else parts * units)
    left = np.where(sizes > 1e-6 * sizes.max(), sizes, 0.0)
    columns, counted = list[int](), int(np.count_nonzero(left))
    while len(columns) < min(MOST_PARTS, counted):  # the largest first, of equals the first
        columns.append(int(np.argmax(left)))
        left[columns[-1]] = 0.0
    text = ""
    for column in (index for index in range(len(parts)) if index in columns):
        size = abs(parts[column])
        factor = "" if round(size, 3) == 1 else f"{size:.3g} "
        sign = "-" if parts[column] < 0 else "+"
        joint = f" {sign} " if text else sign.replace("+", "")
        text += f"{joint}{factor}{names[column] if names else f'x{column + 1}'}"
    return text if counted <= MOST_PARTS else f"{text} and {counted - MOST_PARTS:,} more"
