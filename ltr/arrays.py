"""Columns with offsets: the arrays that the package computes with, and the checks of arrays from outside.

A group is a slice of rows: group g owns rows offsets[g]:offsets[g + 1], at least one.
"""

from collections.abc import Iterator, Mapping, Sequence, Set, Sized
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from ltr.errors import ArrayError, DataError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
State = dict[str, Any]  # what a feature or an encoder has learned: JSON values and arrays of numbers, nothing else

LARGEST = 1e300  # beyond it, differences inside a group overflow

Array = npt.NDArray[Any]


def as_array(argument: str, values: Any) -> npt.NDArray[Any]:
    """The values as numpy holds them; what has no shape, or hides values behind a mask, is refused."""
    if type(values) is np.ndarray:
        return values
    if isinstance(values, np.ma.MaskedArray):
        raise ArrayError(argument, "", "a masked array hides values; fill or drop them first")
    if values is None or isinstance(values, (str, bytes, Mapping, Set, Iterator)):
        raise ArrayError(argument, "", f"an array or a list of numbers is needed, found {type(values).__name__}")
    try:
        array: npt.NDArray[Any] = np.asarray(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise ArrayError(argument, "", _unequal_rows(values) or str(error)) from error
    return array


def _unequal_rows(values: object) -> str:
    """The first row of a list of lists whose length differs, in words; "" where all are equal."""
    rows = values if isinstance(values, Sequence) else ()
    lengths = [len(row) if isinstance(row, Sized) else 1 for row in rows]
    other = next((row for row, length in enumerate(lengths) if length != lengths[0]), None)
    return "" if other is None else f"row {other} has {lengths[other]} numbers, row 0 has {lengths[0]}"


def as_offsets(offsets: npt.ArrayLike, rows: int) -> IntArray:
    """The offsets as int64, starting at 0, rising by at least one, ending at the number of rows.

    >>> as_offsets([0, 2, 3], 3)
    array([0, 2, 3])
    """
    checked = as_array("offsets", offsets)
    if checked.ndim != 1 or checked.size == 0 or checked.dtype.kind not in "iu":
        raise ArrayError(
            "offsets", "", f"one axis of integers is needed, found shape {checked.shape} of {checked.dtype}"
        )
    if checked[0] != 0:
        raise ArrayError("offsets", "[0]", f"{checked[0]}; the first group starts at row 0")
    empty = np.flatnonzero(checked[1:] <= checked[:-1])  # compared in their own type: another might wrap
    if empty.size:
        group = int(empty[0])
        raise ArrayError("offsets", "", f"group {group} is empty: {checked[group]} to {checked[group + 1]}")
    if checked[-1] != rows:
        raise ArrayError("offsets", "[-1]", f"{checked[-1]}; there are {rows} rows")
    return checked.astype(np.int64)


def as_matrix(argument: str, values: npt.ArrayLike, offsets: npt.ArrayLike) -> tuple[FloatArray, IntArray]:
    """Rows by features in C order, every number finite, at least one feature; and the offsets that fit them."""
    matrix = as_floats(argument, values)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise ArrayError(argument, "", f"rows x features is needed, at least one feature, found shape {matrix.shape}")
    fitting = as_offsets(offsets, len(matrix))
    refuse_outside(argument, matrix, fitting, least=-LARGEST)
    return matrix, fitting


def as_column(argument: str, values: npt.ArrayLike, offsets: IntArray, *, least: float = -LARGEST) -> FloatArray:
    """One finite number a row, none below `least`."""
    column = as_floats(argument, values)
    if column.shape != (offsets[-1],):
        raise ArrayError(argument, "", f"one number a row is needed ({offsets[-1]},), found shape {column.shape}")
    refuse_outside(argument, column, offsets, least=least)
    return column


def as_weights(weights: npt.ArrayLike | None, groups: int) -> FloatArray:
    """One finite weight above 0 a group, none too small beside the largest; all 1 without any."""
    if weights is None:
        return np.ones(groups)
    checked = as_floats("weights", weights)
    if checked.shape != (groups,):
        raise ArrayError("weights", "", f"one number a group is needed ({groups},), found shape {checked.shape}")
    bad = np.flatnonzero(~(np.isfinite(checked) & (checked > 0)))
    if bad.size:
        raise ArrayError("weights", f"[{bad[0]}] (group {bad[0]})", f"{checked[bad[0]]} must be finite and above 0")
    least, problem = vanishing(checked)
    if problem:
        raise ArrayError("weights", f"[{least}] (group {least})", problem)
    return checked


def vanishing(weights: FloatArray) -> tuple[int, str]:
    """The place of the least weight, and why it cannot stand beside the largest; "" where it can.

    >>> vanishing(np.array([1.0, 0.5]))
    (1, '')
    """
    least, largest = int(np.argmin(weights)) if weights.size else 0, weights.max(initial=0)
    if not weights.size or weights[least] >= largest / LARGEST:
        return least, ""
    return least, f"{weights[least]} vanishes beside the largest, {largest}; keep their ratio below {LARGEST:g}"


def as_floats(argument: str, values: npt.ArrayLike) -> FloatArray:
    """The values as float64 in C order; anything that is not a number is refused."""
    if type(values) is np.ndarray and values.dtype == np.float64 and values.flags.c_contiguous:
        return values
    array = as_array(argument, values)
    if array.dtype.kind == "b":
        raise ArrayError(argument, "", f"numbers are needed, found bool; use {argument}.astype(float)")
    if array.dtype.kind not in "fiu":
        raise ArrayError(argument, *_not_a_number(array))
    with np.errstate(over="ignore"):  # a longer float may become infinite, which the caller refuses with its place
        return np.ascontiguousarray(array, dtype=np.float64) if array.ndim else array.astype(np.float64)


def _not_a_number(array: npt.NDArray[Any]) -> tuple[str, str]:
    """The place of the first cell that is not a float, an integer or a flag, and what stands there."""
    problem = f"numbers are needed, found {array.dtype}"
    for index in np.ndindex(array.shape if array.dtype.kind in "OSU" else (0,)):
        if not isinstance(array[index], (float, int, np.floating, np.integer)):
            place = f"[{', '.join(map(str, index))}]" if index else ""
            return place, f"{problem}: {str(array[index])[:40]!r} is a {type(array[index]).__name__}"
    return "", problem


def refuse_outside(argument: str, values: FloatArray, offsets: IntArray, *, least: float) -> None:
    """Raise for the first value that is not finite or lies outside least..LARGEST, naming its group and row."""
    if values.size == 0 or (values.min() >= least and values.max() <= LARGEST):  # NaN fails both
        return
    index = np.unravel_index(int(np.argmin((values >= least) & (values <= LARGEST))), values.shape)
    row = int(index[0])
    group = int(groups_of(np.array([row]), offsets)[0])
    place = f"[{', '.join(str(int(i)) for i in index)}] (group {group}, row {row - offsets[group]})"
    raise ArrayError(argument, place, f"{values[index]}; it must be finite, from {least:g} to {LARGEST:g}")


def groups_of(rows: IntArray, offsets: IntArray) -> IntArray:
    """The group each row belongs to.

    >>> groups_of(np.array([0, 2, 4]), np.array([0, 2, 5]))
    array([0, 1, 1])
    """
    return np.searchsorted(offsets, rows, side="right") - 1


def owners(rows: IntArray, offsets: IntArray) -> IntArray:
    """The group each row belongs to, of rows that rise: quicker than groups_of where they are many.

    >>> owners(np.array([0, 2, 4]), np.array([0, 2, 5]))
    array([0, 1, 1])
    """
    return np.repeat(np.arange(len(offsets) - 1), np.diff(np.searchsorted(rows, offsets)))


def group_sums(values: FloatArray, offsets: IntArray) -> FloatArray:
    """Sum of each group's rows.

    >>> group_sums(np.array([1.0, 2.0, 3.0]), np.array([0, 2, 3]))
    array([3., 3.])
    """
    return np.add.reduceat(values, offsets[:-1], dtype=np.float64)


def linear_scores(phi: FloatArray, w: FloatArray) -> FloatArray:
    """Return the score of each candidate: s_i = sum_j w_j * phi_ij.

    Not phi @ w: a BLAS kernel may round a row by its place in the matrix, and equal rows must tie.

    >>> linear_scores(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([1.0, 10.0]))
    array([21., 43.])
    """
    summed: FloatArray = np.einsum("ij,j->i", phi, w)
    return summed


def code_sums(codes: IntArray, values: FloatArray, length: int) -> FloatArray:
    """Sum of the values of each code 0 .. length - 1, added in their order.

    >>> code_sums(np.array([1, 0, 1]), np.array([1.0, 2.0, 3.0]), 3)
    array([2., 4., 0.])
    """
    return np.bincount(codes, weights=values, minlength=length).astype(np.float64, copy=False)


def distinct(codes: IntArray) -> tuple[IntArray, IntArray]:
    """For each distinct code, in rising order, its first index; and for each code the number of its distinct code.

    Sorts each code with its place in one number, many times quicker than np.unique sorts them apart.

    >>> distinct(np.array([7, 3, 7]))
    (array([1, 0]), array([1, 0, 1]))
    """
    bits = len(codes).bit_length()
    if int(codes.max(initial=0)) >> (62 - bits):
        _, first, which = np.unique(codes, return_index=True, return_inverse=True)
        return first, which
    packed = np.sort((codes << bits) | np.arange(len(codes)))
    listed, place = packed >> bits, packed & ((1 << bits) - 1)
    is_first = np.ones(len(codes), dtype=bool)
    np.not_equal(listed[1:], listed[:-1], out=is_first[1:])
    which = np.empty_like(place)
    which[place] = np.cumsum(is_first) - 1
    return place[is_first], which


def recoded(codes: IntArray) -> tuple[IntArray, IntArray]:
    """The codes renumbered in order of first appearance, and the old code of each new one.

    >>> recoded(np.array([7, 3, 7]))
    (array([0, 1, 0]), array([7, 3]))
    """
    first, which = distinct(codes)
    order = np.argsort(first)
    renumbered = np.empty_like(order)
    renumbered[order] = np.arange(len(order))
    return renumbered[which], codes[first[order]]


class Codes(dict[Any, int]):
    """Codes of texts and other keys: whole numbers from 0, in order of first appearance.

    >>> codes = Codes()
    >>> codes["b"], codes["a"], codes["b"]
    (0, 1, 0)
    """

    def __missing__(self, key: Any) -> int:
        self[key] = code = len(self)
        return code


def checked_codes(codes: Array, length: int, table: Sequence[object]) -> IntArray:
    """Return the codes, so many places in the table; an error of any kind where they do not fit."""
    if codes.shape != (length,) or codes.dtype.kind != "i" or not 0 <= codes.min() <= codes.max() < len(table):
        raise DataError(f"{length} places in a table of {len(table)} are needed")
    return codes.astype(np.int64)


def run_starts(codes: IntArray) -> IntArray:
    """Where each run of equal codes begins.

    >>> run_starts(np.array([3, 3, 7, 3]))
    array([0, 2, 3])
    """
    is_first = np.ones(len(codes), dtype=bool)
    np.not_equal(codes[1:], codes[:-1], out=is_first[1:])
    return is_first.nonzero()[0]


def used(codes: IntArray, count: int) -> tuple[IntArray, IntArray]:
    """The distinct codes, of `count` that there are, and the place of each code among them.

    >>> used(np.array([7, 3, 7]), 9)
    (array([3, 7]), array([1, 0, 1]))
    """
    is_used = np.zeros(count, dtype=np.int64)
    is_used[codes] = 1
    return np.flatnonzero(is_used), (np.cumsum(is_used) - 1)[codes]


def offsets_of(lengths: IntArray | Sequence[int]) -> IntArray:
    """The offsets of consecutive slices of these lengths, from 0 to their sum.

    >>> offsets_of([2, 0, 1])
    array([0, 2, 2, 3])
    """
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.add.accumulate(lengths, dtype=np.int64, out=offsets[1:])
    return offsets


def lengths_of(offsets: IntArray) -> IntArray:
    """The lengths of consecutive slices that lie at these offsets: np.diff, which is slower on the few of a query.

    >>> lengths_of(np.array([0, 2, 2, 3]))
    array([2, 0, 1])
    """
    lengths: IntArray = offsets[1:] - offsets[:-1]
    return lengths


def chunks(offsets: IntArray, rows: int) -> Iterator[tuple[int, int]]:
    """Consecutive chunks of complete groups, first:last, of about `rows` rows: a pass over one stays in the cache.

    >>> list(chunks(np.array([0, 2, 4, 6, 8]), rows=4))
    [(0, 2), (2, 4)]
    """
    first, last = 0, len(offsets) - 1
    while first < last:
        stop = int(np.searchsorted(offsets, offsets[first] + rows, side="right")) - 1
        stop = max(stop, first + 1)
        yield first, stop
        first = stop


def ragged(lengths: IntArray) -> tuple[IntArray, IntArray]:
    """For each length n the pairs (its index, 0), ..., (its index, n - 1), as two flat arrays.

    >>> ragged(np.array([2, 0, 1]))
    (array([0, 0, 2]), array([0, 1, 0]))
    """
    owner = np.arange(len(lengths)).repeat(lengths)
    starts = np.add.accumulate(lengths) - lengths
    return owner, np.arange(len(owner)) - starts.repeat(lengths)


@dataclass(frozen=True, slots=True)
class RowEntries:
    """Rows of entries that lie one behind the other: row i owns the entries starts[i]:starts[i + 1]."""

    starts: IntArray

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def lengths(self) -> IntArray:
        """The number of entries of each row."""
        return lengths_of(self.starts)

    @property
    def owners(self) -> IntArray:
        """The row of each entry."""
        return np.arange(len(self)).repeat(self.lengths)

    def entries(self, rows: IntArray) -> tuple[IntArray, IntArray]:
        """The starts of these rows once they are taken, in this order, and the entries that they own.

        >>> RowEntries(np.array([0, 2, 3])).entries(np.array([1, 0]))
        (array([0, 1, 3]), array([2, 0, 1]))
        """
        lengths = self.lengths[rows]
        starts = offsets_of(lengths)
        return starts, np.arange(starts[-1]) + (self.starts[rows] - starts[:-1]).repeat(lengths)


@dataclass(frozen=True, slots=True)
class Ragged(RowEntries):
    """Lists of codes, one for each owner: owner i has codes[starts[i]:starts[i + 1]]."""

    codes: npt.NDArray[Any]

    @classmethod
    def stacked(cls, parts: "Sequence[Ragged]") -> "Ragged":
        """The lists of all owners of all parts.

        >>> Ragged.stacked([Ragged(np.array([0, 1]), np.array([7])), Ragged(np.array([0, 2]), np.array([8, 9]))]).starts
        array([0, 1, 3])
        """
        lengths = np.concatenate([part.lengths for part in parts])
        return cls(offsets_of(lengths), np.concatenate([part.codes for part in parts]))

    def take(self, owners: IntArray) -> "Ragged":
        """The lists of these owners, in this order; an owner may be taken often.

        >>> Ragged(np.array([0, 2, 3]), np.array([7, 8, 9])).take(np.array([1, 0])).codes
        array([9, 7, 8])
        """
        starts, entries = self.entries(owners)
        return Ragged(starts, self.codes[entries])

    def counted(self, vocabulary: int) -> tuple[IntArray, IntArray, IntArray]:
        """The distinct codes of each owner and how often each occurs: owners, codes, times.

        >>> Ragged(np.array([0, 3, 4]), np.array([5, 2, 5, 2])).counted(9)
        (array([0, 0, 1]), array([2, 5, 2]), array([1, 2, 1]))
        """
        keys, times = np.unique(self.owners * max(vocabulary, 1) + self.codes, return_counts=True)
        return keys // max(vocabulary, 1), keys % max(vocabulary, 1), times


def most_frequent(counts: IntArray, most: int, *, least: int = 1) -> IntArray:
    """The places of the counts from `least` on, or from the first count on that leaves at most `most` places.

    >>> most_frequent(np.array([3, 1, 2, 2]), 2)
    array([0])
    """
    at_least = np.cumsum(np.bincount(counts)[::-1])[::-1]  # of each number: how many counts reach it
    return np.flatnonzero(counts >= max(least, int((at_least > most).sum())))


def means(lists: Ragged, values: FloatArray) -> FloatArray:
    """The mean of the values of each owner, values beside the codes of the lists; 0 for an owner without any.

    >>> means(Ragged(np.array([0, 2, 2]), np.array([0, 1])), np.array([1.0, 2.0]))
    array([1.5, 0. ])
    """
    return code_sums(lists.owners, values, len(lists.lengths)) / np.maximum(lists.lengths, 1)


def pack_texts(texts: Sequence[str]) -> tuple[Array, Array]:
    """Return texts as UTF-8 bytes one after the other, and where each ends.

    >>> content, ends = pack_texts(["ab", "", "c"])
    >>> content.tobytes(), ends.tolist()
    (b'abc', [2, 2, 3])
    """
    joined = "".join(texts)
    lengths = map(len, texts if joined.isascii() else map(str.encode, texts))  # in ASCII a character is a byte
    return np.frombuffer(joined.encode(), dtype=np.uint8), np.cumsum([*lengths], dtype=np.int64)


def unpack_texts(content: Array, ends: Array) -> tuple[str, ...]:
    """Return the texts of `pack_texts`; a ValueError when content and ends do not fit.

    >>> unpack_texts(*pack_texts(["ab", "", "c"]))
    ('ab', '', 'c')
    """
    joined, starts = content.tobytes(), [0, *ends.tolist()]
    if starts[-1] != len(joined) or any(first > last for first, last in zip(starts, starts[1:], strict=False)):
        raise ValueError("texts and their ends do not fit")
    return tuple(joined[first:last].decode() for first, last in zip(starts, starts[1:], strict=False))


def spelled(texts: Sequence[str]) -> Ragged:
    """Return texts as lists of their bytes.

    >>> texts_of(spelled(["ab", ""]))
    ('ab', '')
    """
    content, ends = pack_texts(texts)
    return Ragged(np.concatenate(([0], ends)), content)


def texts_of(column: Ragged) -> tuple[str, ...]:
    """Return the texts of `spelled`."""
    return unpack_texts(column.codes, column.starts[1:])
