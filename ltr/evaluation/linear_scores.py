"""A weighted sum of columns as the score."""

import numpy as np

from ltr.arrays import FloatArray


def linear_scores(phi: FloatArray, w: FloatArray) -> FloatArray:
    """Score of each candidate: s_i = sum_j w_j * phi_ij.

    Not phi @ w: a BLAS kernel may round a row by its place in the matrix, and equal rows must tie.

    >>> linear_scores(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    summed: FloatArray = np.einsum("ij,j->i", phi, w)
    return summed
