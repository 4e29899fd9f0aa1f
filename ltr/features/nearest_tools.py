"""The tools of a catalogue that lie nearest to a query: by the encoder, and by the words that they share."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged
from ltr.data.catalogues.tools import ToolCatalogue
from ltr.data.tool_texts import tool_text
from ltr.encoders.cached_encoder import CachedEncoder
from ltr.encoders.sparse_vectors import Sparse, sparse_rows
from ltr.encoders.vectors import Vectors
from ltr.features.lexicon import Lexicon
from ltr.features.linear_algebra import all_dots
from ltr.features.plain_tool_text import plain_tool_text

QUERIES_AT_ONCE = 256
DIGITS = 9  # of a cosine: kernels of other processors differ in the last ones


@dataclass(frozen=True, slots=True)
class NearestTools:
    """What is nearest follows from the query and the catalogue alone: no label, no other query."""

    names: tuple[str, ...]  # of the tools, in order, which breaks ties
    encoder: CachedEncoder
    vectors: Vectors  # of the tools' texts
    lexicon: Lexicon
    words: Sparse  # of the tools, weighted by how few of them have the word
    weights: FloatArray  # of the words

    @classmethod
    def of(cls, tools: ToolCatalogue, encoder: str) -> Self:
        """The catalogue as the encoder and the words see it; an encoder that counts texts counts those of the tools."""
        names = tuple(sorted(tools))
        texts = [tool_text(name, *tools[name]) for name in names]
        cached, lexicon = CachedEncoder.fitted(encoder, texts), Lexicon()
        plain = lexicon.words([plain_tool_text(name, tools[name].description) for name in names])
        owners, codes, _ = plain.counted(len(lexicon))
        frequencies = np.bincount(codes, minlength=len(lexicon))
        weights = 1 + np.log((1 + len(names)) / (1 + frequencies))
        return cls(
            names, cached, cached.encode(texts, "document"), lexicon, _rows(owners, codes, weights, plain), weights
        )

    def ordered(self, queries: Sequence[str], count: int) -> Iterator[IntArray]:
        """Of each query the codes of the nearest tools: count // 2 by shared words, the others by the encoder.

        By words only tools count that share one; equal ones are taken by name.
        """
        for first in range(0, len(queries), QUERIES_AT_ONCE):
            block = queries[first : first + QUERIES_AT_ONCE]
            by_encoder = all_dots(self.encoder.encode(block, "query"), self.vectors).round(DIGITS)
            by_words = all_dots(self._words_of(block), self.words).round(DIGITS)
            for cosines, shared in zip(by_encoder, by_words, strict=True):
                in_words = np.argsort(-shared, kind="stable")[: count // 2]
                taken = in_words[shared[in_words] > 0]
                left = cosines.copy()
                left[taken] = -np.inf
                yield np.concatenate([taken, np.argsort(-left, kind="stable")[: count - len(taken)]])

    def _words_of(self, queries: Sequence[str]) -> Sparse:
        """The words of queries that some tool has."""
        read = self.lexicon.words(queries)
        owners, codes, _ = read.counted(len(self.lexicon))
        is_known = codes < len(self.weights)
        return _rows(owners[is_known], codes[is_known], self.weights, read)


def _rows(owners: IntArray, codes: IntArray, weights: FloatArray, read: Ragged) -> Sparse:
    """Rows of length 1 from the words that each text has."""
    return sparse_rows(owners, codes, weights[codes], (len(read.lengths), len(weights))).unit()
