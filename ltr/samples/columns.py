"""Columns as data: each is declared once, at its field, and taken, stacked, stored and read as it is declared there.

    traces: IntArray = field(metadata={"column": Coded("groups", "trace_ids")})

The functions at the end do for all columns of a class what a column does for itself; none knows one by its name.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache
from itertools import chain
from typing import Any, Literal

import msgspec
import numpy as np

from ltr.arrays import (
    Array,
    Codes,
    FloatArray,
    IntArray,
    as_floats,
    checked_codes,
    pack_texts,
    recoded,
    refuse_outside,
    unpack_texts,
)
from ltr.errors import DataError

Axis = Literal["groups", "rows"]
Places = Mapping[Axis, IntArray | slice]  # of the entries that are taken
Fields = dict[str, Any]  # of an object: columns and their tables, by name
Arrays = Mapping[str, Array]
Check = Callable[[str, Array, IntArray], Array]  # of name, array and offsets: the entries, if a file may hold them

NO_CODES = np.empty(0, dtype=np.int64)  # of a column that candidates of this kind do not have
NEEDED: Any = object()  # in the place of an absent entry: the column is always there


@dataclass(frozen=True, slots=True)
class Column:
    """An array with an entry for each group or each row. Where it is None, each entry is `absent`."""

    axis: Axis
    absent: Any = field(default=NEEDED, kw_only=True)
    check: Check | None = field(default=None, kw_only=True)  # None: no file holds it
    name: str = field(default="", kw_only=True)  # of its field, which `columns` fills in

    def at(self, owner: Any, places: IntArray | slice) -> Fields:
        """Return the entries at the places, and the whole table that they point into."""
        entries = getattr(owner, self.name)
        if entries is None or not len(entries):  # candidates of this kind have none
            return {self.name: entries}
        if isinstance(entries, tuple) and not isinstance(places, slice):
            return {self.name: tuple(entries[place] for place in places.tolist())}
        return {self.name: entries[places]}

    def cut(self, fields: Fields) -> Fields:
        """Return what `at` returned, the table cut to what is used, in order of first appearance."""
        return fields

    def stacked(self, owners: Sequence[Any], sizes: Sequence[int]) -> Fields:
        """Return the entries of all owners, so many each; None where all are absent."""
        parts = [getattr(owner, self.name) for owner in owners]
        missing = sum(part is None for part in parts)
        if missing and (missing == len(parts) or self.absent is NEEDED):
            return {self.name: None}
        filled = [np.full(n, self.absent) if part is None else part for part, n in zip(parts, sizes, strict=True)]
        return {self.name: np.concatenate(filled)}

    def stored(self, owner: Any) -> dict[str, Array | Sequence[str]]:
        """Return what a file holds: arrays, and texts that are yet to be packed; nothing where the column is None."""
        entries = getattr(owner, self.name)
        return {} if entries is None or self.check is None else {self.name: entries}

    def read(self, arrays: Arrays, offsets: IntArray) -> Fields:
        """Return the entries that a file holds; an error of any kind unless they are as many as the last offset."""
        if self.check is None:
            return {}
        is_absent = self.absent is not NEEDED and self.name not in arrays
        return {self.name: None if is_absent else self.check(self.name, arrays[self.name], offsets)}


@dataclass(frozen=True, slots=True)
class Texts(Column):
    """A tuple with a text for each group."""

    def stacked(self, owners: Sequence[Any], sizes: Sequence[int]) -> Fields:
        """Return the texts of all owners; None where none says anything."""
        parts = zip((getattr(owner, self.name) for owner in owners), sizes, strict=True)
        texts = tuple(chain(*((self.absent,) * size if part is None else part for part, size in parts)))
        return {self.name: texts if self.absent is NEEDED or any(texts) else None}

    def stored(self, owner: Any) -> dict[str, Array | Sequence[str]]:
        """Return the texts."""
        texts = getattr(owner, self.name)
        return {} if texts is None else {self.name: texts}

    def read(self, arrays: Arrays, offsets: IntArray) -> Fields:
        """Return the texts, if they are as many as there are groups."""
        if self.absent is not NEEDED and self.name not in arrays:
            return {self.name: None}
        texts = unpacked(arrays, self.name)
        if len(texts) != offsets[-1]:
            raise DataError(f"{len(texts)} {self.name.replace('_', ' ')} do not fit {offsets[-1]} {self.axis}")
        return {self.name: texts}


@dataclass(frozen=True, slots=True)
class Table:
    """How a file holds a table: as texts under one name or several, its own without any."""

    names: tuple[str, ...] = ()
    texts_of: Callable[[Sequence[Any]], Sequence[Sequence[str]]] = lambda table: [table]
    values_of: Callable[..., tuple[Any, ...]] = lambda texts: texts


def json_table(type: Any, *, is_sound: Callable[[Any], bool] = lambda _: True) -> Table:
    """Return a table of values of the type, each of which a file holds as JSON."""

    def values_of(texts: Sequence[str]) -> tuple[Any, ...]:
        values = tuple(msgspec.json.decode(text, type=type) for text in texts)
        if not all(map(is_sound, values)):
            raise DataError(f"a {type.__name__} in it cannot be")
        return values

    return Table(texts_of=lambda table: [[msgspec.json.encode(value).decode() for value in table]], values_of=values_of)


@dataclass(frozen=True, slots=True)
class Coded(Column):
    """Codes: places in a table of distinct values, which another field holds.

    `absent` is NO_CODES where a file may lack them, because an earlier version wrote none.
    """

    table: str
    held: Table = Table()
    of_one_kind: bool = False  # codes and table are empty where candidates are of the other kind

    def at(self, owner: Any, places: IntArray | slice) -> Fields:
        """Return the codes at the places, and the table."""
        return Column.at(self, owner, places) | {self.table: getattr(owner, self.table)}

    def cut(self, fields: Fields) -> Fields:
        """Return the codes of the values in use, and these.

        >>> Coded("rows", "texts", name="codes").cut({"codes": np.array([2, 0, 2]), "texts": ("a", "b", "c")})
        {'codes': array([0, 1, 0]), 'texts': ('c', 'a')}
        """
        codes, table = fields[self.name], fields[self.table]
        if codes is None or not codes.size:
            return {self.name: codes, self.table: ()}
        codes, places = recoded(codes)
        return {self.name: codes, self.table: tuple(table[place] for place in places.tolist())}

    def stacked(self, owners: Sequence[Any], sizes: Sequence[int]) -> Fields:
        """Return the codes of all owners in one table; None where the first has none, and no other says anything."""
        parts = [(getattr(owner, self.name), getattr(owner, self.table)) for owner in owners]
        if self.of_one_kind and any(size and not codes.size for (codes, _), size in zip(parts, sizes, strict=True)):
            return {self.name: NO_CODES, self.table: ()}
        if parts[0][0] is None and all(value == self.absent for _, table in parts for value in table):
            return {self.name: None, self.table: ()}
        places, stacked = Codes(), []
        for (codes, table), size in zip(parts, sizes, strict=True):
            if codes is None:
                codes, table = np.zeros(size, dtype=np.int64), (self.absent,)
            own = np.array([places[value] for value in table], dtype=np.int64)
            stacked.append(own[codes] if own.size else codes)
        return {self.name: np.concatenate(stacked), self.table: tuple(places)}

    def stored(self, owner: Any) -> dict[str, Array | Sequence[str]]:
        """Return the codes, and the texts of the table."""
        codes, table = getattr(owner, self.name), getattr(owner, self.table)
        if codes is None or (self.absent is NO_CODES and not codes.size):
            return {}
        return {self.name: codes, **dict(zip(self.held.names or (self.table,), self.held.texts_of(table), strict=True))}

    def read(self, arrays: Arrays, offsets: IntArray) -> Fields:
        """Return the codes, if they fit the table, and the table."""
        if self.absent is not NEEDED and self.name not in arrays:
            return {self.name: NO_CODES if self.of_one_kind else None, self.table: ()}
        table = self.held.values_of(*(unpacked(arrays, name) for name in self.held.names or (self.table,)))
        is_empty = self.of_one_kind and not table
        codes = NO_CODES if is_empty else checked_codes(arrays[self.name], int(offsets[-1]), table)
        return {self.name: codes, self.table: table}


@cache
def columns(of: Any) -> tuple[Column, ...]:
    """Return the columns of a class, in the order of its fields."""
    declared = ((field.name, field.metadata.get("column")) for field in fields(of))
    return tuple(replace(column, name=name) for name, column in declared if column is not None)


def at(of: Any, owner: Any, places: Places, *, cut: bool = False) -> Fields:
    """Return the entries of the columns of these axes at the places; tables may be cut to what is used."""
    taken: Fields = {}
    for column in columns(of):
        if column.axis in places:
            entries = column.at(owner, places[column.axis])
            taken |= column.cut(entries) if cut else entries
    return taken


def coded(of: Any, **values: Iterable[Any]) -> Fields:
    """Return the codes of columns with these values, and the tables, in order of first appearance."""
    coded: Fields = {}
    for column in columns(of):
        if isinstance(column, Coded) and column.name in values:
            codes = Codes()
            coded[column.name] = np.array([codes[value] for value in values[column.name]], dtype=np.int64)
            coded[column.table] = tuple(codes)
    return coded


def stacked(of: Any, owners: Sequence[Any], sizes: Mapping[Axis, Sequence[int]]) -> Fields:
    """Return the entries of all owners, one after the other, in common tables."""
    parts = (column.stacked(owners, sizes[column.axis]) for column in columns(of))
    return {name: entries for part in parts for name, entries in part.items()}


def packed(pairs: Iterable[tuple[Column, Any]]) -> dict[str, Array]:
    """Return what a file holds of columns and their owners: the arrays, then the texts, packed."""
    arrays, packed = dict[str, Array](), dict[str, Array]()
    for column, owner in pairs:
        for name, values in column.stored(owner).items():
            if isinstance(values, np.ndarray):
                arrays[name] = values
            else:
                packed[name], packed[f"{name}.ends"] = pack_texts(values)
    return arrays | packed


def unpacked(arrays: Arrays, name: str) -> tuple[str, ...]:
    """Return the texts of that name."""
    return unpack_texts(arrays[name], arrays[f"{name}.ends"])


def read(of: Any, arrays: Arrays, offsets: IntArray) -> Fields:
    """Return the columns that a file holds; `offsets` are those of its groups."""
    own: Mapping[Axis, IntArray] = {"groups": np.arange(len(offsets)), "rows": offsets}
    parts = (column.read(arrays, own[column.axis]) for column in columns(of))
    return {name: entries for part in parts for name, entries in part.items()}


def places_in(values: Sequence[object]) -> Check:
    """Return the check of numbers that are places among the values."""
    return lambda _, codes, offsets: checked_codes(codes, int(offsets[-1]), values)


def at_least(least: float) -> Check:
    """Return the check of numbers as samples may hold them; NaN where there is none."""

    def checked(name: str, column: Array, offsets: IntArray) -> FloatArray:
        if column.shape != (offsets[-1],):
            raise DataError(f"{name}: {offsets[-1]} numbers are needed, found shape {column.shape}")
        numbers = as_floats(name, column)
        refuse_outside(name, np.where(np.isnan(numbers), 0.0, numbers), offsets, least=least)
        return numbers

    return checked
