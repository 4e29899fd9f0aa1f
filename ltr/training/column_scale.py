"""The scale of columns: their deviation inside the groups, over all rows, their largest step; groups in units of it."""

import math
from functools import partial, reduce
from operator import add
from typing import TypeVar

import numpy as np

from ltr.arrays import LARGEST, FloatArray
from ltr.training.kernels.dispatch_by_size import for_passes
from ltr.training.nonlinear_terms import NO_TERMS, Terms
from ltr.training.passes_over_groups import centred_columns, passes
from ltr.training.trainable import Trainable, TrainingGroups

Groups = TypeVar("Groups", bound=TrainingGroups)

COST = 10.0  # a term is penalised this many times as much as a feature: without evidence a score stays a weighted sum


def deviations(groups: TrainingGroups, units: FloatArray) -> FloatArray:
    """Deviation of each column inside the groups: sqrt(mean over rows of (phi - its group's mean)^2); 0 if constant.

    units: `largest_steps(groups)`, by which columns are divided on the way.

    >>> from ltr.training.trainable import trainable
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

    >>> from ltr.training.trainable import trainable
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
