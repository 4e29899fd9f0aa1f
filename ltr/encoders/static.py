"""The encoder of the extra static: WordLlama's table of token vectors, read by a loader of our own."""

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import State
from ltr.encoders.protocol import Role, encoder, ways_out
from ltr.encoders.vectors import Dense
from ltr.errors import UsageError
from ltr.extras import are_installed, folder_of, major_version
from ltr.files import ContentDigest
from ltr.states import NOTHING, Record

if TYPE_CHECKING:
    from tokenizers import Tokenizer

TABLE, TOKENIZER = "weights/l2_supercat_256.safetensors", "tokenizers/l2_supercat_tokenizer_config.json"
TEXTS_AT_ONCE = 1 << 12
POOLING = "mean of token vectors, unit length"


@encoder("static")
class StaticEncoder:
    """Mean of the 256 numbers WordLlama's table gives each token, scaled to length 1; no model is run."""

    name: ClassVar[str] = "static"
    state_type: ClassVar[Record] = NOTHING

    def __init__(self, folder: Path) -> None:
        self.table, self.tokenizer = folder / TABLE, folder / TOKENIZER
        missing = [str(path) for path in (self.table, self.tokenizer) if not path.is_file()]
        if missing:
            raise UsageError(f"encoder 'static': {missing[0]} is missing. Fix one: {ways_out('static')}")
        digests = "\n".join((ContentDigest.of(self.table).sha256, ContentDigest.of(self.tokenizer).sha256, POOLING))
        self.revision = hashlib.sha256(digests.encode()).hexdigest()
        self.state: State = {}  # table and tokenizer are installed

    @classmethod
    def is_installed(cls) -> bool:
        """Return whether all it needs is on this machine."""
        return are_installed("wordllama", "safetensors", "tokenizers")

    @classmethod
    def fitted(cls, texts: Sequence[str]) -> Self:
        """Return the encoder as it is: it learns nothing from texts."""
        folder = folder_of("wordllama") if cls.is_installed() else None
        if folder is None:
            raise UsageError(f"encoder 'static' is not on this machine. Fix one: {ways_out('static')}")
        return cls(folder)

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return the same encoder; its revision says whether the table is the same."""
        return cls.fitted(())

    def identity(self, role: Role) -> tuple[str, ...]:
        """Return name, revision and library; a text has one vector, whatever its role."""
        return self.name, self.revision, major_version("tokenizers")

    def encode(self, texts: Sequence[str], role: Role) -> Dense:
        """Return one row of 256 numbers a text; a blank one gives zeros."""
        numbers, tokenizer = self._loaded
        means = np.zeros((len(texts), numbers.shape[1]), dtype=np.float32)
        for first in range(0, len(texts), TEXTS_AT_ONCE):
            part = [text if text.strip() else "" for text in texts[first : first + TEXTS_AT_ONCE]]
            tokens = [encoding.ids for encoding in tokenizer.encode_batch(part, add_special_tokens=False)]
            means[first : first + len(part)] = _means(numbers, tokens)
        return Dense(means).unit()

    @cached_property
    def _loaded(self) -> "tuple[npt.NDArray[np.float16], Tokenizer]":
        from safetensors.numpy import load_file
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(self.tokenizer))
        tokenizer.no_padding()
        tokenizer.no_truncation()
        return load_file(self.table)["embedding.weight"], tokenizer


def _means(table: npt.NDArray[np.float16], tokens: list[list[int]]) -> npt.NDArray[np.float32]:
    """Return the mean of the rows of each list of tokens, each added up alone, in order; zeros for no tokens."""
    lengths = np.array([len(ids) for ids in tokens])
    flat = np.minimum(np.concatenate([np.array(ids, dtype=np.int64) for ids in tokens]), len(table) - 1)
    means = np.zeros((len(tokens), table.shape[1]), dtype=np.float32)
    filled = np.flatnonzero(lengths)
    if len(filled):
        starts = (np.cumsum(lengths) - lengths)[filled]
        means[filled] = np.add.reduceat(table[flat].astype(np.float32), starts, axis=0) / lengths[filled, None]
    return means
