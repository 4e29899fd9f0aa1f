"""Products of matrices, and equations; scipy is loaded when one needs it."""

from typing import Any

import numpy as np

from ltr.arrays import FloatArray, distinct, offsets_of
from ltr.encoders.dense import Dense
from ltr.encoders.sparse import Sparse
from ltr.encoders.vectors import Vectors, refuse_other_width


def product(left: Sparse, right: Sparse, *, least: float = -np.inf) -> Sparse:
    """Row i: the sum over k of left[i, k] times row k of the right; numbers under `least` are left out.

    >>> ones = np.ones(1)
    >>> left = Sparse(np.array([0, 1]), np.array([1]), 2 * ones, 2)
    >>> right = Sparse(np.array([0, 0, 1]), np.array([2]), 3 * ones, 4)
    >>> rows = product(left, right)
    >>> rows.columns, rows.numbers, rows.dimensions
    (array([2]), array([6.]), 4)
    """
    if not len(right):  # a left one that holds nothing has a column all the same
        return Sparse(np.zeros(len(left) + 1, dtype=np.int64), np.zeros(0, np.int64), np.zeros(0), right.dimensions)
    matrix = _matrix(left) @ _matrix(right)
    stays = np.flatnonzero(matrix.data >= least)
    rows = np.repeat(np.arange(len(left)), np.diff(matrix.indptr))[stays]
    columns, numbers = matrix.indices[stays], matrix.data[stays]
    order, _ = distinct(rows * right.dimensions + columns)
    starts = offsets_of(np.bincount(rows, minlength=len(left)))
    return Sparse(starts, columns[order].astype(np.int64), numbers[order], right.dimensions)


def all_dots(left: Vectors, right: Vectors) -> FloatArray:
    """Every row of the left by every row of the right, (left rows, right rows).

    >>> all_dots(Dense(np.array([[1.0, 0.0]])), Dense(np.array([[0.6, 0.8], [1.0, 0.0]])))
    array([[0.6, 1. ]])
    """
    refuse_other_width((left, right))
    if isinstance(left, Dense) and isinstance(right, Dense):
        return left.numbers.astype(np.float64) @ right.numbers.astype(np.float64).T
    if not (isinstance(left, Sparse) and isinstance(right, Sparse)):
        raise TypeError("dense vectors meet dense vectors, sparse ones sparse ones")
    dots: FloatArray = (_matrix(left) @ _matrix(right).T).toarray()
    return dots


def positive_solution(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """x with matrix x = right, of a matrix that is symmetric and positive definite, by its Cholesky factor.

    The lower triangle counts. The factor takes the place of the matrix, which may be half a gigabyte, and x that of
    `right` where its columns lie one behind the other.

    >>> positive_solution(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[3.0], [3.0]])).round(12)
    array([[1.],
           [1.]])
    """
    from scipy.linalg import cho_factor, cho_solve  # type: ignore[import-untyped]  # slow to import, as below

    if not matrix.size:
        return right
    for row in range(1, len(matrix)):
        matrix[:row, row] = matrix[row, :row]
    in_lapack_order = matrix.T  # the same numbers now, so that nothing is copied
    factor = cho_factor(in_lapack_order, lower=True, overwrite_a=True, check_finite=False)
    solution: FloatArray = cho_solve(factor, right, overwrite_b=right.flags.f_contiguous, check_finite=False)
    return solution


def _matrix(rows: Sparse) -> Any:
    """The rows as scipy has them."""
    from scipy.sparse import csr_array  # type: ignore[import-untyped]  # slow to import; most runs never need it

    return csr_array((rows.numbers, rows.columns, rows.starts), (len(rows), rows.dimensions))
