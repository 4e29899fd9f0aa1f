"""Parts: what is counted in some groups, as tables by key, so that the parts of two shards make that of both.

A key is the digest of a text, or a pair of digests: it means the same in every shard.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from typing import Any, Generic, Protocol, Self, TypeVar

import numpy as np

from ltr.arrays import Array, FloatArray, IntArray, run_starts
from ltr.memory import MOST_KEPT, return_freed_memory
from ltr.tables.disk import BLOCK, blocks_by_key, byte_count, drop_read_pages, on_disk
from ltr.tables.keys import KEY, firsts

NOTHING: Mapping[str, Any] = {}  # no columns
AnyPart = TypeVar("AnyPart")


class Rows(Protocol):
    """A column that is no plain array: lists (`Ragged`) or vectors, a row for each key."""

    def take(self, owners: IntArray, /) -> Self:
        """These rows, in this order."""
        ...

    @classmethod
    def stacked(cls, parts: Sequence[Any], /) -> Self:
        """The rows of all parts."""
        ...


class SummedRows(Rows, Protocol):
    """Rows that can be added: vectors."""

    def sums(self, owner: IntArray, rows: IntArray, weights: FloatArray, count: int) -> Self:
        """`count` rows: row o is the sum of weights[i] * row rows[i] over the places i whose owner[i] is o."""
        ...

    def sums_without_each(self, owner: IntArray, part: IntArray, parts: int) -> Iterator[Self]:
        """For each part the sums of the rows outside it, then of all, of each owner that has such rows."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns beside distinct keys that rise: what is added where two tables have a key, and what follows from it."""

    keys: Array  # (n,) bytes: 8 of a text, 16 of a pair of texts
    sums: Mapping[str, Any] = field(default_factory=dict)  # (n, ...) numbers, or vectors
    facts: Mapping[str, Any] = field(default_factory=dict)  # (n, ...) numbers, lists or vectors

    def __len__(self) -> int:
        return len(self.keys)


Part = dict[str, Table]
LARGEST_IN_MEMORY = 256 << 20  # bytes of a table; a larger one is on disk


def table(keys: Array, sums: Mapping[str, Any] = NOTHING, *, facts: Mapping[str, Any] = NOTHING) -> Table:
    """Return the table of keys in any order, where a key may stand often: its sums are added in the order of the rows.

    >>> counts = table(np.array(["b", "a", "b"], dtype=KEY), {"times": np.array([1, 1, 1])})
    >>> counts.keys.tolist(), counts.sums["times"].tolist()
    ([b'a', b'b'], [1, 2])
    """
    for name, column in (*sums.items(), *facts.items()):
        if len(column) != len(keys):
            raise ValueError(f"the column {name} has {len(column)} rows beside {len(keys)} keys")
    order = _rising(keys)
    return _grouped(Table(keys, sums, facts), order, firsts(keys[order]))


def _rising(keys: Array) -> IntArray:
    """The places of the keys as they rise, equal ones in their order; tables, one behind the other, are merged so."""
    if keys.dtype == KEY:
        keys = keys.view(">u8").astype(np.uint64)  # four times quicker to compare than bytes
    return np.argsort(keys, kind="stable")


def _grouped(rows: Table, order: IntArray, first: IntArray) -> Table:
    """The table of rows in an order that puts those of a key side by side, from one of the first ones to the next."""
    distinct = order[first]
    return Table(
        rows.keys[distinct],
        {name: _added(column, order, first) for name, column in rows.sums.items()},
        {name: _taken(column, distinct) for name, column in rows.facts.items()},
    )


def _taken(column: Any, rows: IntArray) -> Any:
    """These rows of a column."""
    return column[rows] if isinstance(column, np.ndarray) else column.take(rows)


