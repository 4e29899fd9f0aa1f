"""Vectors that hold every number, zeros as well."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import Array, FloatArray, IntArray, used
from ltr.errors import DataError

LARGEST_HALF = 65504.0  # the largest number of a state, which holds them in half precision
PAIRED_NUMBERS = 1 << 18  # numbers that are multiplied at once


@dataclass(frozen=True, slots=True)
class Dense:
    """Every number of every row, in single or double precision; sums and products are made in double."""

    numbers: npt.NDArray[np.floating[Any]]  # (rows, dimensions)

    def __len__(self) -> int:
        return len(self.numbers)

    def take(self, rows: IntArray) -> Self:
        """These rows, in this order.

        >>> Dense(np.array([[1.0, 0.0], [0.6, 0.8]])).take(np.array([1])).numbers.tolist()
        [[0.6, 0.8]]
        """
        return type(self)(self.numbers[rows])

    def sums(self, owner: IntArray, rows: IntArray, weights: FloatArray, count: int) -> Self:
        """sum_i weights[i] * row rows[i] over the places i of each owner, in the order of the places.

        >>> a = Dense(np.array([[1.0, 0.0], [0.0, 1.0]]))
        >>> a.sums(np.array([1, 1]), np.array([0, 1]), np.array([2.0, 0.5]), 2).numbers.tolist()
        [[0.0, 0.0], [2.0, 0.5]]
        """
        totals = np.zeros((count, self.numbers.shape[1]))
        by_owner = np.argsort(owner, kind="stable")
        for first in range(0, len(owner), self._at_once):
            part = by_owner[first : first + self._at_once]
            owners, starts = np.unique(owner[part], return_index=True)
            totals[owners] += np.add.reduceat(weights[part, None] * self.numbers[rows[part]], starts, axis=0)
        return type(self)(totals)

    def sums_without_each(self, owner: IntArray, part: IntArray, parts: int) -> Iterator[Self]:
        """The sums of the rows outside each part, then of all rows, each with weight 1, of owners that have such rows.

        >>> a = Dense(np.array([[1.0, 0.0], [0.0, 1.0]]))
        >>> [sums.numbers.tolist() for sums in a.sums_without_each(np.array([0, 0]), np.array([0, 1]), 2)]
        [[[0.0, 1.0]], [[1.0, 0.0]], [[1.0, 1.0]]]
        """
        for left_out in range(parts + 1):
            rows = np.flatnonzero(part != left_out)
            listed, owners = used(owner[rows], int(owner.max(initial=-1)) + 1)
            yield self.sums(owners, rows, np.ones(len(rows)), len(listed))

    def scaled(self, factor: float) -> Self:
        """Each row times the factor, in double precision.

        >>> Dense(np.array([[1.0, 0.5]])).scaled(2.0).numbers.tolist()
        [[2.0, 1.0]]
        """
        return type(self)(factor * self.numbers.astype(np.float64))

    def unit(self) -> Self:
        """Each row divided by its length; a zero row stays zero.

        >>> Dense(np.array([[3.0, 4.0], [0.0, 0.0]])).unit().numbers.tolist()
        [[0.6, 0.8], [0.0, 0.0]]
        """
        lengths = np.linalg.norm(self.numbers, axis=1, keepdims=True)
        return type(self)(self.numbers / np.where(lengths > 0, lengths, 1).astype(self.numbers.dtype))

    def dots(self, rows: IntArray, other: object, other_rows: IntArray) -> FloatArray:
        """sum_d a_d b_d of each pair of rows, in parts that stay in the cache.

        >>> a = Dense(np.array([[1.0, 0.0], [0.6, 0.8]]))
        >>> a.dots(np.array([0, 1]), a, np.array([1, 1])).round(12)
        array([0.6, 1. ])
        """
        if not isinstance(other, Dense):
            raise TypeError("dense vectors meet dense vectors")
        products = np.empty(len(rows))
        for first in range(0, len(rows), self._at_once):
            part = slice(first, first + self._at_once)
            left, right = self.numbers[rows[part]], other.numbers[other_rows[part]]
            products[part] = np.einsum("ij,ij->i", left.astype(np.float64), right.astype(np.float64))
        return products

    def squares(self) -> FloatArray:
        """sum_d a_d^2 of each row.

        >>> Dense(np.array([[3.0, 4.0]])).squares()
        array([25.])
        """
        rows = np.arange(len(self))
        return self.dots(rows, self, rows)

    def products(self, other: object) -> FloatArray:
        """sum_d a_d b_d of each row and each row of the other, (rows, other rows), with the bits of `dots`.

        >>> a = Dense(np.array([[1.0, 0.0], [0.6, 0.8]]))
        >>> a.products(a).round(12)
        array([[1. , 0.6],
               [0.6, 1. ]])
        """
        if not isinstance(other, Dense):
            raise TypeError("dense vectors meet dense vectors")
        products, right = np.empty((len(self), len(other))), other.in_double().numbers
        for row, left in enumerate(self.numbers.astype(np.float64)):  # BLAS would add in an order of its own
            np.einsum("ij,ij->i", np.broadcast_to(left, right.shape), right, out=products[row])
        return products

    def in_double(self) -> "Dense":
        """The same rows in double precision."""
        return self if self.numbers.dtype == np.float64 else Dense(self.numbers.astype(np.float64))

    def arrays(self) -> dict[str, Array]:
        """The numbers in half precision: relative error 2^-11, none beyond 65504."""
        return {"numbers": self.numbers.astype(np.float16)}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Self:
        """The rows of a state, in single precision."""
        numbers = arrays["numbers"]
        if numbers.ndim != 2 or numbers.dtype.kind != "f" or not (np.abs(numbers) <= LARGEST_HALF).all():
            raise DataError(f"dense vectors are rows of finite numbers, found {numbers.dtype} of shape {numbers.shape}")
        return cls(numbers.astype(np.float32))

    @classmethod
    def stacked(cls, parts: Sequence["Dense"]) -> Self:
        """The rows of all parts."""
        return cls(np.concatenate([part.numbers for part in parts]))

    @property
    def _at_once(self) -> int:
        """How many rows have about PAIRED_NUMBERS numbers."""
        return max(PAIRED_NUMBERS // max(self.numbers.shape[1], 1), 1)
