"""Vectors of tools: multiplied by those of queries, tool by tool or, where a query meets many, number by number."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray, Ragged, chunks, code_sums, lengths_of, offsets_of
from ltr.encoders.dense_vectors import Dense
from ltr.encoders.sparse_vectors import Sparse
from ltr.encoders.vectors import Vectors, stacked_rows
from ltr.features.clauses import Clauses

NUMBERS_AT_ONCE = 1 << 17  # touched in a step
DENSE_SPEED = 8.0  # how many times quicker a dense number is where all tools are met: nothing is gathered
MOST_TOOLS = 1 << 12  # of a block: what is turned around or merged at once
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


class Block:
    """Some of the tools' vectors. Sparse ones are held as rows until a query first meets many of them, then turned."""

    __slots__ = ("_held", "entries", "numbers")

    def __init__(self, vectors: Vectors) -> None:
        self._held: Vectors | Postings = vectors
        self.numbers = vectors.numbers.size if isinstance(vectors, Sparse | Dense) else 0
        self.entries = (
            np.bincount(vectors.columns, minlength=vectors.dimensions) if isinstance(vectors, Sparse) else None
        )

    def __len__(self) -> int:
        held = self._held
        return held.count if isinstance(held, Postings) else len(held)

    @property
    def is_turned(self) -> bool:
        """Whether it holds postings."""
        return isinstance(self._held, Postings)

    @property
    def vectors(self) -> Vectors:
        """The rows."""
        held = self._held
        return held.vectors() if isinstance(held, Postings) else held

    def products(self, vectors: Vectors) -> FloatArray:
        """Each of the vectors by each tool, (vectors, tools)."""
        held = self._held
        if isinstance(held, Dense) and isinstance(vectors, Dense):
            return vectors.products(held)
        if isinstance(held, Sparse):
            held = self._held = Postings.of(held)  # two threads may do so at once, with one result
        if not (isinstance(held, Postings) and isinstance(vectors, Sparse)):
            raise TypeError("dense vectors meet dense vectors, sparse ones sparse ones")
        return held.products(within(vectors, len(held.starts) - 1))


def within(vectors: Sparse, dimensions: int) -> Sparse:
    """The vectors without the columns beyond those dimensions: words that no tool of a block has."""
    if vectors.dimensions == dimensions:
        return vectors
    is_within = vectors.columns < dimensions
    owners = vectors.owners[is_within]
    starts = offsets_of(np.bincount(owners, minlength=len(vectors)))
    return Sparse(starts, vectors.columns[is_within], vectors.numbers[is_within], dimensions)


@dataclass(frozen=True, slots=True)
class ToolVectors:
    """A vector for each tool, in blocks: tools that come later do not touch what is there.

    A block is merged with the one before it once it is half as long, so that few remain.
    """

    blocks: tuple[Block, ...]

    @classmethod
    def of(cls, vectors: Vectors) -> Self:
        """Those of the rows; dense ones in double precision, as products need them."""
        return cls((Block(vectors.in_double() if isinstance(vectors, Dense) else vectors),))

    def __len__(self) -> int:
        return sum(map(len, self.blocks))

    def extended(self, more: Self) -> Self:
        """These, then those of tools that came later."""
        blocks = [*self.blocks, *more.blocks]
        while len(blocks) > 1 and 2 * len(blocks[-1]) >= len(blocks[-2]) and sum(map(len, blocks[-2:])) <= MOST_TOOLS:
            last, before = blocks.pop(), blocks.pop()
            blocks.append(Block(stacked_widened([before.vectors, last.vectors])))
        return type(self)(tuple(blocks))

    def products(self, vectors: Vectors, rows: IntArray, tools: IntArray) -> FloatArray:
        """The product of each of the rows of the vectors with the tool beside it."""
        each = np.arange(len(vectors) + 1)
        return self.best(Clauses((), Ragged(each, each[:-1])), vectors, rows, tools)

    def best(self, clauses: Clauses, vectors: Vectors, queries: IntArray, tools: IntArray) -> FloatArray:
        """The largest product over the clauses of the query of each row with the tool of the row.

        `vectors` are those of the clauses. Each tool is multiplied alone, or all at once by `Postings`: whichever
        touches fewer numbers. Both add in the same order and give the same bits.
        """
        asked, counts = np.unique(queries, return_counts=True)
        asked_clauses = clauses.of_query.take(asked)
        paired = float((counts * asked_clauses.lengths).sum())
        costs = self._costs(vectors, asked_clauses.codes)
        are_turned = any(block.is_turned for block in self.blocks)
        if not are_turned and paired * self._numbers_a_tool() <= costs.sum():
            return clauses.best(queries, lambda clause, row: self._paired(vectors, clause, tools[row]))[0]
        order = np.argsort(queries, kind="stable") if (queries[1:] < queries[:-1]).any() else np.arange(len(queries))
        bounds, values = offsets_of(counts), np.empty(len(queries))
        of_asked = offsets_of(np.add.reduceat(costs, asked_clauses.starts[:-1])) if len(asked) else offsets_of([])
        for first, last in chunks(of_asked.astype(np.int64), NUMBERS_AT_ONCE):
            starts = asked_clauses.starts[first : last + 1]
            products = self._products(vectors.take(asked_clauses.codes[starts[0] : starts[-1]]))
            if len(products) > last - first:
                products = np.maximum.reduceat(products, starts[:-1] - starts[0], axis=0)
            rows = order[bounds[first] : bounds[last]]
            owner = np.arange(last - first).repeat(counts[first:last])
            values[rows] = products[owner, tools[rows]]
        return values

    def _costs(self, vectors: Vectors, codes: IntArray) -> FloatArray:
        """About how many numbers are touched when each of the vectors meets all tools."""
        costs = np.full(len(codes), float(len(self)))
        if not isinstance(vectors, Sparse):
            return costs * self._numbers_a_tool() / DENSE_SPEED
        taken = vectors.take(codes)
        lengths = taken.lengths
        for block in self.blocks:
            if block.entries is not None and lengths.any():
                met = block.entries[np.minimum(taken.columns, len(block.entries) - 1)]
                costs[lengths > 0] += np.add.reduceat(met, taken.starts[:-1][lengths > 0])
        return costs

    def _numbers_a_tool(self) -> float:
        """Mean number of numbers of a tool."""
        return sum(block.numbers for block in self.blocks) / max(len(self), 1)

    def _products(self, vectors: Vectors) -> FloatArray:
        """Each of the vectors by each tool, (vectors, tools)."""
        products = [block.products(vectors) for block in self.blocks]
        return products[0] if len(products) == 1 else np.concatenate(products, axis=1)

    def _paired(self, vectors: Vectors, rows: IntArray, tools: IntArray) -> FloatArray:
        """The product of each of the rows of the vectors with the tool beside it."""
        if len(self.blocks) == 1:
            return vectors.dots(rows, self.blocks[0].vectors, tools)
        values, first = np.empty(len(rows)), 0
        for block in self.blocks:
            members = np.flatnonzero((tools >= first) & (tools < first + len(block)))
            values[members] = vectors.dots(rows[members], block.vectors, tools[members] - first)
            first += len(block)
        return values


def stacked_widened(parts: Sequence[Vectors]) -> Vectors:
    """The rows of all parts, sparse ones as wide as the widest."""
    sparse = [part for part in parts if isinstance(part, Sparse)]
    width = max((part.dimensions for part in sparse), default=0)
    widened = [replace(part, dimensions=width) if isinstance(part, Sparse) else part for part in parts]
    return stacked_rows(widened)
