"""Bounds that others are read by: chance, and what nothing can beat."""

import hashlib

import numpy as np

from ltr.arrays import FloatArray
from ltr.rerankers.documents import Documents
from ltr.rerankers.registry import Reranker, Setting, reranker


@reranker("random", is_reference=True)
def chance(setting: Setting) -> Reranker:
    """A number drawn for each candidate by the seed, the key of its query and its name."""

    def scores(query: str, documents: Documents) -> FloatArray:
        return np.array([_drawn("\0".join((str(setting.seed), *key))) for key in documents.keys])

    return scores


def _drawn(text: str) -> float:
    """A number from 0 to 1 that follows from the text.

    >>> 0 <= _drawn("a") < 1 and _drawn("a") != _drawn("b")
    True
    """
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=6).digest(), "little") / (1 << 48)


@reranker("oracle", is_reference=True)
def oracle(setting: Setting) -> Reranker:
    """The label itself: what nothing can beat."""
    return lambda query, documents: np.array([setting.truth[key] for key in documents.keys])
