"""The vectors stored on this machine between runs: one SQLite file that any number of processes share.

The key of a vector is a digest of all that decides it; a checksum stands before its numbers. Nothing depends on the
cache but time: whatever is wrong with it, vectors are computed again, and one warning says so.
"""

import hashlib
import math
import os
import sqlite3
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from ltr.disk import remove
from ltr.errors import LtrError, LtrWarning
from ltr.paths import own_directory, refuse_shared

Vector = npt.NDArray[np.float32]
Result = TypeVar("Result")

FILE, EARLIER = "vectors-2.sqlite", ("vectors-1.sqlite",)  # the number is that of the schema
LARGEST = 1 << 30  # bytes of vectors: beyond, those stored first go first
ROOM = 0.9  # of the limit that is left when vectors go, so that the next ones find room
BESIDE = ("-wal", "-shm")  # what SQLite keeps next to its file
ASIDE = ".damaged-"
DAMAGES = (sqlite3.Error, ValueError, TypeError)  # of a damaged file: ValueError where a name or a message is no UTF-8
SCHEMA = "CREATE TABLE IF NOT EXISTS vectors (age INTEGER PRIMARY KEY, key BLOB UNIQUE, value BLOB)"  # age: it rises
KEYS_AT_ONCE = 900  # SQLite takes at least 999 parameters
DIGEST = 16
VALUE = 4  # bytes of a number, of which the digest is a multiple
PATIENCE = 20.0  # seconds to wait for another process that writes
IN_SQLITE = threading.RLock()  # its own locks could never be taken in a child that was forked while one was held
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=IN_SQLITE.acquire, after_in_parent=IN_SQLITE.release, after_in_child=IN_SQLITE.release)


@dataclass(frozen=True, slots=True)
class CacheInfo:
    """What the cache holds."""

    path: Path
    vectors: int
    size: int  # bytes on disk
    limit: int  # bytes, beyond which the oldest vectors go


def cache_key(identity: Iterable[str], text: str) -> bytes:
    """Return a digest of what decides a vector: who encodes, at which revision, in which way, and the text.

    >>> cache_key(["minilm", "r1"], "a") == cache_key(["minilm", "r1"], "a")
    True
    >>> cache_key(["minilm"], "r1a") == cache_key(["minilm", "r1"], "a")
    False
    """
    parts = [part.encode("utf-8", "surrogatepass") for part in (*identity, text)]
    framed = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return hashlib.blake2b(framed, digest_size=DIGEST).digest()


