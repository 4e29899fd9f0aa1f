"""Compile a pass, with its machine code in the user's own cache directory."""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba

from ltr import __version__
from ltr.engines.deferred_signals import deferring
from ltr.errors import DiskError, UsageError
from ltr.files.atomic_write import write_bytes
from ltr.files.cache_directory import cache_directory, own_directory
from ltr.training.kernels.dispatch_by_size import Pass


@deferring  # a handler that raises inside a callback of the compiler is dropped, and the signal with it
def compiled(function: Pass, features: int, allowed: set[str], signature: tuple[Any, ...]) -> Pass:
    """The function compiled for its arguments; for this process alone where the cache cannot be used."""
    # numba names machine code by it: two passes of one name, loaded from the cache, take each other's symbols
    function.__qualname__ += f"_{features}"
    directory = private(cache_directory())
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


def private(cache: Path) -> Path | None:
    """The directory of machine code in the cache, made if it is missing; None unless both are the user's alone."""
    try:
        directory = own_directory(own_directory(cache) / "numba")
    except (OSError, UsageError):
        return None
    return directory if os.access(directory, os.W_OK | os.X_OK) else None
