"""Sparse rows turned around: which rows have a number in each column."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray, code_sums, lengths_of, offsets_of
from ltr.encoders.sparse_vectors import Sparse

LONG_POSTINGS = 256  # entries a column: from here on adding column by column is quicker


@dataclass(frozen=True, slots=True)
class Postings:
    """Sparse rows turned around: which rows have a number in each column."""

    starts: IntArray  # (columns + 1,)
    rows: npt.NDArray[Any]  # of each entry, in few bytes, rising inside a column
    numbers: FloatArray
    count: int  # of rows

    @classmethod
    def of(cls, vectors: Sparse) -> "Postings":
        """Those of the vectors.

        >>> Postings.of(Sparse(np.array([0, 1, 3]), np.array([1, 0, 1]), np.array([2.0, 3.0, 4.0]), 2)).rows
        array([1, 0, 1], dtype=uint16)
        """
        columns = vectors.columns.astype(least_type(vectors.dimensions))  # 16 bits are sorted many times quicker
        order = np.argsort(columns, kind="stable")
        starts = offsets_of(np.bincount(vectors.columns, minlength=vectors.dimensions))
        owners = np.arange(len(vectors), dtype=least_type(len(vectors))).repeat(vectors.lengths)
        return cls(starts, owners[order], vectors.numbers[order], len(vectors))

    def vectors(self) -> Sparse:
        """The rows as they were."""
        order = np.argsort(self.rows, kind="stable")
        columns = np.arange(len(self.starts) - 1).repeat(lengths_of(self.starts))
        starts = offsets_of(np.bincount(self.rows, minlength=self.count))
        return Sparse(starts, columns[order], self.numbers[order], len(self.starts) - 1)

    def products(self, vectors: Sparse) -> FloatArray:
        """sum_d a_d b_d of each vector and each row, (vectors, rows), added by rising column.

        The order is that of `Sparse.dots`: both give the same bits.

        >>> a = Sparse(np.array([0, 1, 3]), np.array([1, 0, 1]), np.array([2.0, 3.0, 4.0]), 2)
        >>> Postings.of(a).products(a)
        array([[ 4.,  8.],
               [ 8., 25.]])
        """
        owners = vectors.owners
        firsts, lasts = self.starts[vectors.columns], self.starts[vectors.columns + 1]
        lengths = lasts - firsts
        if int(lengths.sum()) > LONG_POSTINGS * len(lengths):
            values = np.zeros((len(vectors), self.count))
            entries = zip(firsts.tolist(), lasts.tolist(), vectors.numbers.tolist(), owners.tolist(), strict=True)
            for first, last, number, owner in entries:
                values[owner, self.rows[first:last]] += number * self.numbers[first:last]
            return values
        ends = np.cumsum(lengths)
        places = np.arange(lengths.sum()) + (firsts - ends + lengths).repeat(lengths)
        keys = (owners * self.count).repeat(lengths) + self.rows[places]
        products = vectors.numbers.repeat(lengths) * self.numbers[places]
        return code_sums(keys, products, len(vectors) * self.count).reshape(len(vectors), self.count)


def least_type(count: int) -> type[np.unsignedinteger[Any]]:
    """16-bit integers where they can number so many, else 32-bit ones.

    >>> least_type(1 << 16), least_type(1 << 17)
    (<class 'numpy.uint16'>, <class 'numpy.uint32'>)
    """
    return np.uint16 if count <= 1 << 16 else np.uint32
