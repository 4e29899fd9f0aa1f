"""Texts packed into two arrays, and unpacked."""

from collections.abc import Sequence

import numpy as np

from ltr.arrays import Array


def pack_texts(texts: Sequence[str]) -> tuple[Array, Array]:
    """Texts as UTF-8 bytes one after the other, and where each ends.

    >>> content, ends = pack_texts(["ab", "", "c"])
    >>> content.tobytes(), ends.tolist()
    (b'abc', [2, 2, 3])
    """
    joined = "".join(texts)
    lengths = map(len, texts if joined.isascii() else map(str.encode, texts))  # in ASCII a character is a byte
    return np.frombuffer(joined.encode(), dtype=np.uint8), np.cumsum([*lengths], dtype=np.int64)


def unpack_texts(content: Array, ends: Array) -> tuple[str, ...]:
    """The texts of `pack_texts`; a ValueError when content and ends do not fit.

    >>> unpack_texts(*pack_texts(["ab", "", "c"]))
    ('ab', '', 'c')
    """
    joined, starts = content.tobytes(), [0, *ends.tolist()]
    if starts[-1] != len(joined) or any(first > last for first, last in zip(starts, starts[1:], strict=False)):
        raise ValueError("texts and their ends do not fit")
    return tuple(joined[first:last].decode() for first, last in zip(starts, starts[1:], strict=False))