class VectorCache:
    """The vectors of a directory. Any process may read, write or remove them at any time."""

    def __init__(self, directory: Path, *, patience: float = PATIENCE, limit: int = LARGEST) -> None:
        # a link is what it points to: whoever may write there, and what lies beside it
        self.path, self.limit = Path(os.path.realpath(directory / FILE)), limit
        self._patience = patience
        self._connection: sqlite3.Connection | None = None
        self._process = os.getpid()
        self._is_usable = True

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """Return the stored vectors of the keys; damaged ones are left out."""
        vectors: dict[bytes, Vector] = {}
        for first in range(0, len(keys), KEYS_AT_ONCE):
            rows: list[tuple[Any, object]] = self._tried(partial(_rows, keys[first : first + KEYS_AT_ONCE]), [])
            vectors |= {key: vector for key, value in rows if (vector := _checked(key, value)) is not None}
        return vectors

    def put(self, vectors: Mapping[bytes, Vector]) -> None:
        """Store the vectors, all or none, in place of those with the same keys; beyond the limit the oldest go."""
        contents = {key: np.ascontiguousarray(vector, dtype="<f4").tobytes() for key, vector in vectors.items()}
        rows = [(key, _checksum(key, numbers) + numbers) for key, numbers in contents.items()]

        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                connection.executemany("INSERT OR REPLACE INTO vectors (key, value) VALUES (?, ?)", rows)
                _remove_oldest(connection, self.limit)

        self._tried(write, None)

    def info(self) -> CacheInfo:
        """Return the path of the cache, the number of its vectors and its size."""
        refuse_shared(self.path.parent)
        if not self.path.exists():
            return CacheInfo(self.path, 0, 0, self.limit)
        count = self._tried(lambda connection: connection.execute("SELECT count(*) FROM vectors").fetchone()[0], 0)
        return CacheInfo(self.path, count, _size([self.path, *self._beside()]), self.limit)

    def clear(self) -> int:
        """Remove the file, and those that were set aside, and return their bytes. None of them is opened."""
        refuse_shared(self.path.parent)
        self._close()
        files = [self.path, *self._beside(), *_earlier(self.path), *self.path.parent.glob(f"{self.path.name}{ASIDE}*")]
        size = _size(files)
        for file in files:
            remove(file)
        return size

    def _beside(self) -> list[Path]:
        return [self.path.with_name(self.path.name + suffix) for suffix in BESIDE]

    def _tried(self, work: Callable[[sqlite3.Connection], Result], otherwise: Result) -> Result:
        """Return the result of the work on an open connection; `otherwise` once the cache cannot be used.

        The second attempt is for a file that was damaged, or that another process removed meanwhile.
        """
        problem: Exception | None = None
        with IN_SQLITE:
            for _ in range(2):
                if not self._is_usable:
                    return otherwise
                try:
                    return work(self._opened())
                except (sqlite3.OperationalError, LtrError, OSError) as error:
                    problem = error
                    self._close()
                except DAMAGES as error:
                    problem = error
                    self._set_aside(error)
            self._is_usable = False
            text = str(problem) if isinstance(problem, LtrError) else f"{self.path}: {problem}"
            warnings.warn(f"{text}; going on without the cache of vectors", LtrWarning, stacklevel=1)
        return otherwise

    def _opened(self) -> sqlite3.Connection:
        """Return the connection of this process."""
        if self._connection is not None and self._process != os.getpid():  # forked: a connection is its parent's own
            self._connection = None
        if self._connection is None:
            own_directory(self.path.parent)
            for file in _earlier(self.path):
                remove(file)
            self._connection, self._process = _connected(self.path, self._patience), os.getpid()
        return self._connection

    def _set_aside(self, error: Exception) -> None:
        """Rename a damaged file and warn."""
        self._close()
        aside = self.path.with_name(f"{self.path.name}{ASIDE}{os.urandom(4).hex()}")
        if self.path.exists():
            self.path.replace(aside)
            for file in self._beside():
                remove(file)
        warnings.warn(
            f"{self.path}: {error}; set aside as {aside.name}, and vectors are computed again", LtrWarning, stacklevel=2
        )

    def _close(self) -> None:
        if self._connection is not None and self._process == os.getpid():
            self._connection.close()
        self._connection = None

    def __del__(self) -> None:
        self._close()


def _connected(path: Path, patience: float) -> sqlite3.Connection:
    """Return a connection to the file, created where it is missing; SQLite does not wait while others create it."""
    deadline = time.monotonic() + patience
    while True:
        connection = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=normal")
            connection.execute(SCHEMA)
        except DAMAGES as error:
            connection.close()
            is_busy = getattr(error, "sqlite_errorcode", 0) & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not is_busy or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return connection


def _size(files: Iterable[Path]) -> int:
    """Return the bytes of those that are there."""
    return sum(file.stat().st_size for file in files if file.exists())


def _earlier(path: Path) -> list[Path]:
    """Return the files of earlier schemas, which nothing reads."""
    return [path.with_name(name + suffix) for name in EARLIER for suffix in ("", *BESIDE)]


def _remove_oldest(connection: sqlite3.Connection, limit: int) -> None:
    """Remove the vectors that were stored first until ROOM of the limit is used; nothing below the limit."""
    pages, free, size = (
        connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "freelist_count", "page_size")
    )
    used = (pages - free) * size
    if used > limit:
        (count,) = connection.execute("SELECT count(*) FROM vectors").fetchone()
        oldest = "SELECT age FROM vectors ORDER BY age LIMIT ?"
        connection.execute(
            f"DELETE FROM vectors WHERE age IN ({oldest})", (math.ceil(count * (1 - ROOM * limit / used)),)
        )


def _rows(keys: Sequence[bytes], connection: sqlite3.Connection) -> list[tuple[Any, object]]:
    """Return the keys that are stored, and their values."""
    marks = ",".join("?" * len(keys))
    return connection.execute(f"SELECT key, value FROM vectors WHERE key IN ({marks})", keys).fetchall()


def _checked(key: object, value: object) -> Vector | None:
    """Return the vector of a stored value; None where key or value are not what was written."""
    if not (isinstance(key, bytes) and isinstance(value, bytes)):
        return None
    if value[:DIGEST] != _checksum(key, value[DIGEST:]) or len(value) % VALUE:
        return None
    vector = np.frombuffer(value, dtype="<f4", offset=DIGEST).astype(np.float32, copy=False)
    return vector if np.isfinite(vector).all() else None


def _checksum(key: bytes, numbers: bytes) -> bytes:
    """Return the digest that stands before the numbers of a key."""
    return hashlib.blake2b(key + numbers, digest_size=DIGEST).digest()
