"""Rows of vectors, dense or sparse: what features take, add up, scale and multiply without knowing which."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import (
    Array,
    FloatArray,
    IntArray,
    RowEntries,
    chunks,
    code_sums,
    distinct,
    lengths_of,
    offsets_of,
    used,
)
from ltr.errors import DataError
from ltr.states import Axes

LARGEST_HALF = float(np.finfo(np.float16).max)  # a state holds numbers in half precision
AT_ONCE = 1 << 18  # numbers that are added up, multiplied or spread out at once: they stay in the cache
LONG_POSTINGS = 256  # entries a column: from here on adding column by column is quicker


class Vectors(ABC):
    """One row a text, as `Encoder.encode` gives them: of length 1, or zero for a text that says nothing.

    What `sums` gives need not have length 1; `unit` makes it so. Dense and sparse vectors never meet.
    """

    __slots__ = ()
    numbers: npt.NDArray[np.floating[Any]]  # what is held of all rows

    @abstractmethod
    def __len__(self) -> int:
        """Return the number of rows."""

    @property
    @abstractmethod
    def width(self) -> int:
        """Return how many numbers a row has, zeros as well."""

    @abstractmethod
    def take(self, rows: IntArray) -> Self:
        """Return these rows, in this order; a row may be taken often."""

    @abstractmethod
    def sums(self, owner: IntArray, rows: IntArray, weights: FloatArray, count: int) -> Self:
        """Return `count` rows: row o is the sum of weights[i] * row rows[i] over the places i whose owner[i] is o.

        owner, rows and weights have one shape, (places,); an owner without a place has a zero row. Rows are added in
        the order of the places.
        """

    @abstractmethod
    def sums_without_each(self, owner: IntArray, part: IntArray, parts: int) -> Iterator[Self]:
        """Yield the sums of the rows outside each part, then of all rows, of those owners that have such rows."""

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """Return each row times the factor, in double precision."""

    @abstractmethod
    def unit(self) -> Self:
        """Return each row divided by its length; a zero row stays zero."""

    @abstractmethod
    def dots(self, rows: IntArray, other: "Vectors", other_rows: IntArray) -> FloatArray:
        """Return the product of each of the rows with the row of `other` at the same place, (places,)."""

    def squares(self) -> FloatArray:
        """Return the product of each row with itself, (rows,)."""
        rows = np.arange(len(self))
        return self.dots(rows, self, rows)

    @abstractmethod
    def arrays(self) -> dict[str, Array]:
        """Return plain arrays for a state, the numbers in half precision: relative error 2^-11, none beyond 65504."""

    @classmethod
    @abstractmethod
    def _stacked(cls, parts: Sequence[Any]) -> Self: ...

    @staticmethod
    def stacked(parts: "Sequence[Vectors]") -> "Vectors":
        """Return the rows of all parts, one part after the other; at least one part, all of one kind and width.

        >>> Vectors.stacked([Dense(np.array([[1.0, 0.0]])), Dense(np.array([[0.0, 1.0]]))]).numbers.tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
        for part in parts[1:]:
            parts[0].refuse_other_form(part)
        return parts[0] if len(parts) == 1 else parts[0]._stacked(parts)

    @staticmethod
    def restored(arrays: Mapping[str, Array]) -> "Vectors":
        """Return the vectors whose `arrays` a state holds; raise a DataError where they cannot be vectors.

        >>> Vectors.restored(Dense(np.array([[0.5, 0.25]])).arrays()).numbers.tolist()
        [[0.5, 0.25]]
        """
        if all(hasattr(array, "dtype") for array in arrays.values()):
            if arrays.keys() == {"numbers"}:
                return _dense_rows(**arrays)
            if arrays.keys() == {"starts", "columns", "numbers", "dimensions"}:
                return _sparse_rows(**arrays)
        raise DataError(f"{', '.join(sorted(arrays)) or 'no arrays'}: neither dense nor sparse vectors")

    def refuse_other_form(self, other: "Vectors") -> None:
        """Raise unless both are dense, or both sparse, and as wide: vectors of a state may be of another encoder."""
        forms = {f"{type(one).__name__.lower()} ones of {one.width} numbers" for one in (self, other)}
        if len(forms) > 1:
            both = " and ".join(sorted(forms))
            raise DataError(f"vectors of one kind and width are needed, found {both}: what was learned is damaged")


