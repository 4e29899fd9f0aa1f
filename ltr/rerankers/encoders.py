"""Rerankers that read texts by a model: the cosine of two vectors, or a cross-encoder of query and document."""

import os
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Any

import numpy as np

from ltr.arrays import FloatArray
from ltr.encoders import ENCODERS, CachedEncoder, Encoder, ModelFolder, Role, Vectors, canonical_text, fetch
from ltr.errors import DataError, RunError, UsageError
from ltr.extras import are_installed, install_line
from ltr.rerankers.protocol import Documents, Reranker, Setting, reranker

EXTRAS = {"static": "static", "minilm": "embed"}  # of an encoder: what installs it


class ServiceEncoder:
    """An encoder as a service uses it: a query is encoded every time, a document once where there is an index.

    Nothing is on disk. Texts are spelled as a cache would do it.
    """

    def __init__(self, encoder: Encoder, *, index: bool = True) -> None:
        self.name, self.revision, self.state = encoder.name, encoder.revision, encoder.state
        self._encoder, self._documents = encoder, None
        if index:
            uncached = partial(ServiceEncoder, encoder, index=False)
            self._documents = CachedEncoder(self.name, self.revision, self.state, uncached)

    def identity(self, role: Role) -> None:
        """Return None: a vector that another run had stored would hide what it costs."""

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Return one row a text."""
        if role == "document" and self._documents is not None:
            return self._documents.encode(texts, role)
        if self._encoder.identity(role) is not None:  # else it takes any spelling
            texts = [canonical_text(text) for text in texts]
        return self._encoder.encode(texts, role)


class BiEncoder:
    """cos(e(query), e(document)). With an index the whole collection is encoded once, before the first query."""

    def __init__(self, encoder: Encoder, collection: Documents, *, index: bool) -> None:
        self.revision = encoder.revision
        self._encoder: Encoder = ServiceEncoder(encoder, index=index)
        self._to_index = collection.texts if index else ()

    def __call__(self, query: str, documents: Documents) -> FloatArray:
        """Return the cosine of query and each document."""
        if self._to_index:
            self._encoder.encode(self._to_index, "document")
            self._to_index = ()
        vectors = self._encoder.encode(documents.texts, "document")
        rows = np.arange(len(documents))
        return self._encoder.encode([query], "query").dots(np.zeros_like(rows), vectors, rows)


def absent_encoder(argument: str, setting: Setting, *, name: str) -> str:
    """Return why the encoder of this name cannot be used on this machine."""
    return "" if ENCODERS[name].is_installed() else f"not installed: {install_line(EXTRAS[name])}"


def absent_model(argument: str, setting: Setting) -> str:
    """Return why a model of sentence-transformers cannot be used on this machine."""
    if not are_installed("sentence_transformers"):
        return f"not installed: {install_line(EXTRAS['minilm'])}"
    if not setting.allow_download and ModelFolder.found(argument) is None:
        return f"the model {argument!r} is not on this machine; name its folder, or add --allow-download"
    return ""


@reranker("hash")
def hash_reranker(setting: Setting, *, index: bool = True) -> Reranker:
    """Cosine of hashed character n-grams, weighted by how few candidates of the collection have them."""
    return BiEncoder(ENCODERS["hash"].fitted(setting.collection.texts), setting.collection, index=index)


@reranker("static", absent=partial(absent_encoder, name="static"))
def static_reranker(setting: Setting, *, index: bool = True) -> Reranker:
    """Cosine of mean token vectors of WordLlama's table."""
    return BiEncoder(ENCODERS["static"].fitted(()), setting.collection, index=index)


@reranker("minilm", absent=partial(absent_encoder, name="minilm"))
def minilm_reranker(setting: Setting, *, index: bool = True) -> Reranker:
    """Cosine of all-MiniLM-L6-v2's vectors; index: false encodes the documents again with every query."""
    return BiEncoder(ENCODERS["minilm"].fitted(()), setting.collection, index=index)


@reranker("sentence-transformers:NAME_OR_PATH", absent=absent_model)
def sentence_transformer_reranker(setting: Setting, model: str, *, index: bool = True) -> Reranker:
    """Cosine of the vectors of any sentence-transformers model in a folder."""
    name = f"sentence-transformers:{model}"
    if setting.allow_download:
        fetch(name)
    return BiEncoder(ENCODERS[name].fitted(()), setting.collection, index=index)


@reranker("cross-encoder:NAME_OR_PATH", absent=absent_model)
def cross_encoder_reranker(setting: Setting, model: str) -> Reranker:
    """The logit that a sentence-transformers CrossEncoder gives to query and document read together."""
    folder = ModelFolder.found(model, download=setting.allow_download)
    if folder is None:
        raise UsageError(f"the model {model!r} is not on this machine")
    return CrossEncoderReranker(folder)


class CrossEncoderReranker:
    """A CrossEncoder in a folder, loaded at the first query."""

    def __init__(self, folder: ModelFolder) -> None:
        folder.refuse_code()
        self.folder, self.revision = folder.path, folder.revision

    def __call__(self, query: str, documents: Documents) -> FloatArray:
        """Return the logit of the query with each document."""
        import torch

        texts = documents.texts
        # a pair is padded by what stands beside it, which moves its last bits: the same order whatever the list's
        places = sorted(range(len(texts)), key=texts.__getitem__)
        pairs = [(query, texts[place]) for place in places]
        # without the sigmoid, which makes large logits equal
        predicted = self._model.predict(pairs, show_progress_bar=False, activation_fn=torch.nn.Identity())
        logits = np.asarray(predicted, dtype=np.float64)
        if logits.shape != (len(texts),):
            raise RunError(f"{self.folder}: gives {logits.shape[-1]} numbers a pair; a model with one is needed")
        scores = np.empty(len(texts))
        scores[places] = logits
        return scores

    @cached_property
    def _model(self) -> Any:
        import torch
        import transformers
        from sentence_transformers import CrossEncoder

        torch.set_num_threads(os.cpu_count() or 1)  # imported after numpy, torch uses one thread
        transformers.utils.logging.disable_progress_bar()
        try:
            return CrossEncoder(str(self.folder), local_files_only=True, trust_remote_code=False)
        except (OSError, ValueError, KeyError) as error:
            cause = " ".join(str(error).split())
            raise DataError(f"{self.folder}: not a model that CrossEncoder can load: {cause}") from error
