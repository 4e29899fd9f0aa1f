"""The encoder of a service: it keeps nothing of a query."""

import threading
from collections.abc import Sequence

from ltr.encoders.cached_encoder import CachedEncoder
from ltr.encoders.protocol import Encoder, Role
from ltr.encoders.vectors import Vectors


class ServedEncoder:
    """An encoder in a service: threads take turns, and nothing of a query is held or stored."""

    def __init__(self, encoder: Encoder) -> None:
        self.name, self.revision, self.state = encoder.name, encoder.revision, encoder.state
        self._encoder, self._turn = encoder, threading.Lock()

    def identity(self, role: Role) -> tuple[str, ...] | None:
        """That of the encoder."""
        return self._encoder.identity(role)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row a text."""
        with self._turn:
            encoder = self._encoder
            if role == "query" and isinstance(encoder, CachedEncoder):
                return encoder.encode_once(texts, role)
            return encoder.encode(texts, role)  # of tools, which every query reads again
