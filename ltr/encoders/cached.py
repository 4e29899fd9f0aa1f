"""Each distinct text is encoded once: for all features, folds and splits of a run, and once on this machine."""

import unicodedata
from collections.abc import Callable, Sequence
from typing import Self

import numpy as np

from ltr.arrays import IntArray, State
from ltr.encoders.dense import Dense
from ltr.encoders.naming import encoder_kind
from ltr.encoders.protocol import Encoder, Role
from ltr.encoders.sparse import Sparse
from ltr.encoders.vector_cache import Vector, VectorCache, cache_key
from ltr.encoders.vectors import Vectors, stacked_rows
from ltr.errors import DataError
from ltr.files.naming import cache_directory
from ltr.logs import LOG
from ltr.plugins import plugin_errors, source_of

TEXTS_AT_ONCE = 1 << 10  # encoded and stored before the next ones: an interrupted run has not worked in vain
MOST_TEXTS = 1 << 16  # in memory; beyond, those that no call of the last CALLS needed are dropped
CALLS = 1000
ROW_BITS = 32


class CachedEncoder:
    """An encoder whose vectors stay in memory, and on disk where its identity allows it.

    The encoder is opened when a text is to be encoded, its model even later.
    """

    def __init__(
        self,
        name: str,
        revision: str,
        state: State,
        open_encoder: Callable[[], Encoder],
        cache: VectorCache | None = None,
    ) -> None:
        self.name, self.revision, self.state = name, revision, state
        self._open, self._cache = open_encoder, cache or VectorCache(cache_directory())
        self._encoder: Encoder | None = None
        self._calls = 0
        self._parts: dict[int, Vectors] = {}  # by call: the vectors of the texts that were new to it
        self._last_used: dict[int, int] = {}  # of a part: the last call that needed it
        self._places: dict[Role, dict[str, int]] = {"query": {}, "document": {}}  # part << ROW_BITS | row

    @classmethod
    def fitted(cls, name: str, texts: Sequence[str], cache: VectorCache | None = None) -> Self:
        """The encoder of that name, after it has seen the training texts."""
        kind = encoder_kind(name)
        with plugin_errors(f"the encoder {name}", kind.fitted, source_of(kind.fitted)):
            encoder = kind.fitted(texts)
        return cls(encoder.name, encoder.revision, encoder.state, lambda: encoder, cache)

    @classmethod
    def restored(cls, name: str, state: State, revision: str, cache: VectorCache | None = None) -> Self:
        """The encoder that was saved. A state is checked at once; what is installed, when a text is to be encoded."""
        kind = encoder_kind(name)

        def open_encoder() -> Encoder:
            with plugin_errors(f"the encoder {name}", kind.restored, source_of(kind.restored)):
                encoder = kind.restored(state)
            if encoder.revision != revision:
                raise DataError(f"the encoder {name} is at revision {encoder.revision}, not {revision}")
            return encoder

        cached = cls(name, revision, state, open_encoder, cache)
        if state:
            cached.encoder()
        return cached

    def encoder(self) -> Encoder:
        """The encoder itself, opened at the first call."""
        if self._encoder is None:
            self._encoder = self._open()
        return self._encoder

    def identity(self, role: Role) -> tuple[str, ...] | None:
        """That of the encoder."""
        return self.encoder().identity(role)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row a text; only texts that are new to this object in the role reach the disk or the encoder."""
        identity = self.encoder().identity(role)
        spelled = texts if identity is None else [text if text.isascii() else canonical_text(text) for text in texts]
        self._calls += 1
        self._drop_unused()
        new = [text for text in dict.fromkeys(spelled) if text not in self._places[role]]
        if new or not self._parts:
            on_disk = new and identity is not None
            vectors = self._through_cache(new, role, identity or ()) if on_disk else self._fresh(new, role)
            self._parts[self._calls], self._last_used[self._calls] = vectors, self._calls
            self._places[role] |= {text: self._calls << ROW_BITS | row for row, text in enumerate(new)}
        return self._rows(np.array([self._places[role][text] for text in spelled], dtype=np.int64))

    def _drop_unused(self) -> None:
        """Drop the parts that no late call needed, once there are many texts: a service must not grow."""
        if sum(map(len, self._places.values())) <= MOST_TEXTS:
            return
        stale = {part for part, call in self._last_used.items() if call < self._calls - CALLS}
        if not stale:
            return
        self._parts = {part: vectors for part, vectors in self._parts.items() if part not in stale}
        self._last_used = {part: call for part, call in self._last_used.items() if part not in stale}
        for role, places in self._places.items():
            self._places[role] = {text: place for text, place in places.items() if place >> ROW_BITS not in stale}

    def _through_cache(self, texts: list[str], role: Role, identity: tuple[str, ...]) -> Vectors:
        """The vectors of the texts from the disk; those that are missing are encoded and stored."""
        text_of = {cache_key(identity, text): text for text in texts}
        vectors = self._cache.get(list(text_of))
        LOG.info(f"encoder {self.name}: {len(vectors):,} of {len(texts):,} new texts were in the cache")
        vectors |= self._stored([(key, text) for key, text in text_of.items() if key not in vectors], role)
        if len({vector.shape for vector in vectors.values()}) > 1:  # somebody else wrote some of them
            vectors = self._stored(list(text_of.items()), role)
        return Dense(np.stack([vectors[key] for key in text_of]))

    def _stored(self, texts: list[tuple[bytes, str]], role: Role) -> dict[bytes, Vector]:
        """The fresh vectors of the texts by their keys, stored on disk some at a time."""
        vectors: dict[bytes, Vector] = {}
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            part = texts[first : first + TEXTS_AT_ONCE]
            fresh = self._fresh([text for _, text in part], role)
            if not isinstance(fresh, Dense):
                raise DataError(f"the encoder {self.name} has an identity, and vectors that are not dense")
            by_key = dict(zip((key for key, _ in part), fresh.numbers.astype(np.float32), strict=True))
            self._cache.put(by_key)
            vectors |= by_key
        return vectors

    def _fresh(self, texts: list[str], role: Role) -> Vectors:
        """What the encoder returns, checked: a plug-in of others may return anything."""
        encoder = self.encoder()
        with plugin_errors(f"the encoder {self.name}", encoder.encode, source_of(encoder.encode)):
            vectors = encoder.encode(texts, role)
        is_usable = (
            isinstance(vectors, Dense | Sparse)
            and len(vectors) == len(texts)
            and vectors.numbers.dtype.kind in "fiu"
            and bool(np.isfinite(vectors.numbers).all())
        )
        if not is_usable:
            raise DataError(
                f"the encoder {self.name} did not give a row of finite numbers for each of {len(texts)} texts"
            )
        return vectors

    def _rows(self, places: IntArray) -> Vectors:
        """The rows at the places, gathered from their parts."""
        part_of, rows = places >> ROW_BITS, places & ((1 << ROW_BITS) - 1)
        parts = np.unique(part_of).tolist() or list(self._parts)[:1]
        self._last_used |= dict.fromkeys(parts, self._calls)
        if len(parts) == 1:
            return self._parts[parts[0]].take(rows)
        members = [np.flatnonzero(part_of == part) for part in parts]
        order = np.empty(len(places), dtype=np.int64)
        order[np.concatenate(members)] = np.arange(len(places))
        return stacked_rows([self._parts[p].take(rows[where]) for p, where in zip(parts, members, strict=True)]).take(
            order
        )


def cached_texts(name: str, texts: Sequence[str], role: Role) -> int | None:
    """How many of the texts have their vector on this machine; None for an encoder whose vectors are not stored."""
    identity, cache = encoder_kind(name).fitted([]).identity(role), VectorCache(cache_directory())
    if identity is None:
        return None
    keys = [cache_key(identity, canonical_text(text)) for text in dict.fromkeys(texts)]
    return len(cache.get(keys)) if cache.path.exists() else 0  # looking creates no file


def canonical_text(text: str) -> str:
    r"""The text in the one spelling that is encoded and stored: NFC, and half a character pair as a question mark.

    >>> canonical_text("e\u0301\ud800")
    'é?'
    """
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
