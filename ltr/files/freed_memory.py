"""Memory that was freed, given back to the system."""

import ctypes
import os


def return_freed_memory() -> None:
    """Give the system what was freed: glibc keeps for later what lies between other memory."""
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None) if os.name == "posix" else None
    if trim is not None:
        trim(0)
