"""Tokens as Words: the bytes of a token, filled up with zeros, eight to an integer.

Numpy compares and hashes words without a Python object for each token.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, IntArray

Words = npt.NDArray[np.uint64]  # (tokens, words)
WORD = np.dtype("<u8")


def as_words(tokens: Sequence[bytes]) -> Words:
    """The tokens as words.

    >>> as_words([b"a", b"b"]).tolist()
    [[97], [98]]
    """
    width = max(max(map(len, tokens), default=0) + 7 >> 3, 1)
    return np.array(tokens, dtype=f"S{8 * width}").view(WORD).reshape(-1, width)


def as_tokens(words: Words) -> list[bytes]:
    """The tokens that the words stand for."""
    return np.ascontiguousarray(words).view(f"S{8 * words.shape[1]}").ravel().tolist()


def stack_tokens(parts: Sequence[Words]) -> Words:
    """The words of all parts, as wide as the widest."""
    width = max(part.shape[1] for part in parts)
    return np.concatenate([widen_tokens(part, width) for part in parts])


def widen_tokens(words: Words, width: int) -> Words:
    """The words, filled up to the width."""
    missing = width - words.shape[1]
    return np.pad(words, ((0, 0), (0, missing))) if missing > 0 else words


def token_hashes(words: Words, seed: IntArray | int = 0) -> Words:
    """A 64-bit hash of each token and its seed; equal tokens have equal hashes in words of any width."""
    mixed = np.full(len(words), seed, dtype=np.int64).view(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for column in words.T:
        spread = (mixed ^ column) * np.uint64(0xD6E8FEB86659FD93)
        mixed = np.where(column, spread ^ (spread >> np.uint64(32)), mixed)  # a word of padding changes nothing
    return mixed


def same_tokens(words: Words, others: Words) -> BoolArray:
    """Whether the tokens are the same, row by row."""
    width = max(words.shape[1], others.shape[1])
    equal: BoolArray = (widen_tokens(words, width) == widen_tokens(others, width)).all(axis=1)
    return equal
