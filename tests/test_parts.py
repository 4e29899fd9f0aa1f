"""Parts: tables by key that add up, whatever shards they were counted in."""

from functools import reduce

import numpy as np
import pytest

from ltr.arrays import Ragged
from ltr.files.parts import (
    digests,
    halves,
    integers_of,
    merged,
    merges_without_each,
    numbers_as_keys,
    pairs,
    spelled,
    table,
    texts_of,
)


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
    left, right = digests(["a", "b", "a"]), numbers_as_keys(np.array([700, 2, 3]))
    keys = table(pairs(left, right), {"times": np.ones(3, dtype=int)}).keys
    first, second = halves(keys)
    assert sorted(zip(first.tolist(), integers_of(second).tolist(), strict=True)) == sorted(
        zip(left.tolist(), [700, 2, 3], strict=True)
    )
    assert integers_of(second)[first == left[0]].tolist() == [3, 700]


def test_keys_that_end_in_a_zero_byte_stay_apart():
    keys = pairs(numbers_as_keys(np.array([256, 1])), numbers_as_keys(np.array([0, 0])))
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
