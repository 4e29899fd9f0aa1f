"""Tables of a state: texts, numbers beside them, and what stands beside the texts that are asked for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.files.npz import Array, pack_texts, unpack_texts


def table(texts: Sequence[str], **columns: Array) -> State:
    """Texts, and columns beside them, as a state keeps them."""
    content, ends = pack_texts(texts)
    return {"texts": content, "ends": ends, **columns}


def table_texts(kept: State) -> tuple[str, ...]:
    """The texts of a table.

    >>> table_texts(table(["a", "b"], wins=np.array([1, 0])))
    ('a', 'b')
    """
    return unpack_texts(kept["texts"], kept["ends"])


def places(known: Sequence[Any], asked: Sequence[Any]) -> IntArray:
    """Where each of the asked stands among the known; -1 where it does not.

    >>> places(["a", "b"], ["b", "c"])
    array([ 1, -1])
    """
    at = {each: place for place, each in enumerate(known)}
    return np.array([at.get(each, -1) for each in asked], dtype=np.int64)


def looked_up(known: Sequence[Any], numbers: IntArray | FloatArray, asked: Sequence[Any]) -> FloatArray:
    """The number of each of the asked; 0 where it is not known.

    >>> looked_up(["a", "b"], np.array([5, 7]), ["b", "c"])
    array([7., 0.])
    """
    return np.append(numbers, 0).astype(np.float64)[places(known, asked)]
