"""Hashes of texts, the same anywhere: of 64 bits, and mixed with another number."""

import hashlib
from collections.abc import Collection, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray
from ltr.tables import digests

Hashes = npt.NDArray[np.uint64]
ODD = np.uint64(0x9E3779B97F4A7C15)


def hashed(texts: Iterable[str]) -> Hashes:
    """64 bits of each text."""
    return digests(tuple(texts)).view("<u8").astype(np.uint64)


def mixed(values: Hashes) -> Hashes:
    """Each value with its bits spread, as in SplitMix64."""
    values = (values + ODD) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def text_mark(text: str) -> str:
    """A short hash, which says of a text whether it is the same and nothing else."""
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def are_marked(texts: Sequence[str], marks: Collection[str]) -> BoolArray:
    """Return whether the short hash of each text is among the marks.

    >>> are_marked(["mail", "maps"], [text_mark("mail")]).tolist()
    [True, False]
    """
    known = set(marks)
    return np.array([text_mark(text) in known for text in texts], dtype=bool)
