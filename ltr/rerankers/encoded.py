"""Bi-encoders: the cosine of two vectors, one of the query, one of the document."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ltr.arrays import FloatArray
from ltr.encoders.cached import CachedEncoder, normalized
from ltr.encoders.modelfolder import located
from ltr.encoders.naming import ENCODERS, encoder_kind, fetch
from ltr.encoders.packages import WAYS_OUT, are_installed
from ltr.encoders.protocol import Encoder, Role
from ltr.encoders.sentences import PACKAGE, PREFIX
from ltr.encoders.vectors import Vectors
from ltr.rerankers.documents import Documents
from ltr.rerankers.registry import Reranker, Setting, reranker


class Indexed:
    """An encoder as a service uses it: a document is encoded once, a query whenever it is asked. Nothing is on disk."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.revision, self.state = encoder.name, encoder.revision, encoder.state
        self._encoder = encoder
        self._documents = CachedEncoder(self.name, self.revision, self.state, lambda: _Unkept(encoder))

    def identity(self, role: Role) -> None:
        """Not kept between runs: a vector that another run left would hide what it costs."""

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row a text."""
        return self._documents.encode(texts, role) if role == "document" else _Unkept(self._encoder).encode(texts, role)


class _Unkept:
    """The encoder, its texts spelled as a cache would spell them, and no cache."""

    def __init__(self, encoder: Encoder) -> None:
        self.encoder, self.name, self.revision, self.state = encoder, encoder.name, encoder.revision, encoder.state

    def identity(self, role: Role) -> None:
        """None to keep vectors by."""

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        is_spelled = self.encoder.identity(role) is None
        return self.encoder.encode(texts if is_spelled else [normalized(text) for text in texts], role)


class BiEncoder:
    """cos(e(query), e(document)). With an index the whole collection is encoded once, before the first query."""

    def __init__(self, encoder: Encoder, collection: Documents, *, index: bool) -> None:
        self.revision = encoder.revision
        self._encoder: Any = Indexed(encoder) if index else _Unkept(encoder)
        self._unread = collection.texts if index else ()

    def __call__(self, query: str, documents: Documents) -> FloatArray:
        if self._unread:
            self._encoder.encode(self._unread, "document")
            self._unread = ()
        told = self._encoder.encode(documents.texts, "document")
        rows = np.arange(len(documents))
        cosines: FloatArray = self._encoder.encode([query], "query").dots(np.zeros_like(rows), told, rows)
        return cosines


@reranker("hash")
def hashed(setting: Setting, *, index: bool = True) -> Reranker:
    """Cosine of hashed character n-grams, weighted by how few candidates of the collection have them."""
    return BiEncoder(ENCODERS["hash"].fitted(setting.collection.texts), setting.collection, index=index)


def _absent(name: str) -> Any:
    def reason(argument: str, setting: Setting) -> str:
        return "" if ENCODERS[name].is_installed() else f"not installed: {WAYS_OUT[name].partition(' · ')[0]}"

    return reason


@reranker("static", absent=_absent("static"))
def static(setting: Setting, *, index: bool = True) -> Reranker:
    """Cosine of mean token vectors of WordLlama's table."""
    return BiEncoder(ENCODERS["static"].fitted(()), setting.collection, index=index)


@reranker("minilm", absent=_absent("minilm"))
def minilm(setting: Setting, *, index: bool = True) -> Reranker:
    """Cosine of all-MiniLM-L6-v2's vectors; index: false encodes the documents again with every query."""
    return BiEncoder(ENCODERS["minilm"].fitted(()), setting.collection, index=index)


def absent_model(argument: str, setting: Setting) -> str:
    """Why a model of sentence-transformers cannot be used on this machine."""
    if not are_installed(PACKAGE):
        return f"not installed: {WAYS_OUT['minilm'].partition(' · ')[0]}"
    if not setting.allow_download and located(argument) is None:
        return f"the model {argument!r} is not on this machine; name its folder, or add --allow-download"
    return ""


@reranker(f"{PREFIX}NAME_OR_PATH", absent=absent_model)
def sentence_transformer(setting: Setting, model: str, *, index: bool = True) -> Reranker:
    """Cosine of the vectors of any sentence-transformers model in a folder."""
    if setting.allow_download:
        fetch(f"{PREFIX}{model}")
    return BiEncoder(encoder_kind(f"{PREFIX}{model}").fitted(()), setting.collection, index=index)
