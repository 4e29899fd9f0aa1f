"""What every encoder offers: texts in, vectors out."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Protocol, Self

from ltr.encoders.vectors import Vectors

Role = Literal["query", "document"]  # what asks, and what is looked through: some models read them differently


class Encoder(Protocol):
    """Texts in, unit vectors out; a text that says nothing gives a zero vector.

    `state` is plain JSON and arrays: with it, `restored` makes an encoder that gives the same vectors.
    """

    name: ClassVar[str]

    @classmethod
    def fitted(cls, texts: Sequence[str]) -> Self:
        """An encoder that has seen the training texts, if it learns from them."""
        ...

    @classmethod
    def restored(cls, state: dict[str, Any]) -> Self:
        """The encoder whose state was saved."""
        ...

    @property
    def state(self) -> dict[str, Any]:
        """What must be saved."""
        ...

    @property
    def revision(self) -> str:
        """Another text whenever the vectors may be others."""
        ...

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """One row a text, of length 1 or zero."""
        ...