def _added(column: Any, order: IntArray, first: IntArray) -> Any:
    """The rows in their order, those from one of the first ones to the next added."""
    if isinstance(column, np.ndarray):
        return np.add.reduceat(column[order], first) if len(first) else column[order]
    if len(first) == len(order):
        return _taken(column, order)
    lengths = np.diff(first, append=len(order))
    alone, several = np.flatnonzero(lengths == 1), np.flatnonzero(lengths > 1)
    if len(alone) < len(several):
        return column.sums(np.repeat(np.arange(len(first)), lengths), order, np.ones(len(order)), len(first))
    members = order[np.repeat(lengths > 1, lengths)]
    owner = np.repeat(np.arange(len(several)), lengths[several])
    added = column.sums(owner, members, np.ones(len(members)), len(several))
    place = np.empty(len(first), dtype=np.int64)
    place[np.concatenate([alone, several])] = np.arange(len(first))
    return type(column).stacked([column.take(order[first[alone]]), added]).take(place)


def merged(*parts: Part, in_memory: int | None = None) -> Part:
    """Return the part of some shards together: counts are added, sets are united.

    Tables of more than `in_memory` bytes, or LARGEST_IN_MEMORY, are on disk.
    """
    most = LARGEST_IN_MEMORY if in_memory is None else in_memory
    return {name: _together([part[name] for part in parts], most) for name in parts[0]}


class Merging(Generic[AnyPart]):
    """The merge of parts as they come: two of about the same size at a time, so that none is merged often.

    >>> lengths = Merging[str](lambda left, right: left + right)
    >>> for text in "abcde":
    ...     lengths.add(text)
    >>> lengths.total()
    'abcde'
    """

    def __init__(self, merge: Callable[[AnyPart, AnyPart], AnyPart]) -> None:
        self._merge = merge
        self._waiting: list[AnyPart | None] = []  # the merge of the latest 1, 2, 4 ... parts, where there is one

    def add(self, part: AnyPart) -> None:
        """Take one more part, which comes after all before."""
        for place, earlier in enumerate(self._waiting):
            if earlier is None:
                self._waiting[place] = part
                return
            part, self._waiting[place] = self._merge(earlier, part), None
        self._waiting.append(part)

    def total(self) -> AnyPart | None:
        """Return the merge of all parts; None without any."""
        merged_parts = [part for part in self._waiting if part is not None]
        return reduce(lambda later, earlier: self._merge(earlier, later), merged_parts) if merged_parts else None


def _together(tables: Sequence[Table], in_memory: int) -> Table:
    """The rows of all tables, those of one key as one; large tables meet on disk, block by block."""
    all_columns = [_columns(table) for table in tables]
    if sum(map(byte_count, all_columns)) > in_memory:
        return _table_of(on_disk(_blocks_together(all_columns, min(BLOCK, LARGEST_IN_MEMORY))))
    return _together_in_memory(tables)


def _blocks_together(all_columns: Sequence[Mapping[tuple[str, str], Any]], at_once: int) -> Iterator[Any]:
    """The merge of the tables with these columns, block by block; what was read of maps leaves memory again."""
    for cut in blocks_by_key(all_columns, KEYS, at_once):
        yield _columns(_together_in_memory(list(map(_table_of, cut))))
        for columns in all_columns:
            drop_read_pages(columns)


def _together_in_memory(tables: Sequence[Table]) -> Table:
    """The same of tables that memory holds."""
    rows = _stacked_rows(tables)
    return table(rows.keys, rows.sums, facts=rows.facts)


def spilled(part: Part) -> Part:
    """Return the part, its large tables on disk.

    >>> spilled({"texts": table(np.array([b"a"], dtype=KEY))})["texts"].keys
    array([b'a'], dtype='|S8')
    """
    columns = {name: _columns(table) for name, table in part.items()}
    are_large = {name for name, of_table in columns.items() if byte_count(of_table) > LARGEST_IN_MEMORY}
    return part | {name: _table_of(on_disk([columns[name]])) for name in are_large}


def release(part: Part) -> None:
    """Give back the memory that reading the tables of a part took, once nothing of them is needed for a while."""
    columns = [_columns(table) for table in part.values()]
    for of_table in columns:
        drop_read_pages(of_table)
    if sum(map(byte_count, columns)) > MOST_KEPT:
        return_freed_memory()


KEYS = ("", "keys")


