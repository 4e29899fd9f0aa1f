"""The encoder of a service: it keeps nothing of a query."""

from collections.abc import Sequence

from ltr.encoders.cached_encoder import CachedEncoder
from ltr.encoders.protocol import Encoder, Role
from ltr.encoders.vectors import Vectors
from ltr.serving.threads import SharedByThreads


class ServedEncoder(SharedByThreads):
    """An encoder in a service: threads take turns, and nothing of a query is held or stored."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.name, self.revision, self.state = encoder.name, encoder.revision, encoder.state
        self._encoder = encoder

    def start_anew(self) -> None:
        """Hold no vector."""
        if isinstance(self._encoder, CachedEncoder):
            self._encoder = self._encoder.apart()

    def identity(self, role: Role) -> tuple[str, ...] | None:
        """That of the encoder."""
        return self._encoder.identity(role)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row a text."""
        with self.lock:
            encoder = self._encoder
            if role == "query" and isinstance(encoder, CachedEncoder):
                return encoder.encode_once(texts, role)
            return encoder.encode(texts, role)  # of tools, which every query reads again
