"""Texts become vectors: the encoders by name, behind one protocol, each distinct text encoded once.

>>> from ltr.encoders import ENCODERS
>>> encoder = ENCODERS["hash"].fitted(["book a flight", "weather"])
>>> len(encoder.encode(["a flight"], "query"))
1
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.encoders.cache import CachedEncoder as CachedEncoder
    from ltr.encoders.cache import canonical_text as canonical_text
    from ltr.encoders.disk import VectorCache as VectorCache
    from ltr.encoders.hash import HashEncoder as HashEncoder
    from ltr.encoders.protocol import AUTO as AUTO
    from ltr.encoders.protocol import ENCODERS as ENCODERS
    from ltr.encoders.protocol import Encoder as Encoder
    from ltr.encoders.protocol import Role as Role
    from ltr.encoders.protocol import best_installed as best_installed
    from ltr.encoders.protocol import encoder as encoder
    from ltr.encoders.protocol import encoder_named as encoder_named
    from ltr.encoders.protocol import fetch as fetch
    from ltr.encoders.transformers import ModelFolder as ModelFolder
    from ltr.encoders.vectors import Dense as Dense
    from ltr.encoders.vectors import Postings as Postings
    from ltr.encoders.vectors import Sparse as Sparse
    from ltr.encoders.vectors import StoredVectors as StoredVectors
    from ltr.encoders.vectors import Vectors as Vectors
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
