"""Vectors of tools: multiplied by those of queries, tool by tool or, where a query meets many, number by number."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged, chunks, offsets_of
from ltr.encoders.dense_vectors import Dense
from ltr.encoders.inverted_index import Postings
from ltr.encoders.sparse_vectors import Sparse
from ltr.encoders.vectors import Vectors, stacked_rows
from ltr.features.clauses import Clauses

NUMBERS_AT_ONCE = 1 << 17  # touched in a step
DENSE_SPEED = 8.0  # how many times quicker a dense number is where all tools are met: nothing is gathered
MOST_TOOLS = 1 << 12  # of a block: what is turned around or merged at once


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
