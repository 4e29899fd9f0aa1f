"""The encoder of the base install: hashed character n-gram TF-IDF, numpy only."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray, State, chunks, offsets_of
from ltr.encoders.protocol import Role
from ltr.encoders.sparse import Sparse
from ltr.errors import DataError
from ltr.files.state_types import Count, Integers, Json, Record

BUCKETS_LOG2 = 14
BUCKETS = 1 << BUCKETS_LOG2
COUNTED = Record(documents=Json(Count), frequencies=Integers(BUCKETS))  # the type of a state
SIZES = (3, 4, 5)
SIZES_CJK = (1, 2)  # a Chinese word is one or two characters long
CJK = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
CHARACTERS = 1 << 18  # of the texts hashed at once
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)

Codes = npt.NDArray[np.uint64]


@dataclass(frozen=True, slots=True)
class Counts:
    """How often each bucket occurs in each text, texts in order, buckets rising."""

    texts: IntArray
    buckets: IntArray
    times: IntArray


@dataclass(frozen=True, slots=True)
class HashEncoder:
    """Rows of (1 + ln tf)(1 + ln((1 + N) / (1 + df))) over hashed character n-grams, of length 1.

    N and df are counted once, on the training texts; they are the state.
    """

    name: ClassVar[str] = "hash"
    state_type: ClassVar[Record] = COUNTED
    documents: int  # N
    frequencies: IntArray = field(repr=False)  # (BUCKETS,): df

    @classmethod
    def fitted(cls, texts: Sequence[str]) -> Self:
        """The encoder that has counted in how many of the distinct texts each bucket occurs."""
        distinct = list(dict.fromkeys(texts))
        frequencies = np.zeros(BUCKETS, dtype=np.int64)
        for part in _counted_in_parts(distinct):
            frequencies += np.bincount(part.buckets, minlength=BUCKETS)
        return cls(len(distinct), frequencies)

    @classmethod
    def restored(cls, state: State) -> Self:
        """The encoder with those counts."""
        documents, frequencies = state["documents"], state["frequencies"]
        if frequencies.max() > documents:
            raise DataError(f"a character n-gram is counted in {frequencies.max()} of {documents} texts")
        return cls(documents, frequencies.astype(np.int64))

    @property
    def state(self) -> State:
        """N and df."""
        return {"documents": self.documents, "frequencies": self.frequencies}

    @classmethod
    def is_installed(cls) -> bool:
        """Always: it needs numpy alone."""
        return True

    def identity(self, role: Role) -> None:
        """None: its vectors are not stored, for it is as quick as a cache and they change with the training texts."""

    @property
    def revision(self) -> str:
        """A digest of N and df."""
        counted = self.documents.to_bytes(8, "little") + self.frequencies.astype("<i8").tobytes()
        return hashlib.blake2b(counted, digest_size=16).hexdigest()

    def encode(self, texts: Sequence[str], role: Role) -> Sparse:
        """One sparse row of length 1 a text, whatever its role; an empty text gives an empty row."""
        counted = counts(texts)
        numbers = (1 + np.log(counted.times)) * self.weights[counted.buckets]
        lengths = np.sqrt(np.bincount(counted.texts, weights=numbers * numbers, minlength=len(texts)))
        starts = offsets_of(np.bincount(counted.texts, minlength=len(texts)))
        return Sparse(starts, counted.buckets, numbers / lengths[counted.texts], BUCKETS)

    @property
    def weights(self) -> FloatArray:
        """1 + ln((1 + N) / (1 + df)) of each bucket."""
        return 1 + np.log((1 + self.documents) / (1 + self.frequencies))


def counts(texts: Sequence[str]) -> Counts:
    """The hashed n-grams of each text: lower-cased, white space as one blank, a blank before and after.

    >>> counted = counts(["aaa", ""])
    >>> counted.texts, counted.times  # ' aa', 'aaa', 'aa ', ' aaa', 'aaa ', ' aaa '
    (array([0, 0, 0, 0, 0, 0]), array([1, 1, 1, 1, 1, 1]))
    """
    parts = [Counts(*[np.empty(0, dtype=np.int64)] * 3), *_counted_in_parts(texts)]
    return Counts(
        np.concatenate([part.texts for part in parts]),
        np.concatenate([part.buckets for part in parts]),
        np.concatenate([part.times for part in parts]),
    )


def _counted_in_parts(texts: Sequence[str]) -> Iterator[Counts]:
    """The same, of about CHARACTERS characters at a time."""
    padded = [f" {' '.join(text.lower().split())} " if text.strip() else "" for text in texts]
    ends = offsets_of([len(text) + 1 for text in padded])  # an empty text takes a place as well
    for first, last in chunks(ends, CHARACTERS):
        part = padded[first:last]
        codes = np.frombuffer("".join(part).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.uint64)
        owner = np.repeat(np.arange(first, last), [len(text) for text in part])
        is_cjk = np.zeros(len(codes), dtype=bool)
        for lowest, highest in CJK:
            is_cjk |= (codes >= lowest) & (codes <= highest)
        grams = [_grams(codes, owner, np.ones_like(is_cjk), size) for size in SIZES]
        if is_cjk.any():
            grams += [_grams(codes, owner, is_cjk, size) for size in SIZES_CJK]
        keys, times = np.unique(np.concatenate(grams), return_counts=True)
        yield Counts(keys >> BUCKETS_LOG2, keys & (BUCKETS - 1), times)


def _grams(codes: Codes, owner: IntArray, allowed: BoolArray, size: int) -> IntArray:
    """text * BUCKETS + bucket of every n-gram of that size that lies inside one text, of allowed characters."""
    places = len(codes) - size + 1
    if places <= 0:
        return np.empty(0, dtype=np.int64)
    hashed, is_inside = np.full(places, size, dtype=np.uint64), owner[:places] == owner[size - 1 :]
    for step in range(size):
        hashed = (hashed ^ codes[step : step + places]) * MULTIPLIER  # wraps: a hash
        hashed ^= hashed >> np.uint64(29)
        is_inside &= allowed[step : step + places]
    buckets = (hashed * MULTIPLIER) >> np.uint64(64 - BUCKETS_LOG2)
    return owner[:places][is_inside] * BUCKETS + buckets[is_inside].astype(np.int64)
