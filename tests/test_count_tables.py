"""Parts: tables by key that add up, whatever shards they were counted in."""

import mmap
import re
import resource
import tempfile
from functools import reduce

import numpy as np
import pytest

from ltr.arrays import Ragged, spelled, texts_of
from ltr.encoders import Dense, Sparse
from ltr.errors import DiskError
from ltr.tables import digests, halves, merged, merges_without_each, merging, pairs, parts_without_each, spilled, table
from tests.faults import in_fork


def numbers_as_keys(numbers):
    """A key for each integer, in their order."""
    return np.array(numbers, dtype=">u8").view("S8")


def integers_of(keys):
    """The integers of `numbers_as_keys`."""
    return np.ascontiguousarray(keys).view(">u8").astype(int)


def counts(texts):
    """How often each text stands in a list, and its letters."""
    letters = Ragged(np.cumsum([0, *map(len, texts)]), np.frombuffer("".join(texts).encode(), dtype=np.uint8))
    columns = {"times": np.ones(len(texts), dtype=int), "squares": np.ones((len(texts), 2, 2))}
    facts = {"length": np.array([len(text) for text in texts], dtype=int), "text": letters}
    return {"texts": table(digests(texts), columns, facts=facts)}


def listed(part):
    """The rows of a part of `counts`, by text."""
    table = part["texts"]
    columns = (table.sums["times"].tolist(), table.sums["squares"].tolist(), table.facts["length"].tolist())
    return sorted(zip(texts_of(table.facts["text"]), *columns, strict=True))


def test_what_two_shards_counted_makes_what_one_would_have_counted():
    both = merged(counts(["b", "aa", "b"]), counts(["c", "b"]))
    assert listed(both) == [
        ("aa", 1, [[1, 1], [1, 1]], 2),
        ("b", 2 + 1, [[3, 3], [3, 3]], 1),
        ("c", 1, [[1, 1], [1, 1]], 1),
    ]
    assert listed(both) == listed(counts(["b", "aa", "b", "c", "b"]))


def test_the_part_of_nothing_changes_no_other():
    assert listed(merged(counts([]), counts(["a", "b"]))) == listed(counts(["b", "a"]))
    assert listed(merged(counts([]), counts([]))) == []


def test_pairs_are_in_the_order_of_their_halves_and_come_apart_again():
    left, right = digests(["a", "b", "a"]), numbers_as_keys([700, 2, 3])
    keys = table(pairs(left, right), {"times": np.ones(3, dtype=int)}).keys
    first, second = halves(keys)
    assert sorted(zip(first.tolist(), integers_of(second).tolist(), strict=True)) == sorted(
        zip(left.tolist(), [700, 2, 3], strict=True)
    )
    assert integers_of(second)[first == left[0]].tolist() == [3, 700]


def test_keys_that_end_in_a_zero_byte_stay_apart():
    keys = pairs(numbers_as_keys([256, 1]), numbers_as_keys([0, 0]))
    assert integers_of(halves(table(keys).keys)[0]).tolist() == [1, 256]


@pytest.mark.parametrize("count", [2, 3, 10])
def test_each_shard_is_left_out_once_and_the_last_merge_has_all(count):
    parts = [frozenset({number}) for number in range(count)]
    merges = []

    def union(left, right):
        assert not left & right
        merges.append(left | right)
        return left | right

    every = frozenset(range(count))
    assert list(merges_without_each(parts, union)) == [*(every - part for part in parts), every]
    assert len(merges) == max(3 * count - 5, 1)


def test_a_table_refuses_a_column_of_another_length():
    with pytest.raises(ValueError, match="the column times has 1 rows beside 2 keys"):
        table(digests(["a", "b"]), {"times": np.ones(1)})
    with pytest.raises(ValueError, match="the column text has 1 rows beside 2 keys"):
        table(digests(["a", "b"]), facts={"text": spelled(["a"])})


def test_many_merges_of_any_cut_are_one_count():
    texts = [f"t{number % 37}" for number in range(1_000)]
    whole = listed(counts(texts))
    for shards in (1, 2, 7, 64):
        assert listed(reduce(merged, [counts(texts[shard::shards]) for shard in range(shards)])) == whole


@pytest.mark.parametrize("limit", [0, 200, 1000])
def test_tables_beyond_the_limit_lie_on_disk_and_add_up_to_the_same_bytes(monkeypatch, limit):
    generator = np.random.default_rng(0)
    shards = [[f"w{number}" for number in generator.integers(60, size=size)] for size in (50, 0, 20, 90)]
    in_memory = [counts(texts) for texts in shards]
    expected = [*parts_without_each(in_memory)]
    monkeypatch.setattr(merging, "LARGEST_IN_MEMORY", limit)
    on_disk = [spilled(part) for part in in_memory]
    assert [listed(part) for part in parts_without_each(on_disk)] == [listed(part) for part in expected]
    both, one = merged(on_disk[0], on_disk[3])["texts"], merged(in_memory[0], in_memory[3])["texts"]
    assert (both.keys == one.keys).all()
    assert isinstance(memory_of(both.keys), mmap.mmap)


def memory_of(array):
    """What the numbers of an array lie in."""
    while isinstance(array, np.ndarray) and array.base is not None:
        array = array.base
    return array.obj if isinstance(array, memoryview) else array


def test_vectors_on_disk_are_merged_like_those_in_memory(monkeypatch):
    rows = Sparse(np.array([0, 1, 3]), np.array([0, 0, 2]), np.array([1.0, 0.6, 0.8]), 3)
    tables = [
        {"tools": table(digests(names), {"vectors": rows}, facts={"dense": Dense(np.eye(2))})}
        for names in (["a", "b"], ["b", "c"])
    ]
    expected = merged(*tables)["tools"]
    monkeypatch.setattr(merging, "LARGEST_IN_MEMORY", 0)
    found = merged(*map(spilled, tables))["tools"]
    for name in ("starts", "columns", "numbers"):
        assert getattr(found.sums["vectors"], name).tolist() == getattr(expected.sums["vectors"], name).tolist()
    assert found.facts["dense"].numbers.tolist() == expected.facts["dense"].numbers.tolist()


def test_more_columns_lie_on_disk_than_files_are_open_at_first(monkeypatch):
    def few_files():
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 1 << 12))
        monkeypatch.setattr(merging, "LARGEST_IN_MEMORY", 0)
        tables = [spilled(counts(["a", "b"])) for _ in range(40)]
        assert all(part["texts"].sums["times"].tolist() == [1, 1] for part in tables)
        return 7

    assert in_fork(few_files) == 7


def test_a_full_disk_is_named(monkeypatch):
    def too_large():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
        monkeypatch.setattr(merging, "LARGEST_IN_MEMORY", 0)
        with pytest.raises(DiskError, match=f"^{re.escape(tempfile.gettempdir())}: file too large"):
            spilled(counts([f"w{number}" for number in range(1000)]))
        return 7

    assert in_fork(too_large) == 7
