"""Memory that was freed: kept for what comes next while it is little, given back to the system where it counts."""

import os
from contextlib import suppress
from functools import cache
from typing import Any

MOST_KEPT = 32 << 20  # bytes
MAPPED_ALONE = 32 << 20  # bytes of an array whose memory goes back as soon as it is freed
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's names of settings


def keep_freed_memory() -> None:
    """Let this process keep up to MOST_KEPT of free memory at the end of its heap.

    glibc gives nearly all of it back at once, and asks the system for the same pages again: a fifth of a training.
    """
    setting = _glibc("mallopt")
    if setting is not None:
        setting(MMAP_THRESHOLD, MAPPED_ALONE)
        setting(TRIM_THRESHOLD, MOST_KEPT)


def return_freed_memory() -> None:
    """Give the system what was freed: glibc keeps for later what lies between other memory."""
    trim = _glibc("malloc_trim")
    if trim is not None:
        trim(0)


@cache
def _glibc(name: str) -> Any:
    """A function of the C library; None where there is none, or no way to call it."""
    with suppress(ImportError, OSError):
        import ctypes  # a Python may lack it

        return getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None
    return None
