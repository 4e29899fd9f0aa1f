"""Codes of texts and other keys: whole numbers from 0, in order of first appearance."""

from typing import Any

import numpy as np

from ltr.arrays import IntArray, distinct
from ltr.data.value_excerpts import excerpt
from ltr.errors import FieldError


class Codes(dict[Any, int]):
    """A code for each distinct key, in order of first appearance: the first is 0.

    >>> codes = Codes()
    >>> codes["b"], codes["a"], codes["b"]
    (0, 1, 0)
    """

    def __missing__(self, key: Any) -> int:
        self[key] = code = len(self)
        return code


class NameCodes(Codes):
    """Codes of candidate names; a blank name is refused."""

    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field

    def __missing__(self, key: str) -> int:
        if not key.strip():
            raise FieldError(self.field, f"found {excerpt(key)}; a name is needed")
        return super().__missing__(key)


def recoded(codes: IntArray) -> tuple[IntArray, IntArray]:
    """The codes renumbered in order of first appearance, and the old code of each new one.

    >>> recoded(np.array([7, 3, 7]))
    (array([0, 1, 0]), array([7, 3]))
    """
    first, which = distinct(codes)
    order = np.argsort(first)
    renumbered = np.empty_like(order)
    renumbered[order] = np.arange(len(order))
    return renumbered[which], codes[first[order]]
