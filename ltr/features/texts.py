"""Texts as features read them: words and stems, clauses, the texts of tools, and a lexicon that cuts each text once."""

import re
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from ltr.arrays import Array, Codes, FloatArray, IntArray, Ragged, lengths_of, offsets_of, spelled
from ltr.encoders import HashEncoder
from ltr.samples import Candidates, ToolList, tools_of_rows
from ltr.tables import Table, digests, table

if TYPE_CHECKING:
    from ltr.features.protocol import Context

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # a character is a word
TOKEN = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
SAYS_NOTHING = """
a an the this that these those i me my we our you your he she it its they them their who what which when where why how
is are was were be been being am do does did have has had can could will would shall should may might must and or but
if then than so as of at by for with about into to from in on up out over under also there here not no yes please all
any some more most such only own same very just let get s t d ll m re ve
"""
STOP_WORDS = frozenset(SAYS_NOTHING.split())


def pieces(name: str) -> str:
    """Return a name as a text: split at underscores, dots, camelCase and digits, lower-cased.

    >>> pieces("getHTTPStatus_v2.beta")
    'get http status v 2 beta'
    """
    return " ".join(TOKEN.findall(BOUNDARY.sub(" ", name))).lower()


def stem(word: str) -> str:
    """Return the word without a light English suffix, so that forms of one word meet.

    >>> [stem(word) for word in ("cities", "booking", "booked", "books", "stopped", "glass", "retrieve", "bed")]
    ['city', 'book', 'book', 'book', 'stop', 'glass', 'retriev', 'bed']
    """
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    for suffix, shortest in (("ing", 6), ("ed", 5)):
        if len(word) >= shortest and word.endswith(suffix):
            cut = word[: -len(suffix)]
            return cut[:-1] if cut[-1] == cut[-2] and cut[-1] not in "lsz" else cut.removesuffix("e")
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    return word.removesuffix("e") if len(word) > 3 else word


def stemmed_words(text: str) -> list[str]:
    """Return the words of a text: split like a name, lower-cased, without stop words, stemmed.

    >>> stemmed_words("Booking the getFlights tool")
    ['book', 'flight', 'tool']
    """
    if text.isascii() and text.isalpha() and text[1:].islower():  # one word, as most are: nothing to split
        word = text.lower()
        return [] if word in STOP_WORDS else [stem(word)]
    return [stem(word) for word in pieces(text).split() if word not in STOP_WORDS]


BREAK = re.compile(r"(?<=[.!?;:])\s+|[。！？；，、]|,\s*|(?<!\s)\s+(?:and|then|also)\s+", re.IGNORECASE)
SHORTEST_CLAUSE, MOST_CLAUSES = 3, 8  # words, clauses


def clauses(query: str) -> list[str]:
    """Return the clauses of a query; one that cannot be cut is its only clause.

    It is cut after .!?;:, at commas, and at the words and, then and also. A clause of under 3 words joins the one
    before it, or the one after it if it is the first; the text after the eighth clause belongs to the eighth.

    >>> clauses("Find a flight to Paris, then book a cheap hotel and a car. Send me an email!")
    ['Find a flight to Paris', 'then book a cheap hotel a car.', 'Send me an email!']
    """
    joined: list[list[str]] = []
    last_words = 0  # of the last clause
    for piece in filter(None, (part.strip() for part in BREAK.split(query))):
        piece_words = len(piece.split())
        if joined and (min(piece_words, last_words) < SHORTEST_CLAUSE or len(joined) == MOST_CLAUSES):
            joined[-1].append(piece)
            last_words += piece_words
        else:
            joined.append([piece])
            last_words = piece_words
    return [" ".join(pieces) for pieces in joined] if len(joined) > 1 else [query]


@dataclass(frozen=True, slots=True)
class RowTexts:
    """Distinct texts, and which of them each row has."""

    texts: tuple[str, ...]
    codes: IntArray  # (rows,) into the texts


def row_queries(candidates: Candidates) -> IntArray:
    """Return the query of each row."""
    return candidates.queries.repeat(lengths_of(candidates.offsets))


def query_texts(candidates: Candidates, context: object) -> RowTexts:
    """Return the queries of the rows: texts for an encoder."""
    return RowTexts(candidates.query_texts, row_queries(candidates))


def plain_tool_text(name: str, description: str = "") -> str:
    """Return the text of a tool that learned features read: the pieces of its name, then its description.

    >>> plain_tool_text("getWeather", "Weather of a city"), plain_tool_text("getWeather")
    ('get weather: Weather of a city', 'get weather')
    """
    return f"{pieces(name)}: {description}" if description else pieces(name)


def plain_texts(tools: ToolList) -> tuple[str, ...]:
    """Return the text of each tool."""
    return tuple(plain_tool_text(name, text.description) for name, text in zip(tools.names, tools.texts, strict=True))


