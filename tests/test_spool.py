"""Spans that wait on disk for the others of their trace."""

import resource
import signal

import pytest

from ltr.errors import DiskError
from ltr.importers.traces import Spool
from tests.faults import in_fork


def test_records_come_back_by_key_in_the_order_in_which_they_came():
    with Spool() as spool:
        for number in range(1000):
            spool.add(f"key {number % 7}", bytes([number % 251]) * (number % 13))
        places = dict(spool.items())
        assert list(places) == [f"key {number}" for number in range(7)]
        assert [spool.record(place) for place in places["key 3"]] == [
            bytes([number % 251]) * (number % 13) for number in range(3, 1000, 7)
        ]


def test_a_disk_that_is_full_is_named():
    def work():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        with Spool() as spool:
            for _ in range(4):
                spool.add("a", bytes(1 << 20))
            list(spool.items())

    def refused():
        with pytest.raises(DiskError, match="file too large; spans wait here .* TMPDIR names another"):
            work()

    assert in_fork(refused) == 0
