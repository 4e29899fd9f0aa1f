"""Parts: what is counted in some groups, as tables by key, so that the parts of two shards make that of both.

A key is the digest of a text, or a pair of digests: it means the same in every shard.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from ltr.arrays import IntArray, Ragged
from ltr.files.npz import Array, pack_texts, unpack_texts

KEY = "S8"  # of one text: collisions among 2^20 texts have a chance of 3 in 100 million
NOTHING: Mapping[str, Any] = {}  # no columns
AnyPart = TypeVar("AnyPart")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Columns beside distinct keys that rise: what is added where two tables have a key, and what follows from it."""

    keys: Array  # (n,) bytes: 8 of a text, 16 of a pair of texts
    sums: Mapping[str, Array] = field(default_factory=dict)  # (n, ...) numbers that are added
    facts: Mapping[str, Array] = field(default_factory=dict)  # (n, ...) what follows from the key
    lists: Mapping[str, Ragged] = field(default_factory=dict)  # lists that follow from the key

    def __len__(self) -> int:
        return len(self.keys)


Part = dict[str, Table]


def table(
    keys: Array,
    sums: Mapping[str, Array] = NOTHING,
    *,
    facts: Mapping[str, Array] = NOTHING,
    lists: Mapping[str, Ragged] = NOTHING,
) -> Table:
    """The table of keys in any order, where a key may stand often: its sums are added in the order of the rows.

    >>> texts = ["b", "a", "b"]
    >>> counts = table(digests(texts), {"times": np.array([1, 1, 1])}, lists={"text": spelled(texts)})
    >>> sorted(zip(texts_of(counts.lists["text"]), counts.sums["times"].tolist()))
    [('a', 1), ('b', 2)]
    """
    lengths = {name: len(column) for columns in (sums, facts) for name, column in columns.items()}
    lengths |= {name: len(column.lengths) for name, column in lists.items()}
    for name, length in lengths.items():
        if length != len(keys):
            raise ValueError(f"the column {name} has {length} rows beside {len(keys)} keys")
    order = np.argsort(keys, kind="stable")
    first = firsts(keys[order])
    rows = order[first]
    return Table(
        keys[rows],
        {name: np.add.reduceat(column[order], first) if len(first) else column for name, column in sums.items()},
        {name: column[rows] for name, column in facts.items()},
        {name: column.take(rows) for name, column in lists.items()},
    )


def merged(left: Part, right: Part) -> Part:
    """The part of two shards together: counts are added, sets are united."""
    return {name: _together(left[name], right[name]) for name in left}


def _together(left: Table, right: Table) -> Table:
    """The rows of both tables, those of one key as one."""
    return table(
        np.concatenate([left.keys, right.keys]),
        {name: np.concatenate([column, right.sums[name]]) for name, column in left.sums.items()},
        facts={name: np.concatenate([column, right.facts[name]]) for name, column in left.facts.items()},
        lists={name: Ragged.stacked([column, right.lists[name]]) for name, column in left.lists.items()},
    )


def merges_without_each(parts: Sequence[AnyPart], merge: Callable[[AnyPart, AnyPart], AnyPart]) -> Iterator[AnyPart]:
    """For each of at least two parts the merge of the others, then that of all, by running merges from both ends.

    >>> list(merges_without_each(["a", "b", "c"], lambda left, right: left + right))
    ['bc', 'ac', 'ab', 'abc']
    """
    later = list(accumulate(reversed(parts[1:]), lambda right, left: merge(left, right)))  # the last of them first
    yield later.pop()
    earlier = parts[0]
    for part in parts[1:-1]:
        yield merge(earlier, later.pop())
        earlier = merge(earlier, part)
    yield earlier
    yield merge(earlier, parts[-1])


def digests(texts: Sequence[str]) -> Array:
    """The key of each text.

    >>> len(np.unique(digests(["a", "b", "a"])))
    2
    """
    joined = b"".join(hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    return np.frombuffer(joined, dtype=KEY)


def numbers_as_keys(numbers: IntArray) -> Array:
    """The key of each integer from 0, in the order of the integers.

    >>> integers_of(numbers_as_keys(np.array([256, 1])))
    array([256,   1])
    """
    return numbers.astype(">u8").view(KEY)


def integers_of(keys: Array) -> IntArray:
    """The integers of `numbers_as_keys`."""
    return np.ascontiguousarray(keys).view(">u8").astype(np.int64)


def pairs(left: Array, right: Array) -> Array:
    """The key of each pair of keys; pairs are in the order of the left, those of one left in that of the right."""
    return np.stack([left, right], axis=1).view("S16").ravel()


def halves(keys: Array) -> tuple[Array, Array]:
    """The left and the right keys of pairs.

    >>> halves(pairs(digests(["a"]), digests(["b"])))[1] == digests(["b"])
    array([ True])
    """
    both = keys.view(KEY).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def firsts(keys: Array) -> IntArray:
    """The first place of each distinct key, of keys that rise.

    >>> firsts(np.sort(digests(["a", "b", "a"])))
    array([0, 2])
    """
    if not len(keys):
        return np.empty(0, dtype=np.int64)
    words = np.ascontiguousarray(keys).view(np.uint64).reshape(len(keys), -1)  # far quicker to compare than bytes
    is_first = np.ones(len(keys), dtype=bool)
    is_first[1:] = (words[1:, 0] != words[:-1, 0]) | (words[1:, -1] != words[:-1, -1])
    return np.flatnonzero(is_first)


def spelled(texts: Sequence[str]) -> Ragged:
    """Texts as a column: their bytes.

    >>> texts_of(spelled(["ab", ""]))
    ('ab', '')
    """
    content, ends = pack_texts(texts)
    return Ragged(np.concatenate(([0], ends)), content)


def texts_of(column: Ragged) -> tuple[str, ...]:
    """The texts of `spelled`."""
    return unpack_texts(column.codes, column.starts[1:])
