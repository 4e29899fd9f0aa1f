"""Columns of tables that are too large for memory: they lie on disk, as maps of files that have no name."""

import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields, replace
from typing import IO, Any

import numpy as np

from ltr.arrays import Array, IntArray
from ltr.errors import DiskError, reason
from ltr.temporary import folder_shown

BLOCK = 16 << 20  # bytes of columns that are read at once
OPEN_FILES = 1 << 12  # some ten tables of ten folds, with some columns each; some systems allow 256 unless asked
Columns = Mapping[Any, Any]  # arrays, lists (`Ragged`) and vectors, as many rows each


def byte_count(columns: Columns) -> int:
    """Return how many bytes the columns take.

    >>> byte_count({"times": np.ones(3)})
    24
    """
    return sum(map(_byte_count, columns.values()))


def _byte_count(column: Any) -> int:
    return column.nbytes if isinstance(column, np.ndarray) else byte_count(_arrays(column))


def drop_read_pages(columns: Columns) -> None:
    """Drop the pages of columns on disk that were read: they count as memory of the process until then."""
    for column in columns.values():
        for array in _arrays(column).values():
            base: Any = array
            while isinstance(base, np.ndarray | memoryview):
                base = base.base if isinstance(base, np.ndarray) else base.obj
            if isinstance(base, mmap.mmap) and hasattr(mmap, "MADV_DONTNEED"):
                base.madvise(mmap.MADV_DONTNEED)


def on_disk(blocks: Iterable[Columns]) -> dict[Any, Any]:
    """Return the rows of at least one block after the other, each column in files that end with this process.

    >>> on_disk([{"times": np.array([1, 2])}, {"times": np.array([3])}])["times"].tolist()
    [1, 2, 3]
    """
    files: dict[tuple[Any, str], GrowingArray] = {}
    template: Columns = {}
    _allow_open_files()
    try:
        for block in blocks:
            template = block
            for name, column in block.items():
                for part, array in _arrays(column).items():
                    if (name, part) not in files:
                        files[name, part] = GrowingArray(is_offsets=part == "starts")
                    files[name, part].append(array)
        arrays = {place: growing.mapped() for place, growing in files.items()}
    except OSError as error:
        raise DiskError(folder_shown(), reason(error)) from error
    finally:
        for growing in files.values():
            growing.close()
    return {name: _made_of(column, {p: arrays[name, p] for p in _arrays(column)}) for name, column in template.items()}


def blocks_by_key(tables: Sequence[Columns], keys: Any, bytes_at_once: int) -> Iterator[list[dict[Any, Any]]]:
    """Yield cuts of some tables whose column `keys` rises: all rows of a key are in one cut; about so many bytes each.

    >>> tables = [{"keys": np.array([b"a", b"c"])}, {"keys": np.array([b"a"])}]
    >>> [[table["keys"].tolist() for table in cut] for cut in blocks_by_key(tables, "keys", 1)]
    [[[b'a'], [b'a']], [[b'c'], []]]
    """
    share = bytes_at_once // len(tables)
    steps = [max(share * len(table[keys]) // max(byte_count(table), 1), 1) for table in tables]
    firsts = [0] * len(tables)
    while True:
        ahead = [table[keys][first : first + step] for table, first, step in zip(tables, firsts, steps, strict=True)]
        last_keys = [
            seen[-1:]
            for seen, first, table in zip(ahead, firsts, tables, strict=True)
            if first + len(seen) < len(table[keys])
        ]
        if last_keys:
            least = min(last_keys, key=lambda seen: seen.item())
            lengths = [int(np.searchsorted(seen, least, side="right").item()) for seen in ahead]
        else:
            lengths = [len(seen) for seen in ahead]
        lasts = [first + length for first, length in zip(firsts, lengths, strict=True)]
        yield [
            {name: _between(column, first, last) for name, column in table.items()}
            for table, first, last in zip(tables, firsts, lasts, strict=True)
        ]
        firsts = lasts
        if all(first == len(table[keys]) for first, table in zip(firsts, tables, strict=True)):
            return


class GrowingArray:
    """An array in a file, to which rows are appended; offsets count on from those before."""

    def __init__(self, *, is_offsets: bool) -> None:
        self._file: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `close`
        self._is_offsets, self._last = is_offsets, 0
        self._rows: Array | None = None  # none, but of the type and the shape of all

    def append(self, rows: Array) -> None:
        """Write the rows."""
        if self._is_offsets:
            begins = 0 if self._rows is None else 1
            rows = rows[begins:] + (self._last - rows[0])
            self._last = int(rows[-1]) if len(rows) else self._last
        if self._rows is not None and rows.dtype != self._rows.dtype:
            raise TypeError(f"a column of {self._rows.dtype} has rows of {rows.dtype}")
        self._rows = rows[:0]
        self._file.write(np.ascontiguousarray(rows).reshape(-1).view(np.uint8).data)

    def mapped(self) -> Array:
        """All rows, read from the file when they are looked at."""
        self._file.flush()
        rows = np.empty(0) if self._rows is None else self._rows.copy()
        if not self._file.tell():
            return rows
        content = mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)
        return np.frombuffer(content, dtype=rows.dtype).reshape(-1, *rows.shape[1:])

    def close(self) -> None:
        """Close the file; it lives on in its map."""
        with suppress(OSError):  # a full disk takes no more now either
            self._file.close()


def _allow_open_files() -> None:
    """Raise this process's own limit of open files, as far as the system lets it: each column on disk is one."""
    if os.name != "posix":
        return
    import resource

    allowed, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = OPEN_FILES if most == resource.RLIM_INFINITY else min(OPEN_FILES, most)
    if allowed != resource.RLIM_INFINITY and allowed < wanted:
        with suppress(OSError, ValueError):  # a sandbox may forbid it; the limit may never be met
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def _arrays(column: Any) -> dict[str, Array]:
    """The arrays that a column is made of: itself, or those of its fields."""
    if isinstance(column, np.ndarray):
        return {"": column}
    values = ((field.name, getattr(column, field.name)) for field in fields(column))
    return {name: value for name, value in values if isinstance(value, np.ndarray)}


def _made_of(column: Any, arrays: Mapping[str, Array]) -> Any:
    """A column like this one, of other arrays."""
    return arrays[""] if isinstance(column, np.ndarray) else replace(column, **arrays)


def _between(column: Any, first: int, last: int) -> Any:
    """The rows first:last of a column; with `starts`, a row has the entries from one to the next."""
    arrays = _arrays(column)
    if "starts" not in arrays:
        return _made_of(column, {name: array[first:last] for name, array in arrays.items()})
    starts: IntArray = arrays.pop("starts")[first : last + 1]
    entries = {name: array[starts[0] : starts[-1]] for name, array in arrays.items()}
    return _made_of(column, {"starts": starts - starts[0], **entries})
