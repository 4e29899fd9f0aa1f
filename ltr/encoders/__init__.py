"""Texts become vectors: the encoders by name, behind one protocol."""

from ltr.encoders.dense import Dense
from ltr.encoders.hashing import HashEncoder
from ltr.encoders.protocol import Encoder, Role
from ltr.encoders.sparse import Sparse
from ltr.encoders.vectors import Vectors, stacked, vectors_from
from ltr.registry import Registry

__all__ = ["ENCODERS", "Dense", "Encoder", "Role", "Sparse", "Vectors", "stacked", "vectors_from"]

ENCODERS: Registry[type[Encoder]] = Registry("encoder")
ENCODERS.add("hash", HashEncoder)
