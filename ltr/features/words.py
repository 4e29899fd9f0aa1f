"""Texts as people and names spell them become words, and queries become clauses."""

import re
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, ragged
from ltr.encoders.sparse import Sparse

CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"  # a character is a word
TOKEN = re.compile(rf"[{CJK}]|[^\W_{CJK}]+")
BOUNDARY = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")
BREAK = re.compile(r"(?<=[.!?;:])\s+|[。！？；，、]|,\s*|(?<!\s)\s+(?:and|then|also)\s+", re.IGNORECASE)
SHORTEST_CLAUSE, MOST_CLAUSES = 3, 8  # words, clauses
SAYS_NOTHING = """
a an the this that these those i me my we our you your he she it its they them their who what which when where why how
is are was were be been being am do does did have has had can could will would shall should may might must and or but
if then than so as of at by for with about into to from in on up out over under also there here not no yes please all
any some more most such only own same very just let get s t d ll m re ve
"""
STOP_WORDS = frozenset(SAYS_NOTHING.split())


def pieces(name: str) -> str:
    """A name as a text: split at underscores, dots, camelCase and digits, lower-cased.

    >>> pieces("getHTTPStatus_v2.beta")
    'get http status v 2 beta'
    """
    return " ".join(TOKEN.findall(BOUNDARY.sub(" ", name))).lower()


def spoken(name: str, description: str = "") -> str:
    """What a learned feature reads of a tool: the pieces of its name, then its description.

    >>> spoken("getWeather", "Weather of a city"), spoken("getWeather")
    ('get weather: Weather of a city', 'get weather')
    """
    return f"{pieces(name)}: {description}" if description else pieces(name)


def stem(word: str) -> str:
    """The word without a light English suffix, so that forms of one word meet.

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


def words(text: str) -> list[str]:
    """The words of a text: split like a name, lower-cased, stop words out, stemmed.

    >>> words("Booking the getFlights tool")
    ['book', 'flight', 'tool']
    """
    return [stem(piece) for piece in pieces(text).split() if piece not in STOP_WORDS]


def clauses(query: str) -> list[str]:
    """What a query asks for, one thing after the other; a query of one clause is that clause.

    Cut after .!?;:, at commas, and at the words and, then and also; a clause of under 3 words joins the one before it,
    the first the one after it; what follows the eighth belongs to it.

    >>> clauses("Find a flight to Paris, then book a cheap hotel and a car. Send me an email!")
    ['Find a flight to Paris', 'then book a cheap hotel a car.', 'Send me an email!']
    """
    joined: list[list[str]] = []
    size = 0  # words of the last
    for piece in filter(None, (part.strip() for part in BREAK.split(query))):
        own = len(piece.split())
        if joined and (min(own, size) < SHORTEST_CLAUSE or len(joined) == MOST_CLAUSES):
            joined[-1].append(piece)
            size += own
        else:
            joined.append([piece])
            size = own
    return [" ".join(pieces) for pieces in joined] if len(joined) > 1 else [query]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Codes of each text: text i owns codes[starts[i]:starts[i + 1]]."""

    starts: IntArray
    codes: IntArray

    @property
    def lengths(self) -> IntArray:
        """Codes a text."""
        return np.diff(self.starts)

    def take(self, texts: IntArray) -> "Ragged":
        """Those of some texts.

        >>> Ragged(np.array([0, 2, 3]), np.array([7, 8, 9])).take(np.array([1, 0])).codes
        array([9, 7, 8])
        """
        owner, step = ragged(self.lengths[texts])
        starts = np.concatenate(([0], np.cumsum(self.lengths[texts])))
        return Ragged(starts, self.codes[self.starts[texts][owner] + step])

    def counted(self, vocabulary: int) -> tuple[IntArray, IntArray, IntArray]:
        """Of each text its distinct codes and how often each occurs: texts, codes, times.

        >>> Ragged(np.array([0, 3, 4]), np.array([5, 2, 5, 2])).counted(9)
        (array([0, 0, 1]), array([2, 5, 2]), array([1, 2, 1]))
        """
        owner = np.repeat(np.arange(len(self.starts) - 1), self.lengths)
        keys, times = np.unique(owner * max(vocabulary, 1) + self.codes, return_counts=True)
        return keys // max(vocabulary, 1), keys % max(vocabulary, 1), times


class Lexicon:
    """Words by code; each text is split once, however many features and folds ask for it."""

    def __init__(self) -> None:
        self._codes: dict[str, int] = {}
        self._of_token: dict[str, tuple[int, ...]] = {}
        self._places: dict[str, int] = {}  # of a text, in the two below
        self._starts, self._words = array("q", [0]), array("q")
        self._clauses: dict[str, list[str]] = {}

    def __len__(self) -> int:
        return len(self._codes)

    def codes(self, texts: Iterable[str]) -> IntArray:
        """The codes of texts that are words already."""
        return np.array([self._codes.setdefault(word, len(self._codes)) for word in texts], dtype=np.int64)

    def spellings(self, codes: IntArray) -> list[str]:
        """The words of codes."""
        known = list(self._codes)
        return [known[code] for code in codes.tolist()]

    def words(self, texts: Sequence[str]) -> Ragged:
        """The words of each text, in its order.

        >>> lexicon = Lexicon()
        >>> found = lexicon.words(["book flights", "a flight"])
        >>> lexicon.spellings(found.codes), found.starts
        (['book', 'flight', 'flight'], array([0, 2, 3]))
        """
        places = np.array([self._place(text) for text in texts], dtype=np.int64)
        starts, found = (np.array(column, dtype=np.int64) for column in (self._starts, self._words))
        return Ragged(starts, found).take(places)

    def _place(self, text: str) -> int:
        place = self._places.get(text)
        if place is None:
            place = self._places[text] = len(self._places)
            for token in TOKEN.findall(text):
                of_token = self._of_token.get(token)
                if of_token is None:
                    of_token = self._of_token[token] = tuple(self.codes(words(token)).tolist())
                self._words.extend(of_token)
            self._starts.append(len(self._words))
        return place

    def clauses(self, query: str) -> list[str]:
        """The clauses of a query."""
        known = self._clauses.get(query)
        if known is None:
            known = self._clauses[query] = clauses(query)
        return known


def sparse(texts: IntArray, codes: IntArray, numbers: FloatArray, shape: tuple[int, int]) -> Sparse:
    """Rows of numbers by code, from entries that stand in the order of their texts."""
    starts = np.concatenate(([0], np.cumsum(np.bincount(texts, minlength=shape[0]))))
    return Sparse(starts, codes, numbers, max(shape[1], 1))


def widened(rows: Sparse, dimensions: int) -> Sparse:
    """The same rows beside more columns: the lexicon grows while it reads."""
    return Sparse(rows.starts, rows.columns, rows.numbers, dimensions)
