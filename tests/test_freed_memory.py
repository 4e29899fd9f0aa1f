"""Freed memory is kept while it is little and goes back to the system when asked, where its C library can do so."""

import ctypes
import mmap
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from ltr.memory import keep_freed_memory, return_freed_memory
from ltr.tables import digests, merging, release, table
from tests.faults import in_fork

MADE = 64 << 20  # bytes of arrays, of which nearly all are freed
has_glibc = sys.platform == "linux" and hasattr(ctypes.CDLL(None), "mallopt")
pytestmark = pytest.mark.skipif(not has_glibc, reason="another C library")


def resident():
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * mmap.PAGESIZE


def left_of(size):
    """Bytes that stay in memory of arrays of some size, once all but each eighth are freed, and what is kept."""
    np.ones(3 << 20)  # 24 MB, freed: from now on glibc keeps smaller arrays that lie between others
    before = resident()
    arrays = [np.ones(size) for _ in range(MADE // 8 // size)]
    kept = arrays[::8]
    arrays.clear()
    return resident() - before - sum(array.nbytes for array in kept), kept


def fetched_again():
    """Whether pages of arrays that were freed are fetched anew for others of their size, 16 MB in all."""
    from resource import RUSAGE_SELF, getrusage

    for _ in range(2):  # the second finds the memory of the first
        before = getrusage(RUSAGE_SELF).ru_minflt
        arrays = [np.ones(1 << 17) for _ in range(16)]
        arrays.clear()
        faults = getrusage(RUSAGE_SELF).ru_minflt - before
    return faults > (8 << 20) / mmap.PAGESIZE


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
        return 1 if fetched_again() else 7

    assert in_fork(asked) == 7


def test_workers_keep_what_they_freed(two):
    assert list(two.map(says_a_worker, range(2))) == [False, False]


def says_a_worker(_):
    """Whether a worker fetches its memory anew."""
    return fetched_again()


def test_the_command_line_keeps_what_it_freed(cli, monkeypatch):
    from ltr.cli import start as command_line

    kept = []
    monkeypatch.setattr(command_line, "keep_freed_memory", lambda: kept.append(os.getpid()))
    cli.good("--version")
    assert kept == [os.getpid()]


def test_memory_goes_back_after_large_tables_alone(monkeypatch):
    returned = []
    monkeypatch.setattr(merging, "return_freed_memory", lambda: returned.append(True))
    part = {"texts": table(digests(["a"]), {"times": np.array([1])})}
    release(part)
    assert returned == []
    monkeypatch.setattr(merging, "MOST_KEPT", 4)
    release(part)
    assert returned == [True]
