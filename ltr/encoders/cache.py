"""Each distinct text is encoded once: for all features, folds and splits of a run, and once on this machine."""

import unicodedata
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import IntArray, State
from ltr.encoders.protocol import ENCODERS, CountingKind, Encoder, Role
from ltr.encoders.vectors import Dense, Vectors
from ltr.engine import Engine
from ltr.errors import DataError, UsageError
from ltr.logs import LOG
from ltr.paths import cache_directory
from ltr.plugins import plugin_errors, source_of

if TYPE_CHECKING:
    from ltr.encoders.disk import VectorCache

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
        """Return the encoder of that name, after it has seen the training texts."""
        kind = ENCODERS[name]
        with plugin_errors(f"the encoder {name}", kind.fitted, source_of(kind.fitted)):
            encoder = kind.fitted(texts)
        return cls.of(encoder, cache)

    @classmethod
    def fitted_to(
        cls, name: str, texts_of: Callable[[int], Sequence[str]], shards: Sequence[int], engine: Engine
    ) -> Self:
        """Return the encoder of that name, after it has seen the texts of all shards, if it learns from texts."""
        kind, unfitted = ENCODERS[name], cls.fitted(name, ())
        if not unfitted.state:
            return unfitted
        if not isinstance(kind, CountingKind):
            raise UsageError(f"the encoder {name} learns from all texts in memory: name another one, or write an .npz")
        return cls.of(kind.fitted_to(engine.map(partial(_counted, name, texts_of), shards)))

    @classmethod
    def of(cls, encoder: Encoder, cache: "VectorCache | None" = None) -> Self:
        """Return the encoder, with nothing in memory yet."""
        return cls(encoder.name, encoder.revision, encoder.state, lambda: encoder, cache)

    @classmethod
    def restored(cls, name: str, state: State, revision: str, cache: "VectorCache | None" = None) -> Self:
        """Return the encoder that was saved. A state is checked at once; what is installed, when a text is encoded."""
        kind = ENCODERS[name]

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
        """Return the same encoder, opened once for both, with vectors of its own in memory."""
        return type(self)(self.name, self.revision, self.state, self.encoder, self._cache)

    def encoder(self) -> Encoder:
        """Return the encoder itself, opened at the first call."""
        if self._encoder is None:
            self._encoder = self._open()
        return self._encoder

    def identity(self, role: Role) -> tuple[str, ...] | None:
        """Return that of the encoder."""
        return self.encoder().identity(role)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).restored, (self.name, self.state, self.revision)  # vectors and connections stay behind

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Return one row a text; only texts that are new to this object in the role reach the disk or the encoder."""
        spelled = self._spelled(texts, role)
        self._calls += 1
        self._drop_unused()
        new = [text for text in dict.fromkeys(spelled) if text not in self._places[role]]
        if new or not self._parts:  # without any text the encoder still gives the width
            order, self._parts[self._calls] = self._made(new, role)
            self._last_used[self._calls] = self._calls
            self._places[role] |= {text: self._calls << ROW_BITS | row for row, text in enumerate(order)}
        vectors, rows = self._held(np.array([self._places[role][text] for text in spelled], dtype=np.int64))
        return vectors.take(rows)

    def encode_once(self, texts: Sequence[str], role: Role) -> Vectors:
        """Return the same rows as `encode`, of which memory holds none; documents are stored on disk all the same.

        What a query of a service says is nobody's to keep.
        """
        spelled = self._spelled(texts, role)
        order, vectors = self._made(list(dict.fromkeys(spelled)), role, is_stored=role == "document")
        place = {text: row for row, text in enumerate(order)}
        return vectors.take(np.array([place[text] for text in spelled], dtype=np.int64))

    def count_on_disk(self, texts: Sequence[str], role: Role) -> int | None:
        """Return how many of the texts have their vector on this machine; None where vectors are not stored."""
        if self.identity(role) is None:
            return None
        keys = self._keys(list(dict.fromkeys(map(canonical_text, texts))), role)
        return (
            len(self._disk().get(list(keys.values()))) if self._disk().path.exists() else 0
        )  # looking creates no file

    def _spelled(self, texts: Sequence[str], role: Role) -> Sequence[str]:
        if self.identity(role) is None:
            return texts
        return [text if text.isascii() else canonical_text(text) for text in texts]

    def _made(self, texts: list[str], role: Role, *, is_stored: bool = True) -> tuple[list[str], Vectors]:
        """Return distinct texts in another order, and their vectors: from the disk, or else from the encoder."""
        is_stored = is_stored and self.identity(role) is not None
        stored = self._stored(texts, role) if is_stored and texts else {}
        missing, order, parts = [text for text in texts if text not in stored], list[str](), list[Vectors]()
        at_once = TEXTS_AT_ONCE if self.identity(role) else len(missing)
        while missing or not (parts or stored):
            part, missing = missing[:at_once], missing[at_once:]
            vectors = self._encoded(part, role)
            if is_stored and isinstance(vectors, Dense):
                self._disk().put(dict(zip(self._keys(part, role).values(), vectors.numbers, strict=True)))
                if any(len(vector) != vectors.width for vector in stored.values()):
                    missing, stored = [*missing, *stored], {}  # somebody else wrote those: they are encoded again
            order += part
            parts.append(vectors)
        if stored:
            order += stored
            parts.append(Dense(np.stack(list(stored.values()))))
        return order, Vectors.stacked(parts)

    def _encoded(self, texts: Sequence[str], role: Role) -> Vectors:
        """Return what the encoder makes of the texts: usable rows, in single precision where disk may hold them.

        The encoder of a plug-in may return anything.
        """
        encoder, is_dense = self.encoder(), self.identity(role) is not None
        with plugin_errors(f"the encoder {self.name}", encoder.encode, source_of(encoder.encode)):
            vectors = encoder.encode(texts, role)
        is_usable = (
            isinstance(vectors, Vectors)
            and len(vectors) == len(texts)
            and vectors.numbers.dtype.kind in "fiu"
            and bool(np.isfinite(vectors.numbers).all())
        )
        if not is_usable:
            raise DataError(
                f"the encoder {self.name} did not give a row of finite numbers for each of {len(texts)} texts"
            )
        if is_dense and not isinstance(vectors, Dense):
            raise DataError(f"the encoder {self.name} has an identity, and vectors that are not dense")
        return Dense(vectors.numbers.astype(np.float32)) if is_dense else vectors

    def _stored(self, texts: list[str], role: Role) -> "dict[str, npt.NDArray[np.float32]]":
        """Return the vectors of the texts that are on disk; none where their widths differ."""
        keys = self._keys(texts, role)
        on_disk = self._disk().get(list(keys.values()))
        vectors = {text: on_disk[key] for text, key in keys.items() if key in on_disk}
        LOG.info(f"encoder {self.name}: {len(vectors):,} of {len(texts):,} new texts were in the cache")
        return vectors if len(set(map(len, vectors.values()))) < 2 else {}

    def _keys(self, texts: list[str], role: Role) -> dict[str, bytes]:
        from ltr.encoders.disk import cache_key

        identity = self.identity(role) or ()
        return {text: cache_key(identity, text) for text in texts}

    def _disk(self) -> "VectorCache":
        from ltr.encoders.disk import VectorCache  # SQLite: most commands never need it

        self._cache = self._cache or VectorCache(cache_directory())
        return self._cache

    def _held(self, places: IntArray) -> tuple[Vectors, IntArray]:
        """Return vectors that have the rows of the places, and which rows of them these are."""
        part_of, rows = places >> ROW_BITS, places & ((1 << ROW_BITS) - 1)
        parts = np.unique(part_of).tolist() or list(self._parts)[:1]
        self._last_used |= dict.fromkeys(parts, self._calls)
        if len(parts) == 1:
            return self._parts[parts[0]], rows
        members = [np.flatnonzero(part_of == part) for part in parts]
        order = np.empty(len(places), dtype=np.int64)
        order[np.concatenate(members)] = np.arange(len(places))
        taken = [self._parts[part].take(rows[place]) for part, place in zip(parts, members, strict=True)]
        return Vectors.stacked(taken), order

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


def _counted(name: str, texts_of: Callable[[int], Sequence[str]], shard: int) -> Any:
    kind: Any = ENCODERS[name]
    return kind.count_texts(texts_of(shard))


def canonical_text(text: str) -> str:
    r"""Return the text in the one spelling that is encoded and stored: NFC, half a character pair as a question mark.

    >>> canonical_text("e\u0301\ud800")
    'é?'
    """
    return unicodedata.normalize("NFC", text.encode("utf-8", "replace").decode())
