"""Memory that was freed, given back to the system: glibc keeps what lies between other memory for later."""

import ctypes
import os

MMAP_THRESHOLD = -3  # the parameter of mallopt
LARGE = 1 << 18  # bytes


def return_freed_memory() -> None:
    """Give back what is free now."""
    _called("malloc_trim", 0)


def return_large_arrays() -> None:
    """From now on give back arrays of more than LARGE bytes as soon as they are freed: less memory, a bit more time."""
    _called("mallopt", MMAP_THRESHOLD, LARGE)


def _called(name: str, *arguments: int) -> None:
    """Call a function of the C library, where it has it."""
    function = getattr(ctypes.CDLL(None), name, None) if os.name == "posix" else None
    if function is not None:
        function(*arguments)