def distinct_tools(candidates: Candidates, context: "Context") -> RowTexts:
    """Return the texts of the distinct tools, each name with each of its texts, and which of them each row has."""
    tools, codes = context.shared(tools_of_rows, candidates)
    return RowTexts(plain_texts(tools), codes)


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of each query, behind the query itself; each distinct text once."""

    texts: tuple[str, ...]
    of_query: Ragged  # of each query codes into the texts

    def without_queries(self) -> "Clauses":
        """Return the clauses alone; a query of one clause is that clause."""
        lengths = self.of_query.lengths
        is_clause = np.ones(len(self.of_query.codes), dtype=bool)
        is_clause[self.of_query.starts[:-1][lengths > 1]] = False
        starts = offsets_of(np.where(lengths > 1, lengths - 1, lengths))
        return Clauses(self.texts, Ragged(starts, self.of_query.codes[is_clause]))

    def queries_alone(self) -> "Clauses":
        """Return the queries without their clauses."""
        starts = self.of_query.starts
        return Clauses(self.texts, Ragged(np.arange(len(starts)), self.of_query.codes[starts[:-1]]))

    def best(self, queries: IntArray, value: Callable[[IntArray, IntArray], FloatArray]) -> tuple[FloatArray, IntArray]:
        """Return the largest value among the clauses of each query, and the code of the first clause that has it.

        `value` gets the codes of many clauses at once, and the place of the query of each.
        """
        clauses = self.of_query.take(queries)
        if not len(queries):
            return np.empty(0), clauses.codes
        values = value(clauses.codes, clauses.owners)
        starts = clauses.starts[:-1]
        largest = np.maximum.reduceat(values, starts)
        is_largest = values == np.repeat(largest, clauses.lengths)
        first = np.minimum.reduceat(np.where(is_largest, np.arange(len(values)), len(values)), starts)
        return largest, clauses.codes[first]


def query_clauses(candidates: Candidates, context: "Context") -> Clauses:
    """Return the clauses of the candidates' queries."""
    cut = [(query, context.lexicon.clauses(query)) for query in candidates.query_texts]
    return Clauses(*coded_lists([query, *clauses] if len(clauses) > 1 else [query] for query, clauses in cut))


def coded_lists(lists: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], Ragged]:
    """Return the distinct texts of all lists, and of each list the codes of its texts.

    >>> texts, codes = coded_lists([["a", "b"], ["a"]])
    >>> texts, codes.codes
    (('a', 'b'), array([0, 1, 0]))
    """
    texts = Codes()
    codes = [[texts[text] for text in listed] for listed in lists]
    return tuple(texts), Ragged(offsets_of([*map(len, codes)]), np.array([*chain.from_iterable(codes)], dtype=np.int64))


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
        """Return the codes of words; a new word gets the next code."""
        return np.array([self._code(word) for word in words], dtype=np.int64)

    def _code(self, word: str) -> int:
        code = self._codes.get(word)
        if code is None:
            code = self._codes[word] = len(self._spellings)
            self._spellings.append(word)
        return code

    def spellings(self, codes: IntArray) -> list[str]:
        """Return the words of codes."""
        return [self._spellings[code] for code in codes.tolist()]

    def places(self, codes: IntArray, vocabulary: Mapping[str, int]) -> IntArray:
        """Return where the word of each code stands in another vocabulary; -1 where it does not.

        >>> lexicon = Lexicon()
        >>> lexicon.places(lexicon.words(["book a flight"]).codes, {"flight": 7})
        array([-1,  7])
        """
        distinct, which = np.unique(codes, return_inverse=True)
        places = [vocabulary.get(word, -1) for word in self.spellings(distinct)]
        return np.array(places, dtype=np.int64)[which]

    def keys(self, codes: IntArray) -> Array:
        """Return the keys of words in parts: their digests."""
        if len(self._keys) < len(self._codes):
            self._keys = np.concatenate([self._keys, digests(self._spellings[len(self._keys) :])])
        return self._keys[codes]

    def table(self, codes: IntArray) -> Table:
        """Return the words of codes in a part.

        >>> lexicon = Lexicon()
        >>> len(lexicon.table(lexicon.codes(["fly", "home", "fly"])))
        2
        """
        distinct = np.unique(codes)
        if len(self._spelled) < len(self._codes):
            self._spelled = Ragged.stacked([self._spelled, spelled(self._spellings[len(self._spelled) :])])
        return table(self.keys(distinct), facts={"word": self._spelled.take(distinct)})

    def words(self, texts: Sequence[str]) -> Ragged:
        """Return the words of each text, in its order.

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
        """Return the distinct words of each text."""
        owners, codes, _ = self.words(texts).counted(len(self))
        return Ragged(np.searchsorted(owners, np.arange(len(texts) + 1)), codes)

    def distinct_keys(self, texts: Sequence[str]) -> Ragged:
        """Return the keys of the distinct words of each text, rising: what a part holds of a text."""
        words = self.words(texts)
        codes, rank = np.unique(words.codes), np.empty(len(self), dtype=np.int64)
        keys, rank[codes] = np.unique(self.keys(codes), return_inverse=True)
        owners, ranks, _ = Ragged(words.starts, rank[words.codes]).counted(len(keys))
        return Ragged(np.searchsorted(owners, np.arange(len(texts) + 1)), keys[ranks])

    def grams(self, texts: Sequence[str]) -> Ragged:
        """Return the distinct hashed character n-grams of each text."""
        new = list(dict.fromkeys(text for text in texts if text not in self._gram_rows))
        if new:
            self._gram_rows |= {text: row for row, text in enumerate(new, start=len(self._gram_rows))}
            self._grams = Ragged.stacked([self._grams, HashEncoder.grams(new)])
        return self._grams.take(np.array([self._gram_rows[text] for text in texts], dtype=np.int64))

    def clauses(self, query: str) -> list[str]:
        """Return the clauses of a query."""
        if query not in self._clauses:
            self._clauses[query] = clauses(query)
        return self._clauses[query]
