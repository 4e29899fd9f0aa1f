"""Each distinct text is encoded once: for all features, folds and splits of a run, and once on this machine."""

import unicodedata
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Self

import numpy as np

from ltr.arrays import IntArray, State
from ltr.encoders.dense import Dense
from ltr.encoders.naming import encoder_kind
from ltr.encoders.protocol import Encoder, Role
from ltr.encoders.sparse import Sparse
from ltr.encoders.vector_cache import Vector, VectorCache, key_of
from ltr.encoders.vectors import Vectors, stacked
from ltr.errors import DataError
from ltr.files.naming import cache_directory
from ltr.logs import LOG
from ltr.plugins import blamed, source_of

TEXTS_AT_ONCE = 1 << 10  # encoded and kept before the next ones: an interrupted run has not worked in vain
MOST_TEXTS = 1 << 16  # held; beyond, those that nobody asked for in the last CALLS calls are forgotten
CALLS = 1000
ROW_BITS = 32


class CachedEncoder:
    """An encoder that remembers what it has encoded. It is opened when it is first asked, its model even later."""

    def __init__(
        self, name: str, revision: str, state: State, opened: Callable[[], Encoder], cache: VectorCache
    ) -> None:
        self.name, self.revision, self.state = name, revision, state
        self._opened, self._cache = opened, cache
        self._encoder: Encoder | None = None
        self._places: dict[Role, dict[str, int]] = {"query": {}, "document": {}}  # part << ROW_BITS | row
        self._parts: dict[int, Vectors] = {}
        self._asked: dict[int, int] = {}  # of a part: the last call that needed it
        self._calls = 0

    @classmethod
    def fitted(cls, name: str, texts: Sequence[str], cache: VectorCache | None = None) -> Self:
        """The encoder of that name, after it has seen the training texts."""
        kind = encoder_kind(name)
        with _blamed(name, kind.fitted):
            encoder = kind.fitted(texts)
        return cls(encoder.name, encoder.revision, encoder.state, lambda: encoder, cache or own_cache())

    @classmethod
    def restored(cls, name: str, state: State, revision: str, cache: VectorCache | None = None) -> Self:
        """The encoder that was saved. A state is checked at once; what is installed, when a text is to be encoded."""
        kind = encoder_kind(name)

        def opened() -> Encoder:
            with _blamed(name, kind.restored):
                encoder = kind.restored(state)
            if encoder.revision != revision:
                raise DataError(f"the encoder {name} is at revision {encoder.revision}, not {revision}")
            return encoder

        remembering = cls(name, revision, state, opened, cache or own_cache())
        if state:
            remembering.encoder()
        return remembering

    def encoder(self) -> Encoder:
        """The encoder itself."""
        if self._encoder is None:
            self._encoder = self._opened()
        return self._encoder

    def identity(self, role: Role) -> tuple[str, ...] | None:
        """That of the encoder."""
        return self.encoder().identity(role)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row a text; only texts this object has not seen in the role reach cache or encoder."""
        identity = self.identity(role)
        spoken = texts if identity is None else [text if text.isascii() else plain(text) for text in texts]
        self._calls += 1
        unknown = [text for text in dict.fromkeys(spoken) if text not in self._places[role]]
        if unknown or not self._parts:
            self._forget()
            self._keep(unknown, role, self._encoded(unknown, role, identity))
        return self._rows(np.array([*map(self._places[role].__getitem__, spoken)], dtype=np.int64))

    def _encoded(self, texts: list[str], role: Role, identity: tuple[str, ...] | None) -> Vectors:
        if identity is None or not texts:
            return self._fresh(texts, role)
        keys = [key_of(identity, text) for text in texts]
        found = self._cache.get(keys)
        LOG.info(f"encoder {self.name}: {len(found):,} of {len(texts):,} new texts were in the cache")
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        found |= self._put(missing, role)
        if len({vector.shape for vector in found.values()}) > 1:  # not all of them are what this encoder put there
            found = self._put(dict(zip(keys, texts, strict=True)), role)
        return Dense(np.stack([found[key] for key in keys]))

    def _put(self, texts: dict[bytes, str], role: Role) -> dict[bytes, Vector]:
        """The vectors of the texts by their keys, encoded, and kept some at a time."""
        found: dict[bytes, Vector] = {}
        missing = list(texts.items())
        for first in range(0, len(missing), TEXTS_AT_ONCE):
            part = missing[first : first + TEXTS_AT_ONCE]
            fresh = self._fresh([text for _, text in part], role)
            if not isinstance(fresh, Dense):
                raise DataError(f"the encoder {self.name} has an identity, and vectors that are not dense")
            kept = dict(zip((key for key, _ in part), fresh.numbers.astype(np.float32), strict=True))
            self._cache.put(kept)
            found |= kept
        return found

    def _fresh(self, texts: list[str], role: Role) -> Vectors:
        """What the encoder gives, looked at: a stranger's may give anything."""
        encoder = self.encoder()
        with _blamed(self.name, encoder.encode):
            found = encoder.encode(texts, role)
        if not _are_rows(found, len(texts)):
            raise DataError(
                f"the encoder {self.name} did not give a row of finite numbers for each of {len(texts)} texts"
            )
        return found

    def _keep(self, texts: list[str], role: Role, vectors: Vectors) -> None:
        part = self._calls << ROW_BITS
        self._parts[self._calls] = vectors
        self._places[role] |= {text: part | row for row, text in enumerate(texts)}
        self._asked[self._calls] = self._calls

    def _rows(self, places: IntArray) -> Vectors:
        parts, rows = places >> ROW_BITS, places & ((1 << ROW_BITS) - 1)
        distinct = np.unique(parts).tolist() or list(self._parts)[:1]
        self._asked |= dict.fromkeys(distinct, self._calls)
        if len(distinct) == 1:
            return self._parts[distinct[0]].take(rows)
        of_part = [np.flatnonzero(parts == part) for part in distinct]
        back = np.empty(len(places), dtype=np.int64)
        back[np.concatenate(of_part)] = np.arange(len(places))
        taken = [self._parts[part].take(rows[where]) for part, where in zip(distinct, of_part, strict=True)]
        return stacked(taken).take(back)

    def _forget(self) -> None:
        """Drop what nobody asked for lately, once there is much of it: whoever serves queries must not grow."""
        if sum(map(len, self._places.values())) <= MOST_TEXTS:
            return
        stale = {part for part, call in self._asked.items() if call < self._calls - CALLS}
        self._parts = {part: vectors for part, vectors in self._parts.items() if part not in stale}
        self._asked = {part: call for part, call in self._asked.items() if part not in stale}
        for role, places in self._places.items():
            self._places[role] = {text: place for text, place in places.items() if place >> ROW_BITS not in stale}


def _are_rows(found: object, count: int) -> bool:
    if not isinstance(found, Dense | Sparse) or len(found) != count:
        return False
    return found.numbers.dtype.kind in "fiu" and bool(np.isfinite(found.numbers).all())


def _blamed(name: str, method: Callable[..., object]) -> AbstractContextManager[None]:
    """A failure of the method is told as one of the encoder, unless the encoder is ours."""
    return blamed(f"the encoder {name}", method, source_of(method))


def own_cache() -> VectorCache:
    """The cache of this user on this machine; nothing is opened before it is needed."""
    return VectorCache(cache_directory())


def remembered(name: str, texts: Sequence[str], role: Role) -> int | None:
    """How many of the texts have their vector on this machine; None of an encoder whose vectors are not kept."""
    identity, cache = encoder_kind(name).fitted([]).identity(role), own_cache()
    if identity is None:
        return None
    keys = [key_of(identity, plain(text)) for text in dict.fromkeys(texts)]
    return len(cache.get(keys)) if cache.path.exists() else 0  # to look makes no file


def plain(text: str) -> str:
    r"""The text in the one spelling that is encoded and kept: NFC, and half a character pair as a question mark.

    >>> plain("e\u0301\ud800")
    'é?'
    """
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
