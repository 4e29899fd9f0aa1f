"""Freed memory is kept while it is little and goes back to the system when asked, where its C library can do so."""

from pathlib import Path
from resource import RUSAGE_SELF, getrusage

import numpy as np
import pytest

from ltr.files.freed_memory import keep_freed_memory, return_freed_memory
from tests.faults import in_fork

MADE = 64 << 20  # bytes of arrays, of which nearly all are freed
pytestmark = pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="what is in memory is read from /proc")


def resident():
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


def left_of(size):
    """Bytes that stay in memory of arrays of some size, once all but each eighth are freed, and what is kept."""
    np.ones(3 << 20)  # 24 MB, freed: from now on glibc keeps smaller arrays that lie between others
    before = resident()
    arrays = [np.ones(size) for _ in range(MADE // 8 // size)]
    kept = arrays[::8]
    arrays.clear()
    return resident() - before - sum(array.nbytes for array in kept), kept


def test_what_is_free_leaves_memory_when_it_is_asked_for():
    def asked():
        before = resident()
        left, kept = left_of(1 << 12)
        return_freed_memory()
        return 7 if resident() - before - sum(array.nbytes for array in kept) <= max(left / 2, MADE / 8) else 1

    assert in_fork(asked) == 7


def test_what_is_freed_is_kept_for_what_comes_next():
    def asked():
        keep_freed_memory()
        for _ in range(2):  # the second finds the memory of the first
            before = getrusage(RUSAGE_SELF).ru_minflt
            arrays = [np.ones(1 << 17) for _ in range(16)]  # 1 MB each
            arrays.clear()
            faults = getrusage(RUSAGE_SELF).ru_minflt - before
        return 7 if faults < 400 else 1  # of 4,096 pages

    assert in_fork(asked) == 7
