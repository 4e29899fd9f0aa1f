"""How far the columns of phi spread: inside the groups, and over all rows."""

import numpy as np

from ltr.arrays import FloatArray
from ltr.training.kernels import for_passes
from ltr.training.objective import Trainable, centred_columns, passes


def deviations(groups: Trainable, units: FloatArray) -> FloatArray:
    """Deviation of each column inside the groups: sqrt(mean over rows of (phi - its group's mean)^2); 0 if constant.

    units: its `largest_steps`.

    >>> from ltr.training.objective import trainable
    >>> phi = np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 9.0], [7.0, 9.0]])
    >>> groups = trainable(phi, np.array([0, 1, 0, 1]), np.array([0, 2, 4]))
    >>> deviations(groups, largest_steps(groups))
    array([1., 0.])
    """
    rows, zero = len(groups.phi), np.zeros(len(units))
    if kernels := for_passes(len(units), rows):  # w = 0 and a group's size for its weight: sums of squares
        sizes = np.diff(groups.offsets).astype(np.float64)
        _, _, bend = kernels.derivatives(zero, groups.phi, groups.offsets, sizes, groups.shares, units)
        return units * np.sqrt(np.maximum(np.diag(bend), 0.0) / rows)
    squares = zero
    for run in passes(groups):
        x = centred_columns(groups, run, units)
        x -= np.repeat(np.add.reduceat(x, run.starts, axis=1) / run.sizes, run.sizes, axis=1)
        squares += (x * x).sum(axis=1)
    return units * np.sqrt(squares / rows)


def row_deviations(groups: Trainable) -> FloatArray:
    """Deviation of each column over all rows, whatever their group; 1 where a column is constant.

    >>> from ltr.training.objective import trainable
    >>> phi = np.array([[1.0, 7.0], [3.0, 7.0], [5.0, 7.0], [7.0, 7.0]])
    >>> row_deviations(trainable(phi, np.array([0, 1, 0, 1]), np.array([0, 2, 4]))).round(6)
    array([2.236068, 1.      ])
    """
    found = np.empty(groups.phi.shape[1])
    for place, column in enumerate(groups.phi.T):
        unit = np.ldexp(1.0, np.frexp(np.abs(column).max())[1])  # over it, exactly, squares stay in range
        found[place] = unit * np.std(column / unit - column[0] / unit)  # exactly 0 where constant
    return np.where(found > 0, found, 1.0)


def largest_steps(groups: Trainable) -> FloatArray:
    """A power of two above each column's largest step inside a group: over it, exactly, squares stay in range."""
    largest, unscaled = np.full(groups.phi.shape[1], np.finfo(float).tiny), np.ones(groups.phi.shape[1])
    if kernels := for_passes(len(largest), len(groups.phi)):
        largest = np.maximum(largest, kernels.steps(groups.phi, groups.offsets))
    else:
        for run in passes(groups):
            largest = np.maximum(largest, np.abs(centred_columns(groups, run, unscaled)).max(axis=1))
    return np.ldexp(1.0, np.frexp(largest)[1])
