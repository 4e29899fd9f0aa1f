"""BM25 over words: it loads little, since a reranker is measured in a process of its own."""

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from ltr.arrays import FloatArray
from ltr.features import BM25_CONSTANTS, stemmed_words

K1, B = BM25_CONSTANTS


class Bm25:
    """BM25 of texts. Words are counted at the first query; a text outside the collection uses its statistics."""

    def __init__(self, texts: Iterable[str], *, k1: float = K1, b: float = B) -> None:
        self.texts, self.k1, self.b = tuple(dict.fromkeys(texts)), k1, b

    def scores(self, query: str, texts: Sequence[str]) -> FloatArray:
        """Return BM25 of each text: the sum of what the words of the query add, a word as often as it stands there."""
        words = stemmed_words(query)
        gains = [
            self._gains[text] if text in self._gains else self._gains_of(Counter(stemmed_words(text))) for text in texts
        ]
        return np.array([sum(of_text.get(word, 0.0) for word in words) for of_text in gains], dtype=np.float64)

    def _gains_of(self, counts: Counter[str]) -> dict[str, float]:
        """Return what each word of a text adds."""
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
