"""What an encoder is, and what is registered under its name."""

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Protocol, runtime_checkable

from ltr.arrays import State
from ltr.encoders.vectors import Vectors

Role = Literal["query", "document"]  # what asks, and what is looked through: some models read them differently


class Encoder(Protocol):
    """Texts in, unit vectors out; a text that says nothing gives a zero vector.

    A text has the same row, bit for bit, whatever texts stand beside it. Construction is quick: what takes long to
    load is loaded when a text is to be encoded.
    """

    @property
    def name(self) -> str:
        """What a config calls it."""
        ...

    @property
    def state(self) -> State:
        """What it learned from the training texts; empty for most."""
        ...

    @property
    def revision(self) -> str:
        """Another text whenever the vectors may be others."""
        ...

    def identity(self, role: Role) -> tuple[str, ...] | None:
        """All that decides a vector besides the text: the key of dense vectors on disk. None: they are not stored."""
        ...

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row a text, of length 1 or zero."""
        ...


class EncoderKind(Protocol):
    """What is registered under a name: a class with these class methods, or an object that makes encoders."""

    @property
    def name(self) -> str:
        """What a config calls it."""
        ...

    def is_installed(self) -> bool:
        """Whether all it needs is on this machine; nothing is loaded to learn it."""
        ...

    def fitted(self, texts: Sequence[str]) -> Encoder:
        """An encoder that has seen the training texts, if it learns from them."""
        ...

    def restored(self, state: State) -> Encoder:
        """The encoder of a saved state, which gives the same vectors."""
        ...


@runtime_checkable
class CountingKind(Protocol):
    """What an encoder that learns from texts also has, to learn from more of them than memory holds."""

    def count_texts(self, texts: Sequence[str]) -> Any:
        """What it counts in some texts: small, and plain arrays."""
        ...

    def fitted_to(self, parts: Iterable[Any]) -> Encoder:
        """The encoder that has seen the texts of all parts; a text that several parts have counts once."""
        ...
