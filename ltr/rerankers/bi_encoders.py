"""Bi-encoders: the cosine of two vectors, one of the query, one of the document."""

from collections.abc import Sequence

import numpy as np

from ltr.arrays import FloatArray
from ltr.encoders.cached_encoder import CachedEncoder, canonical_text
from ltr.encoders.model_folder import located
from ltr.encoders.protocol import Encoder, Role
from ltr.encoders.registry import ENCODERS, INSTEAD, PREFIX, encoder_kind, fetch
from ltr.encoders.transformer_models import PACKAGE
from ltr.encoders.vectors import Vectors
from ltr.files.installed_packages import are_installed, install_line
from ltr.rerankers.documents import Documents
from ltr.rerankers.registry import Absent, Reranker, Setting, reranker


class UncachedEncoder:
    """An encoder without a cache; its texts are spelled as a cache would do it."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.name, self.revision, self.state = encoder, encoder.name, encoder.revision, encoder.state

    def identity(self, role: Role) -> None:
        """None: no vector is stored."""

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row a text."""
        takes_any_spelling = self.encoder.identity(role) is None
        return self.encoder.encode(texts if takes_any_spelling else [canonical_text(text) for text in texts], role)


class IndexedEncoder:
    """An encoder as a service uses it: a document is encoded once, a query every time. Nothing is on disk."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.revision, self.state = encoder.name, encoder.revision, encoder.state
        self._queries = UncachedEncoder(encoder)
        self._documents = CachedEncoder(self.name, self.revision, self.state, lambda: UncachedEncoder(encoder))

    def identity(self, role: Role) -> None:
        """None: a vector that another run had stored would hide what it costs."""

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row a text."""
        return (self._documents if role == "document" else self._queries).encode(texts, role)


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


def encoder_absent(name: str) -> Absent:
    """The function that says why the encoder of this name cannot be used on this machine."""

    def reason(argument: str, setting: Setting) -> str:
        return "" if ENCODERS[name].is_installed() else f"not installed: {install_line(INSTEAD[name][0])}"

    return reason


@reranker("static", absent=encoder_absent("static"))
def static_reranker(setting: Setting, *, index: bool = True) -> Reranker:
    """Cosine of mean token vectors of WordLlama's table."""
    return BiEncoder(ENCODERS["static"].fitted(()), setting.collection, index=index)


@reranker("minilm", absent=encoder_absent("minilm"))
def minilm_reranker(setting: Setting, *, index: bool = True) -> Reranker:
    """Cosine of all-MiniLM-L6-v2's vectors; index: false encodes the documents again with every query."""
    return BiEncoder(ENCODERS["minilm"].fitted(()), setting.collection, index=index)


def absent_model(argument: str, setting: Setting) -> str:
    """Why a model of sentence-transformers cannot be used on this machine."""
    if not are_installed(PACKAGE):
        return f"not installed: {install_line(INSTEAD['minilm'][0])}"
    if not setting.allow_download and located(argument) is None:
        return f"the model {argument!r} is not on this machine; name its folder, or add --allow-download"
    return ""


@reranker(f"{PREFIX}NAME_OR_PATH", absent=absent_model)
def sentence_transformer_reranker(setting: Setting, model: str, *, index: bool = True) -> Reranker:
    """Cosine of the vectors of any sentence-transformers model in a folder."""
    if setting.allow_download:
        fetch(f"{PREFIX}{model}")
    return BiEncoder(encoder_kind(f"{PREFIX}{model}").fitted(()), setting.collection, index=index)
