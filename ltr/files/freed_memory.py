"""Memory that was freed, given back to the system."""

import ctypes
import os
from functools import cache
from typing import Any


def return_freed_memory() -> None:
    """Give the system what was freed: glibc keeps for later what lies between other memory."""
    trim = _trim()
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    return getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
