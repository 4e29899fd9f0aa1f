import os
import time

import pytest

from ltr.errors import DataError, UsageError
from ltr.experiments.engine import ordered_map


def slow_first(shard):
    time.sleep(0.2 if shard == 0 else 0)
    return shard * shard, os.getpid()


def fail_at_two(shard):
    if shard == 2:
        raise DataError("shard 2 is bad")
    return shard


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_shards(workers):
    assert [value for value, _ in ordered_map(slow_first, range(6), workers=workers)] == [0, 1, 4, 9, 16, 25]


def test_one_worker_is_this_process_and_several_are_others():
    assert {pid for _, pid in ordered_map(slow_first, range(3))} == {os.getpid()}
    assert os.getpid() not in {pid for _, pid in ordered_map(slow_first, range(3), workers=2)}


@pytest.mark.parametrize("workers", [1, 2])
def test_an_error_in_a_shard_reaches_the_caller_after_the_results_before_it(workers):
    results = ordered_map(fail_at_two, range(9), workers=workers)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(DataError, match="shard 2 is bad"):
        next(results)


def test_shards_are_taken_as_they_are_needed():
    taken = []

    def endless():
        while True:
            taken.append(len(taken))
            yield taken[-1]

    results = ordered_map(str, endless(), workers=2)
    assert [next(results), next(results)] == ["0", "1"]
    results.close()
    assert len(taken) <= 6


def test_no_shards_give_no_results():
    assert list(ordered_map(str, [], workers=2)) == []


@pytest.mark.parametrize("workers", [0, -1, 1.5, True, "2"])
def test_the_number_of_workers_is_a_whole_number_from_one(workers):
    with pytest.raises(UsageError, match="workers is .*; a whole number of at least 1 is needed"):
        ordered_map(str, [1], workers=workers)
