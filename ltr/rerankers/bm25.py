"""BM25 over words."""

from collections import Counter
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from ltr.arrays import FloatArray
from ltr.features.option_ranges import NotNegative, Rate
from ltr.features.tokenization import stemmed_words
from ltr.features.tool_word_overlap import K1, B
from ltr.rerankers.documents import Documents
from ltr.rerankers.registry import Reranker, Setting, reranker


@reranker("bm25")
def bm25_reranker(setting: Setting, *, k1: NotNegative = K1, b: Rate = B) -> Reranker:
    """BM25: sum of ln(1 + (N - df + 1/2) / (df + 1/2)) * tf (k1 + 1) / (tf + k1 (1 - b + b L)) over the query's words.

    N, df and the mean length that L is measured by are those of the whole collection: in a list of ten
    candidates that all book something, "book" would seem to say nothing, and a score would move with the list.
    """
    return Bm25(setting.collection.texts, k1=k1, b=b)


class Bm25:
    """BM25 of texts. Words are counted at the first query; a text outside the collection uses its statistics."""

    def __init__(self, texts: tuple[str, ...], *, k1: float = K1, b: float = B) -> None:
        self.texts, self.k1, self.b = tuple(dict.fromkeys(texts)), k1, b

    def __call__(self, query: str, documents: Documents) -> FloatArray:
        """BM25 of each document."""
        return self.scores(query, documents.texts)

    def scores(self, query: str, texts: Sequence[str]) -> FloatArray:
        """BM25 of each text."""
        words = stemmed_words(query)
        gains = [
            self._gains[text] if text in self._gains else self._gains_of(Counter(stemmed_words(text))) for text in texts
        ]
        return np.array([sum(of_text.get(word, 0.0) for word in words) for of_text in gains], dtype=np.float64)

    def _gains_of(self, counts: Counter[str]) -> dict[str, float]:
        """What each word of a text adds."""
        length = counts.total() / self._mean_length if self._mean_length else 1.0
        rest = self.k1 * (1 - self.b + self.b * length)
        gains = {}
        for word, tf in counts.items():
            df = self._frequencies[word]
            idf = float(np.log1p((len(self.texts) - df + 0.5) / (df + 0.5)))
            gains[word] = idf * tf * (self.k1 + 1) / (tf + rest)
        return gains

    @cached_property
    def _gains(self) -> dict[str, dict[str, float]]:
        return {text: self._gains_of(counts) for text, counts in self._counts.items()}

    @cached_property
    def _counts(self) -> dict[str, Counter[str]]:
        return {text: Counter(stemmed_words(text)) for text in self.texts}

    @cached_property
    def _frequencies(self) -> Counter[str]:
        return Counter(word for counts in self._counts.values() for word in counts)

    @cached_property
    def _mean_length(self) -> float:
        return sum(counts.total() for counts in self._counts.values()) / max(len(self._counts), 1)
