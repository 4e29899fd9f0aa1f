"""Vectors that hold only the numbers that are not 0."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import Array, FloatArray, IntArray, RowEntries, chunks, code_sums, distinct, offsets_of
from ltr.encoders.dense_vectors import LARGEST_HALF
from ltr.errors import DataError

DENSE_NUMBERS = 1 << 18  # numbers of the rows that are spread out at once
SUMMED_ENTRIES = 1 << 18  # entries that are added up at once
PAIRED_NUMBERS = 1 << 18  # entries that are multiplied at once


@dataclass(frozen=True, slots=True)
class Sparse(RowEntries):
    """The numbers of each row that are not 0: row i owns the entries starts[i]:starts[i + 1]."""

    columns: IntArray
    numbers: FloatArray
    dimensions: int

    def take(self, rows: IntArray) -> Self:
        """These rows, in this order.

        >>> a = Sparse(np.array([0, 1, 3]), np.array([0, 0, 2]), np.array([1.0, 0.6, 0.8]), 3)
        >>> a.take(np.array([1, 1])).starts
        array([0, 2, 4])
        """
        starts, entries = self.entries(rows)
        return type(self)(starts, self.columns[entries], self.numbers[entries], self.dimensions)

    def sums(self, owner: IntArray, rows: IntArray, weights: FloatArray, count: int) -> Self:
        """sum_i weights[i] * row rows[i] over the places i of each owner, in the order of the places.

        >>> a = Sparse(np.array([0, 1, 3]), np.array([0, 0, 2]), np.array([1.0, 0.6, 0.8]), 3)
        >>> total = a.sums(np.array([1, 1]), np.array([0, 1]), np.array([2.0, 0.5]), 2)
        >>> total.starts, total.columns, total.numbers
        (array([0, 0, 2]), array([0, 2]), array([2.3, 0.4]))
        """
        by_owner = np.argsort(owner, kind="stable")
        owner, rows, weights = owner[by_owner], rows[by_owner], weights[by_owner]
        lengths, bounds = self.lengths[rows], np.searchsorted(owner, np.arange(count + 1))
        parts = []
        for first, last in chunks(offsets_of(lengths)[bounds], SUMMED_ENTRIES):
            part = slice(bounds[first], bounds[last])
            taken = self.take(rows[part])
            place = taken.owners
            cells = (owner[part] - first)[place] * self.dimensions + taken.columns
            cell, which = distinct(cells)
            numbers = code_sums(which, weights[part][place] * taken.numbers, len(cell))
            row_of, columns = np.divmod(cells[cell[numbers != 0]], self.dimensions)
            starts = offsets_of(np.bincount(row_of, minlength=last - first))
            parts.append(type(self)(starts, columns, numbers[numbers != 0], self.dimensions))
        return self.stacked(parts) if parts else self.take(rows[:0])

    def sums_without_each(self, owner: IntArray, part: IntArray, parts: int) -> Iterator[Self]:
        """The sums of the rows outside each part, then of all rows, each with weight 1, of owners that have such rows.

        >>> a = Sparse(np.array([0, 1, 3]), np.array([0, 0, 2]), np.array([1.0, 0.6, 0.8]), 3)
        >>> [sums.numbers.tolist() for sums in a.sums_without_each(np.array([0, 0]), np.array([0, 1]), 2)]
        [[0.6, 0.8], [1.0], [1.6, 0.8]]
        """
        row = self.owners
        cells, of_part, count = owner[row] * self.dimensions + self.columns, part[row], int(owner.max(initial=-1)) + 1
        first, which = distinct(cells)
        owners, columns = np.divmod(cells[first], self.dimensions)
        for left_out in range(parts + 1):
            numbers = code_sums(which, self.numbers * (of_part != left_out), len(first))
            filled = np.flatnonzero(numbers)
            listed = np.flatnonzero(np.bincount(owner[part != left_out], minlength=count))
            starts = offsets_of(np.bincount(owners[filled], minlength=count)[listed])
            yield type(self)(starts, columns[filled], numbers[filled], self.dimensions)

    def scaled(self, factor: float) -> Self:
        """Each row times the factor.

        >>> Sparse(np.array([0, 1]), np.array([0]), np.array([3.0]), 2).scaled(2.0).numbers
        array([6.])
        """
        return type(self)(self.starts, self.columns, factor * self.numbers, self.dimensions)

    def unit(self) -> Self:
        """Each row divided by its length; a zero row stays zero.

        >>> Sparse(np.array([0, 0, 2]), np.array([0, 2]), np.array([3.0, 4.0]), 3).unit().numbers
        array([0.6, 0.8])
        """
        lengths = np.sqrt(self.squares())
        scaled = self.numbers / np.repeat(np.where(lengths > 0, lengths, 1), self.lengths)
        return type(self)(self.starts, self.columns, scaled, self.dimensions)

    def dots(self, rows: IntArray, other: object, other_rows: IntArray) -> FloatArray:
        """sum_d a_d b_d of each pair of rows: a few rows are spread out, the entries of the others look them up.

        Those that are fewer are spread; columns rise in a row, so that both ways add the same numbers in one order.

        >>> a = Sparse(np.array([0, 1, 3]), np.array([0, 0, 2]), np.array([1.0, 0.6, 0.8]), 3)
        >>> a.dots(np.array([0, 1, 1]), a, np.array([1, 1, 0])).round(12)
        array([0.6, 1. , 0.6])
        """
        if not isinstance(other, Sparse):
            raise TypeError("sparse vectors meet sparse vectors")
        distinct, owner = np.unique(rows, return_inverse=True)
        if len(np.unique(other_rows)) < len(distinct):
            return other.dots(other_rows, self, rows)
        products, at_once = np.zeros(len(rows)), max(DENSE_NUMBERS // self.dimensions, 1)
        by_owner = np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[by_owner], np.arange(0, len(distinct) + at_once, at_once))
        entry_counts = other.lengths[other_rows]
        pairs_at_once = max(int(PAIRED_NUMBERS / max(entry_counts.mean(), 1)), 1) if len(rows) else 1
        for block, first in enumerate(range(0, len(distinct), at_once)):
            starts, entries = self.entries(distinct[first : first + at_once])
            row, width = RowEntries(starts).owners, self.dimensions
            cells = row * width + self.columns[entries]
            spread = code_sums(cells, self.numbers[entries], (len(starts) - 1) * width)
            for start in range(bounds[block], bounds[block + 1], pairs_at_once):
                pairs = by_owner[start : min(start + pairs_at_once, bounds[block + 1])]
                starts, entries = other.entries(other_rows[pairs])
                pair = RowEntries(starts).owners
                factors = spread[((owner[pairs] - first) * width)[pair] + other.columns[entries]]
                products[pairs] = np.bincount(pair, weights=factors * other.numbers[entries], minlength=len(pairs))
        return products

    def squares(self) -> FloatArray:
        """sum_d a_d^2 of each row.

        >>> Sparse(np.array([0, 2]), np.array([0, 2]), np.array([3.0, 4.0]), 3).squares()
        array([25.])
        """
        return code_sums(self.owners, self.numbers**2, len(self))

    def arrays(self) -> dict[str, Array]:
        """The entries, their numbers in half precision: relative error 2^-11, none beyond 65504."""
        columns = self.columns.astype(np.int32)
        numbers, dimensions = self.numbers.astype(np.float16), np.array([self.dimensions])
        return {"starts": self.starts, "columns": columns, "numbers": numbers, "dimensions": dimensions}

    @classmethod
    def restored(cls, arrays: Mapping[str, Array]) -> Self:
        """The rows of a state, in double precision."""
        starts, columns, numbers, width = (arrays[name] for name in ("starts", "columns", "numbers", "dimensions"))
        is_typed = all(array.dtype.kind == "i" for array in (starts, columns, width)) and numbers.dtype.kind == "f"
        is_shaped = starts.ndim == columns.ndim == numbers.ndim == 1 and width.shape == (1,) and len(starts) > 0
        if not (is_typed and is_shaped and len(columns) == len(numbers) and (np.abs(numbers) <= LARGEST_HALF).all()):
            raise DataError("sparse vectors are starts, columns and finite numbers, which these are not")
        are_offsets = starts[0] == 0 and starts[-1] == len(columns) and (np.diff(starts) >= 0).all()
        if not are_offsets or (len(columns) and not 0 <= columns.min() <= columns.max() < width[0]):
            raise DataError(f"the entries of sparse vectors lie outside their rows or their {width[0]} columns")
        return cls(starts.astype(np.int64), columns.astype(np.int64), numbers.astype(np.float64), int(width[0]))

    @classmethod
    def of(cls, matrix: FloatArray) -> Self:
        """The rows of a matrix.

        >>> Sparse.of(np.array([[0.0, 2.0], [0.0, 0.0]])).starts
        array([0, 1, 1])
        """
        rows, columns = np.nonzero(matrix)
        starts = offsets_of(np.bincount(rows, minlength=len(matrix)))
        return cls(starts, columns, matrix[rows, columns], matrix.shape[1])

    @classmethod
    def stacked(cls, parts: Sequence["Sparse"]) -> Self:
        """The rows of all parts."""
        lengths = np.concatenate([part.lengths for part in parts])
        columns, numbers = (np.concatenate([getattr(part, name) for part in parts]) for name in ("columns", "numbers"))
        return cls(offsets_of(lengths), columns, numbers, parts[0].dimensions)


def sparse_rows(owners: IntArray, columns: IntArray, numbers: FloatArray, shape: tuple[int, int]) -> Sparse:
    """Sparse rows from entries in the order of their owners; the shape is (rows, columns)."""
    return Sparse(offsets_of(np.bincount(owners, minlength=shape[0])), columns, numbers, max(shape[1], 1))
