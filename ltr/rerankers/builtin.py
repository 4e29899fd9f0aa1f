"""Rerankers that load no model: BM25, and two references beside the others, chance and the labels themselves."""

import hashlib

import numpy as np

from ltr.arrays import FloatArray
from ltr.features import BM25_CONSTANTS
from ltr.registry import NotNegative, Rate
from ltr.rerankers.protocol import Documents, Reranker, Setting, reranker
from ltr.results import Bm25

K1, B = BM25_CONSTANTS


@reranker("bm25")
def bm25_reranker(setting: Setting, *, k1: NotNegative = K1, b: Rate = B) -> Reranker:
    """BM25: sum of ln(1 + (N - df + 1/2) / (df + 1/2)) * tf (k1 + 1) / (tf + k1 (1 - b + b L)) over the query's words.

    N, df and the mean length that L is measured by are those of the whole collection: in a list of ten
    candidates that all book something, "book" would seem to say nothing, and a score would move with the list.
    """
    bm25 = Bm25(setting.collection.texts, k1=k1, b=b)
    return lambda query, documents: bm25.scores(query, documents.texts)


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
