"""Keys of texts, bytes, numbers and pairs: digests that mean the same anywhere; and where keys stand among others."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ltr.arrays import Array, IntArray
from ltr.tables.disk import drop_read_pages

KEY = "S8"  # of one text: collisions among 2^20 texts have a chance of 3 in 100 million
WANTED_AT_ONCE = 1 << 20
MOST_ALIKE = 16  # keys that begin alike: with more, they are no digests


def digests(contents: Sequence[str] | Sequence[bytes]) -> Array:
    """Return the key of each text, or of each content.

    >>> len(np.unique(digests(["a", "b", "a"])))
    2
    """
    encoded = (content.encode() if isinstance(content, str) else content for content in contents)
    return np.frombuffer(b"".join(map(_digest, encoded)), dtype=KEY)


@lru_cache(maxsize=1 << 14)  # names come again in every shard
def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=8).digest()


def pairs(left: Array, right: Array) -> Array:
    """Return the key of each pair of keys: in the order of the left ones, then in that of the right ones."""
    return np.stack([left, right], axis=1).view("S16").ravel()


def halves(keys: Array) -> tuple[Array, Array]:
    """Return the left and the right keys of pairs.

    >>> halves(pairs(digests(["a"]), digests(["b"])))[1] == digests(["b"])
    array([ True])
    """
    halves_of_keys = keys.view(KEY).reshape(-1, 2)
    return halves_of_keys[:, 0], halves_of_keys[:, 1]


def places(keys: Array, wanted: Array) -> IntArray:
    """Return where each of the wanted keys of one text stands, all of them among keys that rise.

    >>> places(np.array([b"a", b"c"], dtype=KEY), np.array([b"c", b"a"], dtype=KEY))
    array([1, 0])
    """
    listed, sought = (np.ascontiguousarray(column).view(">u8").astype(np.uint64) for column in (keys, wanted))
    bits = np.uint64(64 - (4 * len(listed)).bit_length())
    begins = np.searchsorted(listed >> bits, np.arange((1 << (64 - int(bits))) + 1, dtype=np.uint64))
    if np.diff(begins).max() > MOST_ALIKE:
        return np.searchsorted(listed, sought)
    place = begins[sought >> bits]  # digests are spread evenly: nearly all stand where they are first looked for
    left = np.flatnonzero(listed[place] != sought)
    while len(left):
        place[left] += 1
        left = left[listed[place[left]] != sought[left]]
    return place


def place_counts(keys: Array, wanted: Array) -> IntArray:
    """Return how often each of some keys that rise is wanted; the wanted may lie on disk, and are read block by block.

    >>> place_counts(np.array([b"a", b"c"], dtype=KEY), np.array([b"c", b"a", b"c"], dtype=KEY))
    array([1, 2])
    """
    counts = np.zeros(len(keys), dtype=np.int64)
    for first in range(0, len(wanted), WANTED_AT_ONCE):
        counts += np.bincount(places(keys, wanted[first : first + WANTED_AT_ONCE]), minlength=len(keys))
    drop_read_pages({"wanted": wanted})
    return counts


def firsts(keys: Array) -> IntArray:
    """Return the first place of each distinct key, of keys that rise.

    >>> firsts(np.sort(digests(["a", "b", "a"])))
    array([0, 2])
    """
    if not len(keys):
        return np.empty(0, dtype=np.int64)
    words = np.ascontiguousarray(keys).view(np.uint64).reshape(len(keys), -1)  # far quicker to compare than bytes
    is_first = np.ones(len(keys), dtype=bool)
    is_first[1:] = (words[1:, 0] != words[:-1, 0]) | (words[1:, -1] != words[:-1, -1])
    return np.flatnonzero(is_first)
