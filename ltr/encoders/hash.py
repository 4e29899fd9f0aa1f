"""The encoder of the base install: hashed character n-gram TF-IDF, numpy only."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

import numpy as np

from ltr.arrays import Array, FloatArray, IntArray, Ragged, State, code_sums
from ltr.encoders.protocol import Role, encoder
from ltr.encoders.vectors import Sparse
from ltr.errors import DataError
from ltr.states import Count, Integers, Json, Record
from ltr.tables import digests

BUCKETS_LOG2 = 14
BUCKETS = 1 << BUCKETS_LOG2
SIZES = (3, 4, 5)
SIZES_CJK = (1, 2)  # a Chinese word is one or two characters long
CJK = ((0x3040, 0x30FF), (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xAC00, 0xD7AF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))
CHARACTERS = 1 << 18  # of the texts hashed at once
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


@encoder("hash")
@dataclass(frozen=True)
class HashEncoder:
    """Rows of (1 + ln tf)(1 + ln((1 + N) / (1 + df))) over hashed character n-grams, of length 1.

    N and df are counted once, on the training texts; they are the state. Without any text all grams weigh the same.
    """

    name: ClassVar[str] = "hash"
    state_type: ClassVar[Record] = Record(documents=Json(Count), frequencies=Integers(BUCKETS))
    documents: int  # N
    frequencies: IntArray = field(repr=False)  # (BUCKETS,): df
    weights: FloatArray = field(init=False, repr=False, compare=False)  # (BUCKETS,): 1 + ln((1 + N) / (1 + df))

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", 1 + np.log((1 + self.documents) / (1 + self.frequencies)))

    @classmethod
    def fitted(cls, texts: Sequence[str]) -> Self:
        """Return the encoder that has counted in how many of the distinct texts each bucket occurs."""
        return cls.fitted_to([cls.count_texts(texts)])

    @classmethod
    def count_texts(cls, texts: Sequence[str]) -> tuple[Array, Ragged]:
        """Return the key of each distinct text, and its grams."""
        distinct = list(dict.fromkeys(texts))
        return digests(distinct), cls.grams(distinct)

    @classmethod
    def fitted_to(cls, parts: Iterable[tuple[Array, Ragged]]) -> Self:
        """Return the encoder of all texts of the parts; memory holds a key for each text.

        >>> parts = map(HashEncoder.count_texts, (["book a flight", "weather"], ["weather"]))
        >>> HashEncoder.fitted_to(parts).revision == HashEncoder.fitted(["book a flight", "weather"]).revision
        True
        """
        seen, frequencies = digests([]), np.zeros(BUCKETS, dtype=np.int64)
        for keys, grams in parts:
            is_new = np.isin(keys, seen, invert=True)
            frequencies += np.bincount(grams.take(np.flatnonzero(is_new)).codes, minlength=BUCKETS)
            seen = np.union1d(seen, keys[is_new])
        return cls(len(seen), frequencies)

    @classmethod
    def restored(cls, state: State) -> Self:
        """Return the encoder with those counts."""
        documents, frequencies = state["documents"], state["frequencies"]
        if frequencies.max() > documents:
            raise DataError(f"a character n-gram is counted in {frequencies.max()} of {documents} texts")
        return cls(documents, frequencies.astype(np.int64))

    @property
    def state(self) -> State:
        """Return N and df."""
        return {"documents": self.documents, "frequencies": self.frequencies}

    @classmethod
    def is_installed(cls) -> bool:
        """Return True: it needs numpy alone."""
        return True

    def identity(self, role: Role) -> None:
        """Return None: its vectors change with the training texts, and are as quick to make as to read."""

    @property
    def revision(self) -> str:
        """Return a digest of N and df."""
        counted = self.documents.to_bytes(8, "little") + self.frequencies.astype("<i8").tobytes()
        return hashlib.blake2b(counted, digest_size=16).hexdigest()

    def encode(self, texts: Sequence[str], role: Role) -> Sparse:
        """Return one sparse row of length 1 a text, whatever its role; an empty text gives an empty row."""
        return self.weighted(self.counts(texts))

    def weighted(self, counts: Sparse) -> Sparse:
        """Return the rows of texts whose n-grams are counted."""
        numbers = (1 + np.log(counts.numbers)) * self.weights[counts.columns]
        owners = counts.owners
        lengths = np.sqrt(code_sums(owners, numbers * numbers, len(counts)))
        return replace(counts, numbers=numbers / lengths[owners])

    @classmethod
    def grams(cls, texts: Sequence[str]) -> Ragged:
        """Return the distinct buckets of each text."""
        counts = cls.counts(texts)
        return Ragged(counts.starts, counts.columns.astype(np.uint16))

    @staticmethod
    def counts(texts: Sequence[str]) -> Sparse:
        """Return how often each bucket occurs in each text.

        A text is lower-cased, its white space one blank, with a blank before and after.

        >>> counts = HashEncoder.counts(["aaa", ""])
        >>> counts.starts, counts.numbers  # ' aa', 'aaa', 'aa ', ' aaa', 'aaa ', ' aaa '
        (array([0, 6, 6]), array([1., 1., 1., 1., 1., 1.]))
        """
        padded = [f" {' '.join(text.lower().split())} " if text.strip() else "" for text in texts]
        ends = np.cumsum([len(text) for text in padded])
        found = [(np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))]
        first = 0
        while first < len(texts):
            before = ends[first - 1] if first else 0
            last = max(int(np.searchsorted(ends, before + CHARACTERS, side="right")), first + 1)
            part = padded[first:last]
            characters = np.frombuffer("".join(part).encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(
                np.uint64
            )
            owner = np.repeat(np.arange(first, last), [len(text) for text in part])
            is_cjk = np.zeros(len(characters), dtype=bool)
            for lowest, highest in CJK:
                is_cjk |= (characters >= lowest) & (characters <= highest)
            keys = []  # text * BUCKETS + bucket of every n-gram that lies inside one text
            for size in (*SIZES, *SIZES_CJK) if is_cjk.any() else SIZES:
                places = max(len(characters) - size + 1, 0)
                hashed = np.full(places, size, dtype=np.uint64)
                is_counted = owner[:places] == owner[len(owner) - places :]
                for step in range(size):
                    hashed = (hashed ^ characters[step : step + places]) * MULTIPLIER  # wraps: a hash
                    hashed ^= hashed >> np.uint64(29)
                    if size in SIZES_CJK:
                        is_counted &= is_cjk[step : step + places]
                buckets = (hashed * MULTIPLIER) >> np.uint64(64 - BUCKETS_LOG2)
                keys.append(owner[:places][is_counted] * BUCKETS + buckets[is_counted].astype(np.int64))
            found.append(np.unique(np.concatenate(keys), return_counts=True))
            first = last
        cells, times = map(np.concatenate, zip(*found, strict=True))
        return Sparse.of(cells >> BUCKETS_LOG2, cells & (BUCKETS - 1), times.astype(np.float64), (len(texts), BUCKETS))
