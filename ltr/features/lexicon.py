"""Words as numbers: each is cut and stemmed once."""

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

import numpy as np

from ltr.arrays import Array, IntArray, Ragged
from ltr.encoders.hashed_ngrams import text_grams
from ltr.features.clause_boundaries import clauses
from ltr.features.tokenization import TOKEN, stemmed_words
from ltr.files.mergeable_tables import Table, spelled, table
from ltr.files.table_keys import digests


class TokenCodes(dict[str, tuple[int, ...]]):
    """The codes of the words of tokens; what is not there is split when it is first looked up."""

    def __init__(self, code: Callable[[str], int]) -> None:
        super().__init__()
        self._code = code

    def __missing__(self, token: str) -> tuple[int, ...]:
        self[token] = codes = tuple([self._code(word) for word in stemmed_words(token)])
        return codes


class Lexicon:
    """Words by code; each text is split, and its grams are hashed, once, however many features and folds read it."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._spellings: list[str] = []
        self._keys, self._spelled = digests([]), spelled([])  # of those codes that were asked for
        self._token_codes = TokenCodes(self._code)
        self._rows: dict[str, int] = {}  # of a text, in the two below
        self._starts, self._words = array("q", [0]), array("q")
        self._clauses: dict[str, list[str]] = {}
        self._gram_rows: dict[str, int] = {}  # of a text, in the grams
        self._grams = Ragged(np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint16))

    def __len__(self) -> int:
        return len(self._codes)

    def codes(self, words: Iterable[str]) -> IntArray:
        """The codes of words; a new word gets the next code."""
        return np.array([self._code(word) for word in words], dtype=np.int64)

    def _code(self, word: str) -> int:
        code = self._codes.get(word)
        if code is None:
            code = self._codes[word] = len(self._spellings)
            self._spellings.append(word)
        return code

    def spellings(self, codes: IntArray) -> list[str]:
        """The words of codes."""
        return [self._spellings[code] for code in codes.tolist()]

    def places(self, codes: IntArray, vocabulary: Mapping[str, int]) -> IntArray:
        """Where the word of each code stands in another vocabulary; -1 where it does not.

        >>> lexicon = Lexicon()
        >>> lexicon.places(lexicon.words(["book a flight"]).codes, {"flight": 7})
        array([-1,  7])
        """
        distinct, which = np.unique(codes, return_inverse=True)
        places = [vocabulary.get(word, -1) for word in self.spellings(distinct)]
        return np.array(places, dtype=np.int64)[which]

    def keys(self, codes: IntArray) -> Array:
        """The keys of words in parts: their digests."""
        if len(self._keys) < len(self._codes):
            self._keys = np.concatenate([self._keys, digests(self._spellings[len(self._keys) :])])
        return self._keys[codes]

    def table(self, codes: IntArray) -> Table:
        """The words of codes in a part.

        >>> lexicon = Lexicon()
        >>> len(lexicon.table(lexicon.codes(["fly", "home", "fly"])))
        2
        """
        distinct = np.unique(codes)
        if len(self._spelled) < len(self._codes):
            self._spelled = Ragged.stacked([self._spelled, spelled(self._spellings[len(self._spelled) :])])
        return table(self.keys(distinct), facts={"word": self._spelled.take(distinct)})

    def words(self, texts: Sequence[str]) -> Ragged:
        """The words of each text, in its order.

        >>> lexicon = Lexicon()
        >>> words = lexicon.words(["book flights", "a flight"])
        >>> lexicon.spellings(words.codes), words.starts
        (['book', 'flight', 'flight'], array([0, 2, 3]))
        """
        for text in texts:
            if text in self._rows:
                continue
            self._rows[text] = len(self._rows)
            self._words.extend(chain.from_iterable(map(self._token_codes.__getitem__, TOKEN.findall(text))))
            self._starts.append(len(self._words))
        starts, codes = (np.frombuffer(column, dtype=np.int64) for column in (self._starts, self._words))  # no copy
        return Ragged(starts, codes).take(np.array([self._rows[text] for text in texts], dtype=np.int64))

    def distinct_words(self, texts: Sequence[str]) -> Ragged:
        """The distinct words of each text."""
        owners, codes, _ = self.words(texts).counted(len(self))
        return Ragged(np.searchsorted(owners, np.arange(len(texts) + 1)), codes)

    def distinct_keys(self, texts: Sequence[str]) -> Ragged:
        """The keys of the distinct words of each text, rising: what a part holds of a text."""
        words = self.words(texts)
        codes, rank = np.unique(words.codes), np.empty(len(self), dtype=np.int64)
        keys, rank[codes] = np.unique(self.keys(codes), return_inverse=True)
        owners, ranks, _ = Ragged(words.starts, rank[words.codes]).counted(len(keys))
        return Ragged(np.searchsorted(owners, np.arange(len(texts) + 1)), keys[ranks])

    def grams(self, texts: Sequence[str]) -> Ragged:
        """The distinct hashed character n-grams of each text."""
        new = list(dict.fromkeys(text for text in texts if text not in self._gram_rows))
        if new:
            self._gram_rows |= {text: row for row, text in enumerate(new, start=len(self._gram_rows))}
            self._grams = Ragged.stacked([self._grams, text_grams(new)])
        return self._grams.take(np.array([self._gram_rows[text] for text in texts], dtype=np.int64))

    def clauses(self, query: str) -> list[str]:
        """The clauses of a query."""
        if query not in self._clauses:
            self._clauses[query] = clauses(query)
        return self._clauses[query]
