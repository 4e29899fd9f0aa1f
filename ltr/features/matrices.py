"""Products of sparse rows, all with all: scipy's, loaded when one is needed."""

from typing import Any

import numpy as np

from ltr.arrays import FloatArray
from ltr.encoders.sparse import Sparse


def product(left: Sparse, right: Sparse) -> Sparse:
    """Row i: the sum over k of left[i, k] times row k of the right.

    >>> ones = np.ones(1)
    >>> left = Sparse(np.array([0, 1]), np.array([1]), 2 * ones, 2)
    >>> right = Sparse(np.array([0, 0, 1]), np.array([2]), 3 * ones, 4)
    >>> found = product(left, right)
    >>> found.columns, found.numbers, found.dimensions
    (array([2]), array([6.]), 4)
    """
    found = _matrix(left) @ _matrix(right)
    found.sort_indices()
    starts, columns = (each.astype(np.int64) for each in (found.indptr, found.indices))
    return Sparse(starts, columns, found.data, right.dimensions)


def all_dots(left: Sparse, right: Sparse) -> FloatArray:
    """Every row of the left by every row of the right."""
    dense: FloatArray = (_matrix(left) @ _matrix(right).T).toarray()
    return dense


def transposed(rows: Sparse) -> Sparse:
    """Columns as rows."""
    found = _matrix(rows).T.tocsr()
    starts, columns = (each.astype(np.int64) for each in (found.indptr, found.indices))
    return Sparse(starts, columns, found.data, len(rows))


def _matrix(rows: Sparse) -> Any:
    from scipy.sparse import csr_array  # type: ignore[import-untyped]  # slow to import; most runs never need it

    return csr_array((rows.numbers, rows.columns, rows.starts), (len(rows), rows.dimensions))
