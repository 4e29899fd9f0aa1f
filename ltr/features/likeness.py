"""How alike two queries are: by words and pairs of words, as written and as stems, and by the encoder."""

import hashlib
from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged, State, code_sums, offsets_of
from ltr.encoders import Encoder, Sparse, StoredVectors, Vectors
from ltr.features.protocol import Context
from ltr.features.texts import TOKEN, coded_lists
from ltr.features.vectors import Block
from ltr.samples import Candidates
from ltr.states import Floats, Integers, Offsets, Record, StateType

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)
STORED_QUERIES: dict[str, StateType] = {  # the type of what `Rarity.stored` returns
    "grams": Record(keys=Integers("grams", rising=True), rarity=Floats("grams")),
    "queries": Record(
        starts=Offsets("queries", "entries"), grams=Integers("entries", below="grams"), numbers=Floats("entries")
    ),
    "vectors": StoredVectors("queries"),
}


def query_grams(candidates: Candidates, context: Context) -> Ragged:
    """Return the keys of the words and pairs of neighbours of each query, as they stand (even) and as stems (odd)."""
    texts, lexicon = candidates.query_texts, context.lexicon
    words, codes = coded_lists(TOKEN.findall(text.lower()) for text in texts)
    written = _grams(codes, words)
    stemmed = lexicon.words(texts)
    stems, places = np.unique(stemmed.codes, return_inverse=True)
    shortened = _grams(Ragged(stemmed.starts, places), lexicon.spellings(stems))
    owners = np.concatenate([written.owners, shortened.owners])
    order = np.argsort(owners, kind="stable")
    keys = np.concatenate([written.codes * 2, shortened.codes * 2 + 1])[order]
    return Ragged(offsets_of(np.bincount(owners, minlength=len(texts))), keys)


def _grams(texts: Ragged, words: list[str] | tuple[str, ...]) -> Ragged:
    """Return the keys of the words of each text, and of its pairs of neighbours: digests, which mean the same anywhere.

    >>> _grams(Ragged(np.array([0, 2, 3]), np.array([0, 1, 0])), ["a", "b"]).lengths
    array([3, 1])
    """
    joined = b"".join(hashlib.blake2b(word.encode(), digest_size=8).digest() for word in words)
    keys = np.frombuffer(joined, dtype="<u8").astype(np.uint64)[texts.codes]
    is_pair = texts.owners[1:] == texts.owners[:-1]
    mixed = (keys[:-1] * MULTIPLIER) ^ (keys[1:] >> np.uint64(1))  # wraps: a hash
    owners = np.concatenate([texts.owners, texts.owners[1:][is_pair]])
    order = np.argsort(owners, kind="stable")
    both = np.concatenate([keys, (mixed * MULTIPLIER)[is_pair]]) >> np.uint64(2)  # room for the sign and another bit
    return Ragged(offsets_of(np.bincount(owners, minlength=len(texts.lengths))), both.astype(np.int64)[order])


@dataclass(frozen=True, slots=True)
class Rarity:
    """How rare the words and pairs of words of training queries are: what the likeness of two queries goes by."""

    keys: IntArray  # digests; they rise
    weights: FloatArray
    queries: int  # that they were counted in

    @classmethod
    def of(cls, candidates: Candidates, encoder: Encoder) -> Self:
        """Return that of the distinct queries of training groups."""
        return cls.counted(query_grams(candidates, Context(encoder)))

    @classmethod
    def counted(cls, grams: Ragged) -> Self:
        """Return that of the grams of queries."""
        keys, codes = np.unique(grams.codes, return_inverse=True)
        _, in_queries, _ = Ragged(grams.starts, codes).counted(len(keys))
        times = np.bincount(in_queries, minlength=len(keys))
        return cls(keys, 1 + np.log((1 + len(grams)) / (1 + times)), len(grams))

    @classmethod
    def flat(cls) -> Self:
        """Return that of no query at all: every word counts the same."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0), 0)

    def with_words_of(self, candidates: Candidates, encoder: Encoder) -> Self:
        """Return the same, with the words that no training query has; they are as rare as can be."""
        grams = query_grams(candidates, Context(encoder))
        keys = np.union1d(self.keys, grams.codes)
        weights = np.full(len(keys), 1 + np.log(1 + self.queries))
        weights[np.searchsorted(keys, self.keys)] = self.weights
        return type(self)(keys, weights, self.queries)

    def rows(self, grams: Ragged) -> Sparse:
        """Return of each query its known grams, as (1 + ln tf) rarity; words and stems each of half the squared length.

        A gram that no training query has counts in the length alone.
        """
        own, codes = np.unique(grams.codes, return_inverse=True)
        owners, codes, times = Ragged(grams.starts, codes).counted(len(own))
        place = np.minimum(np.searchsorted(self.keys, own), max(len(self.keys) - 1, 0))
        is_known = self.keys[place] == own if len(self.keys) else np.zeros(len(own), dtype=bool)
        weights = np.full(len(own), 1 + np.log(1 + self.queries))
        weights[is_known] = self.weights[place[is_known]]
        numbers = (1 + np.log(times)) * weights[codes]
        halves = owners * 2 + own[codes] % 2
        lengths = np.sqrt(2 * code_sums(halves, numbers**2, 2 * len(grams.lengths)))
        numbers /= lengths[halves]
        stays = is_known[codes]
        return Sparse.of(owners[stays], place[codes[stays]], numbers[stays], (len(grams), len(self.keys)))

    def stored(self, rows: Sparse, vectors: Vectors) -> State:
        """Return queries as a state holds them: their rows by these grams, and their vectors."""
        return {
            "grams": {"keys": self.keys, "rarity": self.weights},
            "queries": {"starts": rows.starts, "grams": rows.columns.astype(np.int32), "numbers": rows.numbers},
            "vectors": vectors.arrays(),
        }


@dataclass(frozen=True, slots=True)
class StoredQueries:
    """The queries of a state, ready to be compared with others."""

    rarity: Rarity
    grams: Block
    vectors: Block

    @classmethod
    def of(cls, state: State, counted: int | None = None) -> Self:
        """Return those of what `Rarity.stored` returned; `counted`: queries that say how rare grams are."""
        keys, queries = state["grams"]["keys"], state["queries"]
        columns, numbers = queries["grams"].astype(np.int64), queries["numbers"].astype(np.float64)
        rows = Sparse(queries["starts"], columns, numbers, max(len(keys), 1))
        rarity = Rarity(keys, state["grams"]["rarity"], len(rows) if counted is None else counted)
        return cls(rarity, Block(rows), Block(Vectors.restored(state["vectors"])))

    def __len__(self) -> int:
        return len(self.grams)

    def likeness(self, rows: Sparse, vectors: Vectors) -> FloatArray:
        """Return how alike other queries, by their rows and their vectors, are to each of these."""
        return (2 * self.grams.products(rows) + self.vectors.products(vectors)) / 3
