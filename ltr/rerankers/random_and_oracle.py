"""References beside the rerankers: chance, and the labels themselves."""

import hashlib

import numpy as np

from ltr.arrays import FloatArray
from ltr.rerankers.documents import Documents
from ltr.rerankers.registry import Reranker, Setting, reranker


@reranker("random", is_reference=True)
def random_reranker(setting: Setting) -> Reranker:
    """A number from 0 to 1 for each candidate, which follows from the seed, the key of its query and its name."""

    def drawn(query: str, documents: Documents) -> FloatArray:
        keys = ["\0".join((str(setting.seed), *key)) for key in documents.keys]
        digests = [hashlib.blake2b(key.encode(), digest_size=6).digest() for key in keys]
        return np.array([int.from_bytes(digest, "little") / (1 << 48) for digest in digests])

    return drawn


@reranker("oracle", is_reference=True)
def oracle_reranker(setting: Setting) -> Reranker:
    """The label itself: no reranker can be better."""
    return lambda query, documents: np.array([setting.labels[key] for key in documents.keys])
