"""Compile a pass, with its machine code in the user's own cache directory."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np

from ltr import __version__
from ltr.engines.deferred_signals import deferring
from ltr.errors import DiskError
from ltr.files.atomic_write import write_bytes
from ltr.files.cache_directory import cache_directory
from ltr.training.kernels.dispatch_by_size import Pass

BLOCK = 1024  # groups with a sum of their own: shorter sums lose fewer bits
LANES = 8  # rows taken together; those beyond a group's end count as 0
LEAST = -708.0  # below it exp is no normal number, and vanishes beside that of the largest candidate
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10
TO_INTEGER = (
    6755399441055744.0  # 1.5 * 2^52: a number added to it loses its fraction, and the last bits hold the integer
)
C = tuple(1.0 / float(np.prod(np.arange(1.0, n + 1.0))) for n in range(14))  # of the series: 1 / n!

FUSED = {"contract"}  # a * b + c in one step, as a C compiler does, without reordering
SUMS = FUSED | {"reassoc"}  # sums in another order, always the same one: several terms are added at once


@deferring  # a handler that raises inside a callback of the compiler is dropped, and the signal with it
def compiled(function: Pass, features: int, allowed: set[str], signature: tuple[Any, ...]) -> Pass:
    """The function compiled for its arguments; for this process alone where the cache cannot be used."""
    # numba names machine code by it: two passes of one name, loaded from the cache, take each other's symbols
    function.__qualname__ += f"_{features}"
    directory = private(cache_directory() / "numba")
    options: dict[str, Any] = {"error_model": "numpy", "fastmath": allowed}
    if directory is None:
        return numba.njit(signature, **options)(function)
    files = {path.name: path.read_bytes() for path in Path(__file__).parent.glob("*.py")}
    directory /= kernel_cache_key(files, __version__)
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(directory)
    try:
        remove_damaged(directory)
        machine_code = numba.njit(signature, cache=True, **options)(function)
        if machine_code.stats.cache_misses:
            for _, digest_path, digest in unsealed(directory):
                with suppress(OSError, DiskError):  # without its digest the next process makes the file again
                    write_bytes(digest_path, digest)
        return machine_code
    except Exception:  # a damaged cache raises whatever its bytes say; a fault of the pass itself is raised again here
        return numba.njit(signature, **options)(function)
    finally:
        config.CACHE_DIR = before


@cache
def remove_damaged(directory: Path) -> None:
    """Remove the files that differ from their digest, once a process: numba would run a flipped bit."""
    for path, _, _ in unsealed(directory):  # damaged, or its process was killed, or is about to write the digest
        with suppress(OSError):
            path.unlink()


def unsealed(directory: Path) -> Iterator[tuple[Path, Path, bytes]]:
    """The files of numba without their own digest beside them, with its path and bytes: indices and machine code."""
    for path in [*directory.glob("*/*.nbi"), *directory.glob("*/*.nbc")]:
        digest_path = path.with_name(f"{path.name}.sha256")
        with suppress(OSError):  # removed by another process
            digest = hashlib.sha256(path.read_bytes()).hexdigest().encode()
            if not digest_path.exists() or digest_path.read_bytes() != digest:
                yield path, digest_path, digest


def kernel_cache_key(files: Mapping[str, bytes], version: str) -> str:
    """A digest of the version and of all files here: numba checks only the file of the outermost function."""
    digests = [hashlib.sha256(files[name]).hexdigest() for name in sorted(files)]
    return hashlib.sha256(" ".join([version, *sorted(files), *digests]).encode()).hexdigest()[:16]


def private(directory: Path) -> Path | None:
    """The directory, made if it is missing; None unless the user owns it and nobody else can write to it."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = directory.stat()
    except OSError:
        return None
    is_own = not hasattr(os, "getuid") or (status.st_uid == os.getuid() and not status.st_mode & 0o022)
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
