"""How a pass is compiled, and where what was compiled is kept: the user's own cache directory."""

import hashlib
import os
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np

from ltr.errors import DiskError
from ltr.files.naming import cache_directory
from ltr.files.writing import write_bytes

BLOCK = 1024  # groups added up by themselves: long sums lose fewer bits
LANES = 8  # rows taken together; those beyond a group's end count as 0
LEAST = -708.0  # below it exp is no normal number; beside the largest candidate it is nothing
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10
TO_INTEGER = 6755399441055744.0  # 1.5 * 2^52: what is added to it loses its fraction, and its last bits are the integer
C = tuple(1.0 / float(np.prod(np.arange(1.0, n + 1.0))) for n in range(14))  # of the series: 1 / n!

FUSED = {"contract"}  # a * b + c in one step, as a C compiler does; nothing is reordered
SUMS = FUSED | {"reassoc"}  # the terms of a sum in any order, always the same one: several are added at once

Pass = Callable[..., Any]


def compiled(function: Pass, allowed: set[str], signature: tuple[Any, ...]) -> Pass:
    """The function compiled for its arguments; where the cache cannot be used, for this process alone."""
    directory = private(cache_directory() / "numba")
    options: dict[str, Any] = {"error_model": "numpy", "fastmath": allowed}
    if directory is None:
        return numba.njit(signature, **options)(function)
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(undamaged(directory / sources()))
    try:
        made = numba.njit(signature, cache=True, **options)(function)
        if made.stats.cache_misses:
            seal(directory / sources())
        return made
    except Exception:  # a damaged cache raises whatever its bytes say; a fault of the pass itself is raised again here
        return numba.njit(signature, **options)(function)
    finally:
        config.CACHE_DIR = before


@cache
def undamaged(directory: Path) -> Path:
    """The directory, looked at once, without the files that are not those that were sealed.

    numba runs what it finds there: a flipped bit would end the process.
    """
    for path in cached(directory):
        if not is_sealed(path):  # damaged, or its process was killed, or is about to seal it
            with suppress(OSError):
                path.unlink()
    return directory


def seal(directory: Path) -> None:
    """A digest beside each file; where it cannot be written, the file is made again by the next process."""
    for path in cached(directory):
        if not is_sealed(path):
            with suppress(OSError, DiskError):
                write_bytes(sealed(path), digest(path))


def is_sealed(path: Path) -> bool:
    """Whether the digest beside the file is its own."""
    try:
        return sealed(path).read_bytes() == digest(path)
    except OSError:
        return False


def cached(directory: Path) -> list[Path]:
    """What numba keeps there: an index a function, and its machine code."""
    return [*directory.glob("*/*.nbi"), *directory.glob("*/*.nbc")]


def sealed(path: Path) -> Path:
    """Where the digest of the file is."""
    return path.with_name(f"{path.name}.sha256")


def digest(path: Path) -> bytes:
    """The digest of the file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest().encode()


@cache
def sources() -> str:
    """A digest of the files here: numba looks at that of the outermost function alone, and would keep old parts."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]


def private(directory: Path) -> Path | None:
    """The directory, made if it is not there; None unless only its owner can write to it, and that is the user."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
    except OSError:
        return None
    is_own = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
    return directory if is_own and os.access(directory, os.W_OK | os.X_OK) else None


@numba.njit(error_model="numpy", fastmath=FUSED)
def exponential(value):  # type: ignore[no-untyped-def]
    """exp of a value below 300, without a branch so that lanes can share it: 2^k (bits of a float) times a series."""
    value = LEAST if value < LEAST else value
    shifted = value * LOG2_E + TO_INTEGER
    k = shifted - TO_INTEGER
    r = (value - k * LN2_HIGH) - k * LN2_LOW
    square = r * r
    fourth = square * square
    low = (C[0] + C[1] * r) + (C[2] + C[3] * r) * square
    middle = (C[4] + C[5] * r) + (C[6] + C[7] * r) * square
    high = (C[8] + C[9] * r) + (C[10] + C[11] * r) * square
    series = low + fourth * (middle + fourth * (high + fourth * (C[12] + C[13] * r)))
    power = (np.float64(shifted).view(np.int64) + 1023) << 52
    return series * np.int64(power).view(np.float64)
