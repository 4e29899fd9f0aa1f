"""Each distinct text is encoded once: for all features, folds and splits of a run, and once on this machine."""

import unicodedata
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from ltr.arrays import IntArray, State
from ltr.encoders.dense_vectors import Dense
from ltr.encoders.protocol import Encoder, Role
from ltr.encoders.registry import encoder_kind
from ltr.encoders.sparse_vectors import Sparse
from ltr.encoders.vectors import Vectors, stacked_rows
from ltr.errors import DataError
from ltr.files.cache_directory import cache_directory
from ltr.logs import LOG
from ltr.plugins import plugin_errors, source_of

if TYPE_CHECKING:
    from ltr.encoders.vector_cache import Vector, VectorCache

Source = TypeVar("Source", bound=Hashable)

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
        cache: "VectorCache | None" = None,
    ) -> None:
        self.name, self.revision, self.state = name, revision, state
        self._open, self._cache = open_encoder, cache  # None: the one of this machine, opened at the first need
        self._encoder: Encoder | None = None
        self._calls = 0
        self._parts: dict[int, Vectors] = {}  # by call: the vectors of the texts that were new to it
        self._last_used: dict[int, int] = {}  # of a part: the last call that needed it
        self._places: dict[Role, dict[str, int]] = {"query": {}, "document": {}}  # part << ROW_BITS | row

    @classmethod
    def fitted(cls, name: str, texts: Sequence[str], cache: "VectorCache | None" = None) -> Self:
        """The encoder of that name, after it has seen the training texts."""
        kind = encoder_kind(name)
        with plugin_errors(f"the encoder {name}", kind.fitted, source_of(kind.fitted)):
            encoder = kind.fitted(texts)
        return cls.of(encoder, cache)

    @classmethod
    def of(cls, encoder: Encoder, cache: "VectorCache | None" = None) -> Self:
        """The encoder, with nothing in memory yet."""
        return cls(encoder.name, encoder.revision, encoder.state, lambda: encoder, cache)

    @classmethod
    def restored(cls, name: str, state: State, revision: str, cache: "VectorCache | None" = None) -> Self:
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
            cached._encoder = open_encoder()
        return cached

    def apart(self) -> Self:
        """The same encoder, opened once for both, with vectors of its own in memory."""
        return type(self)(self.name, self.revision, self.state, self.encoder, self._cache)

    def encoder(self) -> Encoder:
        """The encoder itself, opened at the first call."""
        if self._encoder is None:
            self._encoder = self._open()
        return self._encoder

    def identity(self, role: Role) -> tuple[str, ...] | None:
        """That of the encoder."""
        return self.encoder().identity(role)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).restored, (self.name, self.state, self.revision)  # vectors and connections stay behind

    def encode_once(self, texts: Sequence[str], role: Role) -> Vectors:
        """The same rows as `encode`, of which memory holds none; those of documents are stored on disk all the same.

        What a query of a service says is nobody's to keep.
        """
        encoder = self.encoder()
        identity = encoder.identity(role)
        if identity is None:
            return self._encoded(encoder, texts, role)
        spelled = [text if text.isascii() else canonical_text(text) for text in texts]
        new = list(dict.fromkeys(spelled))
        stored = self._stored(new, identity) if role == "document" else {}
        missing = [text for text in new if text not in stored]
        parts: list[Vectors] = []
        for first in range(0, max(len(missing), not stored), TEXTS_AT_ONCE):
            part = missing[first : first + TEXTS_AT_ONCE]
            vectors = self._encoded(encoder, part, role)
            if role == "document" and isinstance(vectors, Dense):
                self._store(part, identity, vectors)
            parts.append(vectors)
        if stored:
            parts.append(Dense(np.stack(list(stored.values()))))
        place = {text: row for row, text in enumerate([*missing, *stored])}
        return stacked_rows(parts).take(np.array([place[text] for text in spelled], dtype=np.int64))

    def _encoded(self, encoder: Encoder, texts: Sequence[str], role: Role) -> Vectors:
        """What the encoder makes of the texts: usable rows, in single precision where disk may hold them."""
        is_stored = encoder.identity(role) is not None
        with plugin_errors(f"the encoder {self.name}", encoder.encode, source_of(encoder.encode)):
            vectors = encoder.encode(texts, role)
        refuse_unusable(self.name, vectors, len(texts), must_be_dense=is_stored)
        return Dense(vectors.numbers.astype(np.float32)) if is_stored and isinstance(vectors, Dense) else vectors

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row a text; only texts that are new to this object in the role reach the disk or the encoder."""
        encoder = self.encoder()
        identity = encoder.identity(role)
        spelled = texts if identity is None else [text if text.isascii() else canonical_text(text) for text in texts]
        self._calls += 1
        self._drop_unused()
        new = [text for text in dict.fromkeys(spelled) if text not in self._places[role]]
        stored = self._stored(new, identity) if identity and new else {}
        missing = [text for text in new if text not in stored]
        at_once = TEXTS_AT_ONCE if identity else len(missing)
        encoded: list[str] = []
        parts: list[Vectors] = []
        while missing or not (parts or stored or self._parts):  # without any text the encoder still gives the width
            part, missing = missing[:at_once], missing[at_once:]
            vectors = self._encoded(encoder, part, role)
            if identity and isinstance(vectors, Dense):
                self._store(part, identity, vectors)
                if any(vector.shape != vectors.numbers.shape[1:] for vector in stored.values()):
                    missing, stored = [*missing, *stored], {}  # somebody else wrote those: they are encoded again
            encoded += part
            parts.append(vectors)
        if stored:
            encoded += stored
            parts.append(Dense(np.stack(list(stored.values()))))
        if parts:
            self._parts[self._calls], self._last_used[self._calls] = stacked_rows(parts), self._calls
            self._places[role] |= {text: self._calls << ROW_BITS | row for row, text in enumerate(encoded)}
        vectors, rows = self._held(np.array([self._places[role][text] for text in spelled], dtype=np.int64))
        return vectors.take(rows)

    def _stored(self, texts: Sequence[str], identity: tuple[str, ...]) -> "dict[str, Vector]":
        """The vectors of the texts that are on disk; none where their widths differ."""
        from ltr.encoders.vector_cache import VectorCache, cache_key  # SQLite: most commands never need it

        self._cache = self._cache or VectorCache(cache_directory())
        keys = {text: cache_key(identity, text) for text in texts}
        on_disk = self._cache.get(list(keys.values()))
        vectors = {text: on_disk[key] for text, key in keys.items() if key in on_disk}
        LOG.info(f"encoder {self.name}: {len(vectors):,} of {len(texts):,} new texts were in the cache")
        return vectors if len({vector.shape for vector in vectors.values()}) < 2 else {}

    def _store(self, texts: Sequence[str], identity: tuple[str, ...], vectors: Dense) -> None:
        """Put the vectors of the texts on disk."""
        from ltr.encoders.vector_cache import VectorCache, cache_key

        self._cache = self._cache or VectorCache(cache_directory())
        keys = [cache_key(identity, text) for text in texts]
        self._cache.put(dict(zip(keys, vectors.numbers, strict=True)))

    def _held(self, places: IntArray) -> tuple[Vectors, IntArray]:
        """Vectors that have the rows of the places, and which rows of them these are."""
        part_of, rows = places >> ROW_BITS, places & ((1 << ROW_BITS) - 1)
        parts = np.unique(part_of).tolist() or list(self._parts)[:1]
        self._last_used |= dict.fromkeys(parts, self._calls)
        if len(parts) == 1:
            return self._parts[parts[0]], rows
        members = [np.flatnonzero(part_of == part) for part in parts]
        order = np.empty(len(places), dtype=np.int64)
        order[np.concatenate(members)] = np.arange(len(places))
        taken = [self._parts[part].take(rows[place]) for part, place in zip(parts, members, strict=True)]
        return stacked_rows(taken), order

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


def encoded_lists(encoder: Encoder, lists: Mapping[Source, tuple[Role, tuple[str, ...]]]) -> dict[Source, Vectors]:
    """The vectors of the texts of each list, which names their role; a text that stands in two is encoded once."""
    vectors: dict[Source, Vectors] = {}
    for role in dict.fromkeys(role for role, _ in lists.values()):
        of_role = {source: texts for source, (own, texts) in lists.items() if own == role}
        place = {text: row for row, text in enumerate(dict.fromkeys(chain.from_iterable(of_role.values())))}
        together = encoder.encode(tuple(place), role)
        for source, texts in of_role.items():
            rows = np.array([place[text] for text in texts], dtype=np.int64)
            vectors[source] = together if texts == tuple(place) else together.take(rows)
    return vectors


def refuse_unusable(name: str, vectors: object, count: int, *, must_be_dense: bool) -> None:
    """Raise unless these are rows of finite numbers, one a text: the encoder of a plug-in may return anything."""
    is_usable = (
        isinstance(vectors, Dense | Sparse)
        and len(vectors) == count
        and vectors.numbers.dtype.kind in "fiu"
        and bool(np.isfinite(vectors.numbers).all())
    )
    if not is_usable:
        raise DataError(f"the encoder {name} did not give a row of finite numbers for each of {count} texts")
    if must_be_dense and not isinstance(vectors, Dense):
        raise DataError(f"the encoder {name} has an identity, and vectors that are not dense")


def cached_texts(encoder: Encoder, texts: Sequence[str], role: Role) -> int | None:
    """How many of the texts have their vector on this machine; None for an encoder whose vectors are not stored."""
    from ltr.encoders.vector_cache import VectorCache, cache_key

    identity, cache = encoder.identity(role), VectorCache(cache_directory())
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
