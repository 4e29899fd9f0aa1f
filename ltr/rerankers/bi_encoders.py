"""Bi-encoders: the cosine of two vectors, one of the query, one of the document."""

import numpy as np

from ltr.arrays import FloatArray
from ltr.encoders.protocol import Encoder
from ltr.encoders.registry import ENCODERS, PREFIX, encoder_kind, fetch
from ltr.rerankers.documents import Documents
from ltr.rerankers.indexed_encoder import IndexedEncoder, UncachedEncoder
from ltr.rerankers.missing_models import absent_model, encoder_absent
from ltr.rerankers.registry import Reranker, Setting, reranker


class BiEncoder:
    """cos(e(query), e(document)). With an index the whole collection is encoded once, before the first query."""

    def __init__(self, encoder: Encoder, collection: Documents, *, index: bool) -> None:
        self.revision = encoder.revision
        self._encoder: Encoder = IndexedEncoder(encoder) if index else UncachedEncoder(encoder)
        self._to_index = collection.texts if index else ()

    def __call__(self, query: str, documents: Documents) -> FloatArray:
        """The cosine of query and each document."""
        if self._to_index:
            self._encoder.encode(self._to_index, "document")
            self._to_index = ()
        vectors = self._encoder.encode(documents.texts, "document")
        rows = np.arange(len(documents))
        return self._encoder.encode([query], "query").dots(np.zeros_like(rows), vectors, rows)


@reranker("hash")
def hash_reranker(setting: Setting, *, index: bool = True) -> Reranker:
    """Cosine of hashed character n-grams, weighted by how few candidates of the collection have them."""
    return BiEncoder(ENCODERS["hash"].fitted(setting.collection.texts), setting.collection, index=index)


@reranker("static", absent=encoder_absent("static"))
def static_reranker(setting: Setting, *, index: bool = True) -> Reranker:
    """Cosine of mean token vectors of WordLlama's table."""
    return BiEncoder(ENCODERS["static"].fitted(()), setting.collection, index=index)


@reranker("minilm", absent=encoder_absent("minilm"))
def minilm_reranker(setting: Setting, *, index: bool = True) -> Reranker:
    """Cosine of all-MiniLM-L6-v2's vectors; index: false encodes the documents again with every query."""
    return BiEncoder(ENCODERS["minilm"].fitted(()), setting.collection, index=index)


@reranker(f"{PREFIX}NAME_OR_PATH", absent=absent_model)
def sentence_transformer_reranker(setting: Setting, model: str, *, index: bool = True) -> Reranker:
    """Cosine of the vectors of any sentence-transformers model in a folder."""
    if setting.allow_download:
        fetch(f"{PREFIX}{model}")
    return BiEncoder(encoder_kind(f"{PREFIX}{model}").fitted(()), setting.collection, index=index)
