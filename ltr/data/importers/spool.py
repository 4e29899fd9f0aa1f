"""Records that belong to keys, in whatever order they come: kept in a temporary file, read back key by key."""

import os
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from ltr.errors import DiskError, reason

LENGTH_BYTES = 8
BUFFER = 1 << 20


class Spool:
    """In memory: each key, and 8 bytes a record. Keys come back in the order in which they first came.

    >>> with Spool() as spool:
    ...     spool.add("a", b"1")
    ...     spool.add("b", b"2")
    ...     spool.add("a", b"3")
    ...     {key: [spool.record(place) for place in spool.places(key)] for key in spool}
    {'a': [b'1', b'3'], 'b': [b'2']}
    """

    def __init__(self) -> None:
        with _writing():
            self._file = tempfile.TemporaryFile(buffering=BUFFER)  # noqa: SIM115  # closed when the spool is
        self._places: dict[str, array[int]] = {}
        self._size = 0

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # what it could not write is not asked for any more
            self._file.close()

    def __iter__(self) -> Iterator[str]:
        with _writing():
            self._file.flush()
        yield from self._places

    def add(self, key: str, record: bytes) -> None:
        """Keep one more record of the key."""
        places = self._places.get(key)
        if places is None:
            places = self._places[key] = array("Q")
        places.append(self._size)
        with _writing():
            self._file.write(len(record).to_bytes(LENGTH_BYTES, "big"))
            self._file.write(record)
        self._size += LENGTH_BYTES + len(record)

    def places(self, key: str) -> "array[int]":
        """Where the records of the key begin, in the order in which they came."""
        return self._places[key]

    def record(self, place: int) -> bytes:
        """The record that begins there; every record is in the file once the keys are asked for."""
        descriptor = self._file.fileno()
        length = int.from_bytes(os.pread(descriptor, LENGTH_BYTES, place), "big")
        return os.pread(descriptor, length, place + LENGTH_BYTES)


@contextmanager
def _writing() -> Iterator[None]:
    """A disk that fails is named, with what was to be written to it."""
    try:
        yield
    except OSError as error:
        problem = f"{reason(error)}; spans wait here until their trace is complete, and TMPDIR names another place"
        raise DiskError(tempfile.gettempdir(), problem) from error
