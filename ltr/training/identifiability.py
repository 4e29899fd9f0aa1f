"""Identifiability: the directions of w that the data determine, and those that change no probability."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ltr.arrays import LARGEST, BoolArray, FloatArray
from ltr.training.column_scale import deviations, largest_steps
from ltr.training.objective import Derivatives, derivatives
from ltr.training.trainable import TrainingGroups

OPEN = 1e-6  # a weight is open if this share of its column lies in directions that change no probability
IDENTIFIED = 1e-12  # a direction counts when its curvature at w = 0 exceeds this share of the largest
CLEARED = 1e-9  # elimination may leave this much of a number that it has set to 0
CHEAP_SPECTRUM = 256  # columns up to which the spectrum costs little compared with any training

MOST_PARTS = 5  # of a direction that a text names


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
