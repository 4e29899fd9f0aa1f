"""Products of matrices, and equations; scipy is loaded when one needs it."""

from typing import Any

import numpy as np

from ltr.arrays import FloatArray, IntArray, distinct, offsets_of
from ltr.encoders import Dense, Sparse, Vectors


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
    left.refuse_other_form(right)
    if isinstance(left, Dense) and isinstance(right, Dense):
        return left.numbers.astype(np.float64) @ right.numbers.astype(np.float64).T
    if not (isinstance(left, Sparse) and isinstance(right, Sparse)):
        raise TypeError("dense vectors meet dense vectors, sparse ones sparse ones")
    dots: FloatArray = (_matrix(left) @ _matrix(right).T).toarray()
    return dots


def solution(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """x with matrix x = right, of a symmetric, positive definite matrix.

    >>> solution(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([[3.0], [3.0]])).round(12)
    array([[1.],
           [1.]])
    """
    from scipy.linalg.lapack import dposv  # type: ignore[import-untyped]  # slow to import; most runs never need it

    if not right.size:
        return right
    _, x, problem = dposv(matrix, right, lower=True)
    if problem:
        raise np.linalg.LinAlgError(f"the matrix is not positive definite: minor {problem}")
    answer: FloatArray = x
    return answer


class PositiveDefinite:
    """A symmetric, positive definite matrix, of which one triangle is held: half the memory.

    The format is LAPACK's rectangular full packed one: the lower right triangle lies, turned, above the lower left one.

    >>> matrix = PositiveDefinite(2)
    >>> matrix.set_rows(0, np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> matrix.factorise()
    >>> matrix.solution(np.array([[3.0], [3.0]])).round(12)
    array([[1.],
           [1.]])
    """

    def __init__(self, size: int) -> None:
        self._size, self._half, self._is_odd = size, (size + 1) // 2, size % 2
        self._numbers = np.empty((size + 1 - self._is_odd, self._half))

    def __len__(self) -> int:
        return self._size

    def set_rows(self, first: int, rows: FloatArray) -> None:
        """Set the rows from `first` on, each up to the diagonal; all of them, in rising order."""
        for row, numbers in enumerate(rows, start=first):
            self._numbers[row + 1 - self._is_odd, : row + 1] = numbers[: row + 1][: self._half]
            beyond = numbers[self._half : row + 1]
            self._numbers[: len(beyond), row - self._half + self._is_odd] = beyond

    def factorise(self) -> None:
        """Put the Cholesky factor in the place of the matrix: it is solved from then on."""
        from scipy.linalg.lapack import dpftrf

        if not self._size:
            return
        _, problem = dpftrf(self._size, self._numbers.reshape(-1), transr="T", uplo="L", overwrite_a=True)
        if problem:
            raise np.linalg.LinAlgError(f"the matrix is not positive definite: minor {problem}")

    def invert(self) -> None:
        """Put the inverse in the place of the factor: `block` reads it from then on."""
        from scipy.linalg.lapack import dpftri

        if not self._size:
            return
        inverse, problem = dpftri(self._size, self._numbers.reshape(-1), transr="T", uplo="L", overwrite_a=True)
        if problem:
            raise np.linalg.LinAlgError(f"the matrix has no inverse: minor {problem}")
        self._numbers = inverse.reshape(self._numbers.shape)

    def block(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """The numbers where these rows and columns meet.

        >>> matrix = PositiveDefinite(3)
        >>> matrix.set_rows(0, np.array([[3.0, 0.0, 0.0], [1.0, 4.0, 0.0], [2.0, 5.0, 6.0]]))
        >>> matrix.block(np.array([0, 2]), np.array([1, 2]))
        array([[1., 2.],
               [5., 6.]])
        """
        block, half = np.empty((len(rows), len(columns))), self._half
        for rows_are_left, columns_are_left in ((True, True), (True, False), (False, True), (False, False)):
            at_rows = np.flatnonzero((rows < half) == rows_are_left)
            at_columns = np.flatnonzero((columns < half) == columns_are_left)
            i, j = rows[at_rows], columns[at_columns]
            if rows_are_left != columns_are_left:
                numbers = self._below(i, j) if columns_are_left else self._below(j, i).T
            else:
                numbers = np.where(i[:, None] >= j, self._below(i, j), self._below(j, i).T)
            block[np.ix_(at_rows, at_columns)] = numbers
        return block

    def _below(self, rows: IntArray, columns: IntArray) -> FloatArray:
        """The numbers of columns that are all in the left half, or all in the right one; true below the diagonal."""
        if (columns < self._half).all():
            return self._numbers[np.ix_(rows + 1 - self._is_odd, columns)]
        return self._numbers[np.ix_(columns - self._half, rows - self._half + self._is_odd)].T

    def solution(self, right: FloatArray) -> FloatArray:
        """x with matrix x = right, (rows, columns)."""
        from scipy.linalg.lapack import dpftrs

        if not right.size:
            return right
        solution: FloatArray = dpftrs(self._size, self._numbers.reshape(-1), right, transr="T", uplo="L")[0]
        return solution


def _matrix(rows: Sparse) -> Any:
    """The rows as scipy has them."""
    from scipy.sparse import csr_array  # type: ignore[import-untyped]  # slow to import; most runs never need it

    return csr_array((rows.numbers, rows.columns, rows.starts), (len(rows), rows.dimensions))