def _columns(table: Table) -> dict[tuple[str, str], Any]:
    """The columns of a table in one mapping, as they are written."""
    sums = {("sums", name): column for name, column in table.sums.items()}
    return {KEYS: table.keys, **sums, **{("facts", name): column for name, column in table.facts.items()}}


def _table_of(columns: Mapping[tuple[str, str], Any]) -> Table:
    """The table of these columns."""
    sums, facts = ({name: column for (of, name), column in columns.items() if of == kind} for kind in ("sums", "facts"))
    return Table(columns[KEYS], sums, facts)


def _stacked_rows(tables: Sequence[Table]) -> Table:
    """The rows of the tables, one table behind the other."""
    above = tables[0]
    return Table(
        np.concatenate([table.keys for table in tables]),
        {name: _stacked([table.sums[name] for table in tables]) for name in above.sums},
        {name: _stacked([table.facts[name] for table in tables]) for name in above.facts},
    )


def _stacked(columns: Sequence[Any]) -> Any:
    """The rows of all columns."""
    return np.concatenate(columns) if isinstance(columns[0], np.ndarray) else type(columns[0]).stacked(columns)


def parts_without_each(parts: Sequence[Part], *, in_memory: int | None = None) -> Iterator[Part]:
    """Yield for each of at least two parts the merge of the others, then that of all: the rows are sorted once for all.

    Tables that have more than `in_memory` bytes together, or LARGEST_IN_MEMORY, are merged on disk for each.

    >>> shards = [{"texts": table(np.array([key], dtype=KEY), {"times": np.ones(1)})} for key in (b"a", b"b", b"b")]
    >>> [part["texts"].sums["times"].tolist() for part in parts_without_each(shards)]
    [[2.0], [1.0, 1.0], [1.0, 1.0], [1.0, 2.0]]
    """
    most = LARGEST_IN_MEMORY if in_memory is None else in_memory
    of_tables = {name: _without_each([part[name] for part in parts], most) for name in parts[0]}
    for _ in range(len(parts) + 1):
        yield {name: next(tables) for name, tables in of_tables.items()}


def _without_each(tables: Sequence[Table], in_memory: int) -> Iterator[Table]:
    """The same of the tables of one name; large ones are merged for each."""
    if sum(byte_count(_columns(table)) for table in tables) > in_memory:
        for left_out in range(len(tables) + 1):
            yield _together([table for place, table in enumerate(tables) if place != left_out], in_memory)
        return
    rows = _stacked_rows(tables)
    order = _rising(rows.keys)
    of_table = np.repeat(np.arange(len(tables)), [len(table) for table in tables])[order]
    is_first = np.zeros(len(order), dtype=np.int64)
    is_first[firsts(rows.keys[order])] = 1
    number = np.cumsum(is_first)  # of the key of each row
    owner, part = np.empty_like(order), np.empty_like(order)
    owner[order], part[order] = number - 1, of_table
    vectors = {
        name: column.sums_without_each(owner, part, len(tables))
        for name, column in rows.sums.items()
        if not isinstance(column, np.ndarray)
    }
    others = Table(rows.keys, {name: rows.sums[name] for name in rows.sums if name not in vectors}, rows.facts)
    for left_out in range(len(tables) + 1):
        stays = (of_table != left_out).nonzero()[0]
        grouped = _grouped(others, order[stays], run_starts(number[stays]))
        sums = {name: next(vectors[name]) if name in vectors else grouped.sums[name] for name in rows.sums}
        yield Table(grouped.keys, sums, grouped.facts)


def merges_without_each(parts: Sequence[AnyPart], merge: Callable[[AnyPart, AnyPart], AnyPart]) -> Iterator[AnyPart]:
    """Yield for each of at least two parts the merge of the others, then that of all, by running merges from both ends.

    >>> list(merges_without_each(["a", "b", "c"], lambda left, right: left + right))
    ['bc', 'ac', 'ab', 'abc']
    """
    later = list(accumulate(reversed(parts[1:]), lambda right, left: merge(left, right)))  # the last of them first
    yield later.pop()
    earlier = parts[0]
    for part in parts[1:-1]:
        yield merge(earlier, later.pop())
        earlier = merge(earlier, part)
    yield earlier
    yield merge(earlier, parts[-1])