@dataclass(frozen=True, slots=True)
class Dense(Vectors):
    """Every number of every row, in single or double precision; sums and products are made in double.

    >>> a, both = Dense(np.array([[1.0, 0.0], [0.6, 0.8]])), np.array([0, 1])
    >>> a.take(np.array([1])).numbers.tolist(), a.scaled(2.0).unit().numbers.tolist()
    ([[0.6, 0.8]], [[1.0, 0.0], [0.6, 0.8]])
    >>> a.sums(np.array([1, 1]), both, np.array([2.0, 0.5]), 2).numbers.tolist()
    [[0.0, 0.0], [2.3, 0.4]]
    >>> [sums.numbers.tolist() for sums in a.sums_without_each(np.array([0, 0]), both, 2)]
    [[[0.6, 0.8]], [[1.0, 0.0]], [[1.6, 0.8]]]
    >>> a.dots(both, a, np.array([1, 1])).round(12), a.squares().round(12)
    (array([0.6, 1. ]), array([1., 1.]))
    """

    numbers: npt.NDArray[np.floating[Any]]  # (rows, width)

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def width(self) -> int:
        return self.numbers.shape[1]

    def take(self, rows: IntArray) -> Self:
        return type(self)(self.numbers[rows])

    def sums(self, owner: IntArray, rows: IntArray, weights: FloatArray, count: int) -> Self:
        totals = np.zeros((count, self.width))
        by_owner = np.argsort(owner, kind="stable")
        for first in range(0, len(owner), self._rows_at_once):
            part = by_owner[first : first + self._rows_at_once]
            owners, starts = np.unique(owner[part], return_index=True)
            totals[owners] += np.add.reduceat(weights[part, None] * self.numbers[rows[part]], starts, axis=0)
        return type(self)(totals)

    def sums_without_each(self, owner: IntArray, part: IntArray, parts: int) -> Iterator[Self]:
        for left_out in range(parts + 1):
            rows = np.flatnonzero(part != left_out)
            listed, owners = used(owner[rows], int(owner.max(initial=-1)) + 1)
            yield self.sums(owners, rows, np.ones(len(rows)), len(listed))

    def scaled(self, factor: float) -> Self:
        return type(self)(factor * self.numbers.astype(np.float64))

    def unit(self) -> Self:
        lengths = np.linalg.norm(self.numbers, axis=1, keepdims=True)
        return type(self)(self.numbers / np.where(lengths > 0, lengths, 1).astype(self.numbers.dtype))

    def dots(self, rows: IntArray, other: Vectors, other_rows: IntArray) -> FloatArray:
        if not isinstance(other, Dense):
            raise TypeError("dense vectors meet dense vectors")
        products = np.empty(len(rows))
        for first in range(0, len(rows), self._rows_at_once):
            part = slice(first, first + self._rows_at_once)
            left, right = self.numbers[rows[part]], other.numbers[other_rows[part]]
            products[part] = np.einsum("ij,ij->i", left.astype(np.float64), right.astype(np.float64))
        return products

    def products(self, other: "Dense") -> FloatArray:
        """Return sum_d a_d b_d of each row and each row of the other, (rows, other rows), with the bits of `dots`.

        >>> a = Dense(np.array([[1.0, 0.0], [0.6, 0.8]]))
        >>> a.products(a).round(12)
        array([[1. , 0.6],
               [0.6, 1. ]])
        """
        products, right = np.empty((len(self), len(other))), other.in_double().numbers
        for row, left in enumerate(self.numbers.astype(np.float64)):  # BLAS would add in an order of its own
            np.einsum("ij,ij->i", np.broadcast_to(left, right.shape), right, out=products[row])
        return products

    def in_double(self) -> "Dense":
        """Return the same rows in double precision."""
        return self if self.numbers.dtype == np.float64 else Dense(self.numbers.astype(np.float64))

    def arrays(self) -> dict[str, Array]:
        return {"numbers": self.numbers.astype(np.float16)}

    @classmethod
    def _stacked(cls, parts: Sequence["Dense"]) -> Self:
        return cls(np.concatenate([part.numbers for part in parts]))

    @property
    def _rows_at_once(self) -> int:
        return max(AT_ONCE // max(self.width, 1), 1)


def _dense_rows(numbers: Array) -> Dense:
    """Return the rows of a state, in single precision."""
    if numbers.ndim != 2 or numbers.dtype.kind != "f" or not (np.abs(numbers) <= LARGEST_HALF).all():
        raise DataError(f"dense vectors are rows of finite numbers, found {numbers.dtype} of shape {numbers.shape}")
    return Dense(numbers.astype(np.float32))


@dataclass(frozen=True, slots=True)
class Sparse(RowEntries, Vectors):
    """The numbers of each row that are not 0: row i owns the entries starts[i]:starts[i + 1], its columns rising.

    >>> a = Sparse(np.array([0, 1, 3]), np.array([0, 0, 2]), np.array([1.0, 0.6, 0.8]), 3)
    >>> a.take(np.array([1, 1])).starts, a.scaled(2.0).unit().numbers
    (array([0, 2, 4]), array([1. , 0.6, 0.8]))
    >>> total = a.sums(np.array([1, 1]), np.array([0, 1]), np.array([2.0, 0.5]), 2)
    >>> total.starts, total.columns, total.numbers
    (array([0, 0, 2]), array([0, 2]), array([2.3, 0.4]))
    >>> [sums.numbers.tolist() for sums in a.sums_without_each(np.array([0, 0]), np.array([0, 1]), 2)]
    [[0.6, 0.8], [1.0], [1.6, 0.8]]
    >>> a.dots(np.array([0, 1, 1]), a, np.array([1, 1, 0])).round(12), a.squares().round(12)
    (array([0.6, 1. , 0.6]), array([1., 1.]))
    """

    columns: IntArray
    numbers: FloatArray
    dimensions: int

    @classmethod
    def of(cls, owners: IntArray, columns: IntArray, numbers: FloatArray, shape: tuple[int, int]) -> Self:
        """Return rows from entries in the order of their owners; the shape is (rows, columns)."""
        return cls(offsets_of(np.bincount(owners, minlength=shape[0])), columns, numbers, max(shape[1], 1))

    @property
    def width(self) -> int:
        return self.dimensions

    def take(self, rows: IntArray) -> Self:
        starts, entries = self.entries(rows)
        return type(self)(starts, self.columns[entries], self.numbers[entries], self.dimensions)

    def sums(self, owner: IntArray, rows: IntArray, weights: FloatArray, count: int) -> Self:
        by_owner = np.argsort(owner, kind="stable")
        owner, rows, weights = owner[by_owner], rows[by_owner], weights[by_owner]
        lengths, bounds = self.lengths[rows], np.searchsorted(owner, np.arange(count + 1))
        parts = []
        for first, last in chunks(offsets_of(lengths)[bounds], AT_ONCE):
            part = slice(bounds[first], bounds[last])
            taken = self.take(rows[part])
            place = taken.owners
            cells = (owner[part] - first)[place] * self.dimensions + taken.columns
            cell, which = distinct(cells)
            numbers = code_sums(which, weights[part][place] * taken.numbers, len(cell))
            row_of, columns = np.divmod(cells[cell[numbers != 0]], self.dimensions)
            parts.append(self.of(row_of, columns, numbers[numbers != 0], (last - first, self.dimensions)))
        return self._stacked(parts) if parts else self.take(rows[:0])

    def sums_without_each(self, owner: IntArray, part: IntArray, parts: int) -> Iterator[Self]:
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
        return type(self)(self.starts, self.columns, factor * self.numbers, self.dimensions)

    def unit(self) -> Self:
        lengths = np.sqrt(self.squares())
        scaled = self.numbers / np.repeat(np.where(lengths > 0, lengths, 1), self.lengths)
        return type(self)(self.starts, self.columns, scaled, self.dimensions)

    def dots(self, rows: IntArray, other: Vectors, other_rows: IntArray) -> FloatArray:
        """Spread a few rows out, in which the entries of the others look up their factors.

        Those that are fewer are spread; columns rise in a row, so that both ways add the same numbers in one order.
        """
        if not isinstance(other, Sparse):
            raise TypeError("sparse vectors meet sparse vectors")
        distinct, owner = np.unique(rows, return_inverse=True)
        if len(np.unique(other_rows)) < len(distinct):
            return other.dots(other_rows, self, rows)
        products, width = np.zeros(len(rows)), self.dimensions
        at_once, by_owner = max(AT_ONCE // width, 1), np.argsort(owner, kind="stable")
        bounds = np.searchsorted(owner[by_owner], np.arange(0, len(distinct) + at_once, at_once))
        entry_counts = other.lengths[other_rows]
        pairs_at_once = max(int(AT_ONCE / max(entry_counts.mean(), 1)), 1) if len(rows) else 1
        for block, first in enumerate(range(0, len(distinct), at_once)):
            starts, entries = self.entries(distinct[first : first + at_once])
            cells = RowEntries(starts).owners * width + self.columns[entries]
            spread = code_sums(cells, self.numbers[entries], (len(starts) - 1) * width)
            for start in range(bounds[block], bounds[block + 1], pairs_at_once):
                pairs = by_owner[start : min(start + pairs_at_once, bounds[block + 1])]
                starts, entries = other.entries(other_rows[pairs])
                pair = RowEntries(starts).owners
                factors = spread[((owner[pairs] - first) * width)[pair] + other.columns[entries]]
                products[pairs] = np.bincount(pair, weights=factors * other.numbers[entries], minlength=len(pairs))
        return products

    def squares(self) -> FloatArray:
        return code_sums(self.owners, self.numbers**2, len(self))

    def arrays(self) -> dict[str, Array]:
        columns, numbers = self.columns.astype(np.int32), self.numbers.astype(np.float16)
        return {
            "starts": self.starts,
            "columns": columns,
            "numbers": numbers,
            "dimensions": np.array([self.dimensions]),
        }

    @classmethod
    def _stacked(cls, parts: Sequence["Sparse"]) -> Self:
        lengths = np.concatenate([part.lengths for part in parts])
        columns, numbers = (np.concatenate([getattr(part, name) for part in parts]) for name in ("columns", "numbers"))
        return cls(offsets_of(lengths), columns, numbers, parts[0].dimensions)


def _sparse_rows(starts: Array, columns: Array, numbers: Array, dimensions: Array) -> Sparse:
    """Return the rows of a state, in double precision."""
    is_typed = all(array.dtype.kind == "i" for array in (starts, columns, dimensions)) and numbers.dtype.kind == "f"
    is_shaped = starts.ndim == columns.ndim == numbers.ndim == 1 and dimensions.shape == (1,) and len(starts) > 0
    if not (is_typed and is_shaped and len(columns) == len(numbers) and (np.abs(numbers) <= LARGEST_HALF).all()):
        raise DataError("sparse vectors are starts, columns and finite numbers, which these are not")
    are_offsets = starts[0] == 0 and starts[-1] == len(columns) and (np.diff(starts) >= 0).all()
    if not are_offsets or (len(columns) and not 0 <= columns.min() <= columns.max() < dimensions[0]):
        raise DataError(f"the entries of sparse vectors lie outside their rows or their {dimensions[0]} columns")
    return Sparse(starts.astype(np.int64), columns.astype(np.int64), numbers.astype(np.float64), int(dimensions[0]))


@dataclass(frozen=True, slots=True)
class Postings:
    """Sparse rows turned around: which rows have a number in each column."""

    starts: IntArray  # (columns + 1,)
    rows: npt.NDArray[Any]  # of each entry, in few bytes, rising inside a column
    numbers: FloatArray
    count: int  # of rows

    @classmethod
    def of(cls, vectors: Sparse) -> "Postings":
        """Turn the rows around.

        >>> Postings.of(Sparse(np.array([0, 1, 3]), np.array([1, 0, 1]), np.array([2.0, 3.0, 4.0]), 2)).rows
        array([1, 0, 1], dtype=uint16)
        """
        columns = vectors.columns.astype(_least_type(vectors.dimensions))  # 16 bits are sorted many times quicker
        order = np.argsort(columns, kind="stable")
        starts = offsets_of(np.bincount(vectors.columns, minlength=vectors.dimensions))
        owners = np.arange(len(vectors), dtype=_least_type(len(vectors))).repeat(vectors.lengths)
        return cls(starts, owners[order], vectors.numbers[order], len(vectors))

    def vectors(self) -> Sparse:
        """Return the rows as they were."""
        order = np.argsort(self.rows, kind="stable")
        columns = np.arange(len(self.starts) - 1).repeat(lengths_of(self.starts))
        starts = offsets_of(np.bincount(self.rows, minlength=self.count))
        return Sparse(starts, columns[order], self.numbers[order], len(self.starts) - 1)

    def products(self, vectors: Sparse) -> FloatArray:
        """Return sum_d a_d b_d of each vector and each row, (vectors, rows), added by rising column.

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


def _least_type(count: int) -> type[np.unsignedinteger[Any]]:
    """Return 16-bit integers where they can number so many, else 32-bit ones."""
    return np.uint16 if count <= 1 << 16 else np.uint32


@dataclass(frozen=True, slots=True)
class StoredVectors:
    """The type of vectors in a state: what `arrays` returns, one row for each place of the axis."""

    axis: str

    def check(self, value: Any, path: str, axes: Axes) -> None:
        """Raise unless they can be read and are as many."""
        try:
            vectors = Vectors.restored(value if isinstance(value, dict) else {})
            if isinstance(vectors, Sparse) and axes.encoded is not None:  # no array of theirs is as wide as they say
                vectors.refuse_other_form(axes.encoded())
        except DataError as error:
            raise DataError(f"{path}: {error}") from error
        axes.set_length(self.axis, len(vectors), path)
