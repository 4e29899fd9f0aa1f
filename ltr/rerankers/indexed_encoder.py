"""Encoders of rerankers: documents are encoded once, or each time."""

from collections.abc import Sequence

from ltr.encoders.cached_encoder import CachedEncoder, canonical_text
from ltr.encoders.protocol import Encoder, Role
from ltr.encoders.vectors import Vectors


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
