"""Texts become vectors: the encoders by name, behind one protocol."""

from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, Self

from ltr.encoders.hashing import HashEncoder
from ltr.encoders.vectors import Dense, Sparse, Vectors
from ltr.registry import Registry

__all__ = ["ENCODERS", "Dense", "Encoder", "Sparse", "Vectors"]


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

    def encode(self, texts: Sequence[str]) -> Vectors:
        """One row a text."""
        ...


ENCODERS: Registry[type[Encoder]] = Registry("encoder")
ENCODERS.add("hash", HashEncoder)
