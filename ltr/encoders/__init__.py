"""Texts become vectors: the encoders by name, behind one protocol, each distinct text encoded once."""

from ltr.encoders.cached import Remembering, remembered
from ltr.encoders.dense import Dense
from ltr.encoders.naming import AUTO, ENCODERS, best_installed, encoder_kind, fetch
from ltr.encoders.protocol import Encoder, EncoderKind, Role
from ltr.encoders.sparse import Sparse
from ltr.encoders.vectors import Vectors, stacked, vectors_from

__all__ = [
    "AUTO",
    "ENCODERS",
    "Dense",
    "Encoder",
    "EncoderKind",
    "Remembering",
    "Role",
    "Sparse",
    "Vectors",
    "best_installed",
    "encoder_kind",
    "fetch",
    "remembered",
    "stacked",
    "vectors_from",
]
