"""The scale of the columns of phi: their deviation inside the groups, over all rows, and their largest step."""

import numpy as np

from ltr.arrays import FloatArray
from ltr.training.kernels.passes import for_passes
from ltr.training.objective import Trainable, centred_columns, passes


def deviations(groups: Trainable, units: FloatArray) -> FloatArray:
    """Deviation of each column inside the groups: sqrt(mean over rows of (phi - its group's mean)^2); 0 if constant.

    units: `largest_steps(groups)`, by which columns are divided on the way.

    >>> from ltr.training.objective import trainable
    >>> phi = np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 9.0], [7.0, 9.0]])
    >>> groups = trainable(phi, np.array([0, 1, 0, 1]), np.array([0, 2, 4]))
    >>> deviations(groups, largest_steps(groups))
    array([1., 0.])
    """
    rows, zero = len(groups.phi), np.zeros(len(units))
    if kernels := for_passes(
        len(units), rows
    ):  # the Hessian at w = 0, with sizes as weights, holds the sums of squares
        sizes = np.diff(groups.offsets).astype(np.float64)
        _, _, hessian = kernels.derivatives(zero, groups.phi, groups.offsets, sizes, groups.shares, np.empty(0), units)
        return units * np.sqrt(np.maximum(np.diag(hessian), 0.0) / rows)
    squares = zero
    for run in passes(groups):
        x = centred_columns(groups, run, units)
        x -= np.repeat(np.add.reduceat(x, run.starts, axis=1) / run.sizes, run.sizes, axis=1)
        squares += (x * x).sum(axis=1)
    return units * np.sqrt(squares / rows)


def row_deviations(groups: Trainable) -> FloatArray:
    """Deviation of each column over the rows of all groups together; 1 where a column is constant.

    >>> from ltr.training.objective import trainable
    >>> phi = np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 7.0], [7.0, 7.0]])
    >>> row_deviations(trainable(phi, np.array([0, 1, 0, 1]), np.array([0, 2, 4]))).round(6)
    array([2.236068, 1.      ])
    """
    result = np.empty(groups.phi.shape[1])
    for index, column in enumerate(groups.phi.T):
        unit = np.ldexp(1.0, np.frexp(np.abs(column).max())[1])  # a power of two: exact, and squares stay in range
        result[index] = unit * np.std(column / unit - column[0] / unit)  # exactly 0 where constant
    return np.where(result > 0, result, 1.0)


def largest_steps(groups: Trainable) -> FloatArray:
    """A power of two above the largest step of each column inside a group.

    Division by it is exact, and the squares of what is left stay in range.
    """
    largest, unscaled = np.full(groups.phi.shape[1], np.finfo(float).tiny), np.ones(groups.phi.shape[1])
    if kernels := for_passes(len(largest), len(groups.phi)):
        largest = np.maximum(largest, kernels.steps(groups.phi, groups.offsets))
    else:
        for run in passes(groups):
            largest = np.maximum(largest, np.abs(centred_columns(groups, run, unscaled)).max(axis=1))
    return np.ldexp(1.0, np.frexp(largest)[1])
