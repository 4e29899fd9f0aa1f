"""Rows of vectors, dense or sparse, and the products of pairs of rows."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums, ragged

DENSE_NUMBERS = 1 << 20  # numbers of the rows that are spread out at once
PAIRED_NUMBERS = 1 << 18  # entries that are multiplied at once


class Vectors(Protocol):
    """One row a text."""

    def dots(self, rows: IntArray, other: "Vectors", other_rows: IntArray) -> FloatArray:
        """Product of each of the rows with the row of `other` at the same place."""
        ...


@dataclass(frozen=True, slots=True)
class Dense:
    """Every number of every row."""

    numbers: FloatArray  # (texts, dimensions)

    def dots(self, rows: IntArray, other: Vectors, other_rows: IntArray) -> FloatArray:
        """sum_d a_d b_d of each pair of rows, in parts that stay in the cache.

        >>> a = Dense(np.array([[1.0, 0.0], [0.6, 0.8]]))
        >>> a.dots(np.array([0, 1]), a, np.array([1, 1])).round(12)
        array([0.6, 1. ])
        """
        if not isinstance(other, Dense):
            raise TypeError("dense vectors meet dense vectors")
        products, at_once = np.empty(len(rows)), max(PAIRED_NUMBERS // max(self.numbers.shape[1], 1), 1)
        for first in range(0, len(rows), at_once):
            part = slice(first, first + at_once)
            products[part] = np.einsum("ij,ij->i", self.numbers[rows[part]], other.numbers[other_rows[part]])
        return products


@dataclass(frozen=True, slots=True)
class Sparse:
    """The numbers of each row that are not 0: row i owns the entries starts[i]:starts[i + 1]."""

    starts: IntArray
    columns: IntArray
    numbers: FloatArray
    dimensions: int

    def dots(self, rows: IntArray, other: Vectors, other_rows: IntArray) -> FloatArray:
        """sum_d a_d b_d of each pair of rows: a few of the rows are spread out, the entries of the others look them up.

        >>> a = Sparse(np.array([0, 1, 3]), np.array([0, 0, 2]), np.array([1.0, 0.6, 0.8]), 3)
        >>> a.dots(np.array([0, 1, 1]), a, np.array([1, 1, 0])).round(12)
        array([0.6, 1. , 0.6])
        """
        if not isinstance(other, Sparse):
            raise TypeError("sparse vectors meet sparse vectors")
        distinct, owner = np.unique(rows, return_inverse=True)
        products, at_once = np.zeros(len(rows)), max(DENSE_NUMBERS // self.dimensions, 1)
        by_owner = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[by_owner], np.arange(0, len(distinct) + at_once, at_once))
        for part, first in enumerate(range(0, len(distinct), at_once)):
            spread = self._spread(distinct[first : first + at_once])
            pairs = by_owner[bounds[part] : bounds[part + 1]]
            products[pairs] = other._looked_up(spread, owner[pairs] - first, other_rows[pairs])
        return products

    def _spread(self, rows: IntArray) -> FloatArray:
        dense = np.zeros((len(rows), self.dimensions))
        owner, step = ragged(np.diff(self.starts)[rows])
        entries = self.starts[rows][owner] + step
        dense[owner, self.columns[entries]] = self.numbers[entries]
        return dense

    def _looked_up(self, spread: FloatArray, spread_rows: IntArray, rows: IntArray) -> FloatArray:
        products, lengths = np.zeros(len(rows)), np.diff(self.starts)[rows]
        at_once = max(int(PAIRED_NUMBERS / max(lengths.mean() if len(rows) else 1, 1)), 1)
        for first in range(0, len(rows), at_once):
            part = slice(first, first + at_once)
            owner, step = ragged(lengths[part])
            entries = self.starts[rows[part]][owner] + step
            found = spread[spread_rows[part][owner], self.columns[entries]]
            products[part] = code_sums(owner, found * self.numbers[entries], len(rows[part]))
        return products
