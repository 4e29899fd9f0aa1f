"""BM25 over words."""

from collections import Counter
from functools import cached_property

import numpy as np

from ltr.arrays import FloatArray
from ltr.features.registry import NotNegative, Rate
from ltr.features.words import stemmed_words
from ltr.rerankers.documents import Documents
from ltr.rerankers.registry import Reranker, Setting, reranker


@reranker("bm25")
def bm25(setting: Setting, *, k1: NotNegative = 1.2, b: Rate = 0.75) -> Reranker:
    """BM25: sum of ln(1 + (N - df + 1/2) / (df + 1/2)) * tf (k1 + 1) / (tf + k1 (1 - b + b L)) over the query's words.

    N, df and the mean length that L is measured by are those of the whole collection: in a list of ten
    candidates that all book something, "book" would seem to say nothing, and a score would move with the list.
    """
    return Bm25(setting.collection.texts, k1=k1, b=b)


class Bm25:
    """The texts as words are counted at the first query; a text that is not among them counts by their statistics."""

    def __init__(self, texts: tuple[str, ...], *, k1: float, b: float) -> None:
        self.texts, self.k1, self.b = tuple(dict.fromkeys(texts)), k1, b

    def __call__(self, query: str, documents: Documents) -> FloatArray:
        asked = stemmed_words(query)
        return np.array([self.score(asked, text) for text in documents.texts])

    def score(self, asked: list[str], text: str) -> float:
        """BM25 of one text."""
        found = self._counted[text] if text in self._counted else Counter(stemmed_words(text))
        length = found.total() / self._mean_length if self._mean_length else 1.0
        rest = self.k1 * (1 - self.b + self.b * length)
        return float(
            sum(self._idf(word) * found[word] * (self.k1 + 1) / (found[word] + rest) for word in asked if found[word])
        )

    def _idf(self, word: str) -> float:
        df = self._frequencies[word]
        return float(np.log1p((len(self.texts) - df + 0.5) / (df + 0.5)))

    @cached_property
    def _counted(self) -> dict[str, Counter[str]]:
        return {text: Counter(stemmed_words(text)) for text in self.texts}

    @cached_property
    def _frequencies(self) -> Counter[str]:
        return Counter(word for found in self._counted.values() for word in found)

    @cached_property
    def _mean_length(self) -> float:
        return sum(found.total() for found in self._counted.values()) / max(len(self._counted), 1)
