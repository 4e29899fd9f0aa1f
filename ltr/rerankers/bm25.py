"""BM25 over words."""

from collections import Counter
from functools import cached_property

import numpy as np

from ltr.arrays import FloatArray
from ltr.features.option_ranges import NotNegative, Rate
from ltr.features.tokenization import stemmed_words
from ltr.rerankers.documents import Documents
from ltr.rerankers.registry import Reranker, Setting, reranker


@reranker("bm25")
def bm25_reranker(setting: Setting, *, k1: NotNegative = 1.2, b: Rate = 0.75) -> Reranker:
    """BM25: sum of ln(1 + (N - df + 1/2) / (df + 1/2)) * tf (k1 + 1) / (tf + k1 (1 - b + b L)) over the query's words.

    N, df and the mean length that L is measured by are those of the whole collection: in a list of ten
    candidates that all book something, "book" would seem to say nothing, and a score would move with the list.
    """
    return Bm25(setting.collection.texts, k1=k1, b=b)


class Bm25:
    """BM25 of texts. Words are counted at the first query; a text outside the collection uses its statistics."""

    def __init__(self, texts: tuple[str, ...], *, k1: float, b: float) -> None:
        self.texts, self.k1, self.b = tuple(dict.fromkeys(texts)), k1, b

    def __call__(self, query: str, documents: Documents) -> FloatArray:
        """BM25 of each document."""
        query_words = stemmed_words(query)
        return np.array([self.score(query_words, text) for text in documents.texts])

    def score(self, query_words: list[str], text: str) -> float:
        """BM25 of one text."""
        counts = self._counts[text] if text in self._counts else Counter(stemmed_words(text))
        length = counts.total() / self._mean_length if self._mean_length else 1.0
        rest = self.k1 * (1 - self.b + self.b * length)
        terms = []
        for word in query_words:
            if counts[word]:
                df = self._frequencies[word]
                idf = float(np.log1p((len(self.texts) - df + 0.5) / (df + 0.5)))
                terms.append(idf * counts[word] * (self.k1 + 1) / (counts[word] + rest))
        return float(sum(terms))

    @cached_property
    def _counts(self) -> dict[str, Counter[str]]:
        return {text: Counter(stemmed_words(text)) for text in self.texts}

    @cached_property
    def _frequencies(self) -> Counter[str]:
        return Counter(word for counts in self._counts.values() for word in counts)

    @cached_property
    def _mean_length(self) -> float:
        return sum(counts.total() for counts in self._counts.values()) / max(len(self._counts), 1)
