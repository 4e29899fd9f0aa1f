"""The tools to choose from, before a query is known: prepared once for all threads; a large catalogue is cut first."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.catalogues import ToolText
from ltr.encoders import CachedEncoder, Dense, Encoder, HashEncoder, Postings, Role, Sparse, Vectors
from ltr.features import FittedFeatures, Tables, clauses, plain_texts
from ltr.memory import return_freed_memory
from ltr.runs import StoredModel
from ltr.samples import Candidates, ToolList, coded, tools_of_rows
from ltr.serving.threads import SharedByThreads

if TYPE_CHECKING:
    from ltr.catalogues import ToolCatalogue

Made = TypeVar("Made")

MOST_TOOLS = 1 << 14  # held; a service that meets more of them starts anew
MOST_OF_A_CUT = 6_000  # held where a large catalogue is cut: its shortlist needs memory as well
AT_ONCE = 1 << 10  # prepared at once: more of them need more memory on the way
MOST_SCORED = 10_000  # tools of a catalogue that is ranked without a cut
LISTED = 1_000  # tools by the columns that cut, and as many of those that training has met
CUT_AT_ONCE = 1 << 12  # tools whose grams and words are counted at once
QUICK = ("static", "hash")  # encoders that read the texts of 100,000 tools in seconds
SAMPLED = 1 << 14  # tools, evenly spread, that say how common a gram is where the model does not know
COSINES = ("tool.clause", "tool.proto")  # of a tool that training has not met both are the encoder's cosine
GRAMS = ("tool.clause_char", "tool.char")  # cosines of grams, which their states have counted
TALK = "tool.talk"  # knows words that go with a text and do not stand in it, which cosines miss


@dataclass(frozen=True, slots=True)
class Offer:
    """The tools to choose from, without a query."""

    tools: ToolList
    candidates: Candidates  # of a query that says nothing
    keys: IntArray  # the order of their names
    objects: tuple[object, ...]  # what the caller gave; empty for a catalogue from a file

    @classmethod
    def of(cls, names: tuple[str, ...], texts: "tuple[ToolText, ...]", objects: tuple[object, ...] = ()) -> "Offer":
        """Return the offer of tools with different names."""
        candidates = Candidates.of_tools("", dict(zip(names, texts, strict=True)))
        return cls(ToolList(names, texts), candidates, candidates.key_order(), objects)

    def of_tools(self, places: IntArray) -> "Offer":
        """Return the offer of some of the tools, by their places."""
        chosen = places.tolist()
        names, texts = ([column[place] for place in chosen] for column in (self.tools.names, self.tools.texts))
        objects = tuple(self.objects[place] for place in chosen) if self.objects else ()
        return Offer.of(tuple(names), tuple(texts), objects)

    def asked(self, queries: Sequence[str], previous: Sequence[str] | None) -> Candidates:
        """Return the candidates of the queries, a group each, after the names that were used before."""
        count = len(queries)
        return replace(
            self.candidates,
            **self.candidates.rows_repeated(count),
            traces=np.zeros(count, dtype=np.int64),
            node_ids=("",) * count,
            **coded(Candidates, queries=queries),
            previous=None if previous is None else np.zeros(count, dtype=np.int64),
            previous_lists=() if previous is None else (tuple(previous),),
        )


class PreparedTools(SharedByThreads):
    """What fitted features prepared of the tools that they have met. Threads may share it; a copy starts empty."""

    def __init__(self) -> None:
        super().__init__()
        self.start_anew()

    def start_anew(self) -> None:
        """Hold nothing."""
        self._served: FittedFeatures | None = None
        self._rows: dict[tuple[str, ToolText], int] = {}
        self._tables: tuple[Any, ...] | None = None
        self._of_states: dict[Any, Any] = {}
        self._shortlist: tuple[ToolList, Shortlist] | None = None
        self._last: tuple[ToolList, Tables] | None = None  # of the own catalogue
        self._own: tuple[ToolCatalogue, Offer] | None = None
        self._made: tuple[ToolCatalogue | None, Any] | None = None

    def __reduce__(self) -> tuple[type["PreparedTools"], tuple[()]]:
        return PreparedTools, ()

    def served(self, features: FittedFeatures) -> FittedFeatures:
        """Return the features with an encoder that holds nothing of a query."""
        with self.lock:
            if self._served is None:
                self._served = _served(features)
            return self._served

    def renewed(self, features: FittedFeatures, changed: Sequence[str]) -> "PreparedTools":
        """Return the same for features of which some have another state; a shortlist stays as it was made."""
        new, places = PreparedTools(), [place for place, name in enumerate(features.names) if name in changed]
        with self.lock:
            new._own, new._shortlist, new._rows = self._own, self._shortlist, dict(self._rows)
            if self._tables is not None:
                names, texts = zip(*new._rows, strict=True)
                some = new.served(features).only(*changed)
                tables = dict(zip(places, some.prepared(ToolList(names, texts), {}), strict=True))
                new._tables = tuple(tables.get(place, table) for place, table in enumerate(self._tables))
        return new

    def anew(self, features: FittedFeatures) -> "PreparedTools":
        """Prepare the same tools for other features: who asks next does not wait; a shortlist stays as it was made."""
        new = PreparedTools()
        with self.lock:
            new._own, new._shortlist, rows = self._own, self._shortlist, list(self._rows)
        if rows:
            names, texts = zip(*rows, strict=True)
            new.tables(features, ToolList(names, texts))
        return new

    def once(self, catalogue: "ToolCatalogue | None", make: Callable[[], Made]) -> Made:
        """Return what is made of the router's own catalogue, made once."""
        with self.lock:
            if self._made is None or self._made[0] is not catalogue:
                self._made = catalogue, make()
            value: Made = self._made[1]
            return value

    def own_offer(self, catalogue: "ToolCatalogue", objects: tuple[object, ...]) -> Offer:
        """Return the offer of the router's own catalogue, made once."""
        own = self._own
        if own is None or own[0] is not catalogue:
            own = self._own = catalogue, Offer.of(tuple(catalogue), tuple(catalogue.values()), objects)
        return own[1]

    def shortlist(self, features: FittedFeatures, tools: ToolList) -> "Shortlist":
        """Return the shortlist of a large catalogue; that of the last one is held."""
        with self.lock:
            if self._shortlist is None or self._shortlist[0] != tools:
                self._shortlist = tools, Shortlist.of(tools, features)
            return self._shortlist[1]

    def phi(
        self, features: FittedFeatures, offer: Offer, queries: Sequence[str], previous: Sequence[str] | None
    ) -> FloatArray:
        """Return the columns of the queries with all tools of the offer; of too many tools to hold, part by part."""
        names = offer.tools.names
        if len(names) <= MOST_TOOLS:
            served = self.served(features)
            tables = self.tables(features, offer.tools)
            rows = np.tile(tables.rows, len(queries))
            return served(offer.asked(queries, previous), Tables(tables.of_features, rows, self._of_states))
        raw = np.empty((len(queries), len(names), features.width))
        for first in range(0, len(names), AT_ONCE):
            part, served = slice(first, first + AT_ONCE), _served(features)  # its encoder's vectors go with the part
            some = Offer.of(names[part], offer.tools.texts[part])
            rows = np.tile(some.candidates.names, len(queries))
            tables = Tables(served.prepared(some.tools, self._of_states), rows, self._of_states)
            numbers = served(some.asked(queries, previous), tables, are_whole_lists=False)
            raw[:, part] = numbers.reshape(len(queries), -1, features.width)
        return features.whole(raw.reshape(-1, features.width), offer.asked(queries, previous).offsets)

    def columns(self, features: FittedFeatures, candidates: Candidates) -> FloatArray:
        """Return the columns of queries with tools of their own."""
        tools, tool_of_row = tools_of_rows(candidates)
        tables = self.tables(features, tools)
        return self.served(features)(candidates, Tables(tables.of_features, tables.rows[tool_of_row], self._of_states))

    def tables(self, features: FittedFeatures, tools: ToolList) -> Tables:
        """Return what the features prepared of the tools; only those that are new to this object are prepared."""
        held = self._last
        if held is not None and held[0] is tools:
            return held[1]
        served, listed = self.served(features), list(zip(tools.names, tools.texts, strict=True))
        with self.lock:
            new = [place for place, tool in enumerate(listed) if tool not in self._rows]
            most = MOST_TOOLS if self._shortlist is None else MOST_OF_A_CUT
            if len(self._rows) + len(new) > most and self._rows:
                self._rows, self._tables, new = {}, None, list(range(len(listed)))
                self._served = served = _served(features)  # its encoder held the vectors of those tools
                return_freed_memory()
            for first in range(0, len(new), AT_ONCE):
                part = [listed[place] for place in new[first : first + AT_ONCE]]
                names, texts = zip(*part, strict=True)
                more = served.prepared(ToolList(names, texts), self._of_states)
                self._tables = more if self._tables is None else Tables.extended(self._tables, more)
                self._rows |= {tool: len(self._rows) + place for place, tool in enumerate(part)}
            rows = np.array([self._rows[tool] for tool in listed], dtype=np.int64)
            tables = Tables(self._tables or (None,) * len(features.configs), rows, self._of_states)
            if self._own is not None and self._own[1].tools is tools:
                self._last = tools, tables
            return tables


class ServedEncoder(SharedByThreads):
    """An encoder in a service: threads take turns, and nothing of a query is held or stored."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.name, self.revision, self.state = encoder.name, encoder.revision, encoder.state
        self._encoder = encoder

    def start_anew(self) -> None:
        """Hold no vector."""
        if isinstance(self._encoder, CachedEncoder):
            self._encoder = self._encoder.apart()

    def identity(self, role: Role) -> tuple[str, ...] | None:
        """Return that of the encoder."""
        return self._encoder.identity(role)

    def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Return one row a text."""
        with self.lock:
            encoder = self._encoder
            if role == "query" and isinstance(encoder, CachedEncoder):
                return encoder.encode_once(texts, role)
            return encoder.encode(texts, role)  # of tools, which every query reads again


def _served(features: FittedFeatures) -> FittedFeatures:
    """Return the features with an encoder that holds nothing of a query, and of tools only what it is asked for."""
    return replace(features, encoder=ServedEncoder(features.apart().encoder))


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The columns that cut: the cosine of the texts of all tools with the query, and the words that go with them.

    The cosine is the largest over the query and its clauses: the encoder's, where the model has a column of it and the
    vectors of the catalogue are at hand in seconds, else that of hashed character grams, which without a feature that
    has counted them are counted on the catalogue. The words are `tool.talk`. Those tools stay that have most from these
    columns in the score of the model; where it does not rise with the cosine, those nearest by it. Tools that training
    has met are cut among themselves: a text says little of them.
    """

    names: tuple[str, ...]  # the features of the model that the cosines are; (): it has none
    encoder: ServedEncoder
    blocks: tuple[Postings | Dense, ...]  # in half precision, or in single
    is_learned: BoolArray  # (tools,) whether training has met it
    talk: FittedFeatures  # of that one column, or of none
    prepared: Tables  # of the talk

    @classmethod
    def of(cls, tools: ToolList, features: FittedFeatures) -> "Shortlist":
        """Return that of a catalogue."""
        texts, learned = plain_texts(tools), features.learned_tools()
        names, encoder = _cosines(features, texts)
        blocks = [_block(encoder, texts[first : first + CUT_AT_ONCE]) for first in range(0, len(texts), CUT_AT_ONCE)]
        is_learned = np.array([name in learned for name in tools.names], dtype=bool)
        talk, of_states = features.only(TALK), dict[Any, Any]()
        tables = talk.prepared(tools.part(0, CUT_AT_ONCE), of_states)
        for first in range(CUT_AT_ONCE, len(texts), CUT_AT_ONCE):
            tables = Tables.extended(tables, talk.prepared(tools.part(first, first + CUT_AT_ONCE), of_states))
        prepared = Tables(tables, np.arange(len(texts)), of_states)
        return cls(names, ServedEncoder(encoder), tuple(blocks), is_learned, talk, prepared)

    def best(self, candidates: Candidates, model: StoredModel) -> IntArray:
        """Return the places of the tools that get all columns, rising; the candidates are a query with all tools."""
        cosines = self.cosines(candidates.query_texts[0])
        values, ends = cosines, np.array([0.0, 1.0])
        low, high = sum((_added(model, name, ends) for name in self.names), start=np.zeros(2)).tolist()
        if high > low:  # else the model's score would keep the tools least like the query
            columns = dict.fromkeys(self.names, cosines)
            columns |= dict(zip(self.talk.names, self.talk(candidates, self.prepared).T, strict=True))
            values = np.sum([_added(model, name, column) for name, column in columns.items()], axis=0)
        is_listed = np.zeros(len(cosines), dtype=bool)
        is_listed[highest(values, np.arange(len(cosines)), LISTED)] = True
        is_listed[highest(cosines, np.flatnonzero(self.is_learned), LISTED)] = True
        return np.flatnonzero(is_listed)

    def cosines(self, query: str) -> FloatArray:
        """Return the largest cosine of each tool with the query and its clauses, (tools,)."""
        cut = clauses(query)
        asked = self.encoder.encode([query, *cut] if len(cut) > 1 else [query], "query")
        return np.concatenate([_products(block, asked).max(axis=0) for block in self.blocks])


def _cosines(features: FittedFeatures, texts: Sequence[str]) -> tuple[tuple[str, ...], CachedEncoder]:
    """Return the features that are cosines, and the encoder that they are of."""
    own = tuple(name for name in COSINES if name in features.names)
    if own and isinstance(features.encoder, CachedEncoder) and _is_quick(features.encoder, texts):
        return own, features.encoder.apart()
    states = dict(zip(features.names, features.states, strict=True))
    for name in GRAMS:
        if (state := states.get(name)) is not None:
            return (name,), CachedEncoder.of(HashEncoder.restored(state))
    return (), CachedEncoder.of(HashEncoder.fitted(texts[:: max(len(texts) // SAMPLED, 1)]))


def _is_quick(encoder: CachedEncoder, texts: Sequence[str]) -> bool:
    """Return whether the texts have vectors in seconds: from the encoder, or all of them from this machine's cache."""
    blocks = (texts[first : first + CUT_AT_ONCE] for first in range(0, len(texts), CUT_AT_ONCE))
    return encoder.name in QUICK or all(encoder.count_on_disk(block, "document") == len(set(block)) for block in blocks)


def _block(encoder: CachedEncoder, texts: Sequence[str]) -> Postings | Dense:
    """Return the vectors of some tools."""
    vectors = encoder.encode_once(texts, "document")
    if isinstance(vectors, Sparse):
        postings = Postings.of(vectors)
        return replace(postings, numbers=postings.numbers.astype(np.float16))
    if isinstance(vectors, Dense):
        return Dense(vectors.numbers.astype(np.float32))
    raise TypeError("vectors are sparse or dense")


def _products(block: Postings | Dense, vectors: Vectors) -> FloatArray:
    """Multiply each of the vectors by each tool of the block, (vectors, tools)."""
    if isinstance(block, Dense) and isinstance(vectors, Dense):
        return (vectors.numbers.astype(np.float32) @ block.numbers.T).astype(np.float64)
    if isinstance(block, Postings) and isinstance(vectors, Sparse):
        return block.products(vectors)
    raise TypeError("dense vectors meet dense vectors, sparse ones sparse ones")


def _added(model: StoredModel, name: str, column: FloatArray) -> FloatArray:
    """Return what a column adds to the score of the model where all others have their centre: without products."""
    return model.terms.knots.part(model.names.index(name), column, model.w)


def highest(values: FloatArray, among: IntArray, number: int) -> IntArray:
    """Return so many of the places whose values are highest, in no order; of equal values the first places.

    >>> highest(np.array([3.0, 1.0, 2.0, 2.0]), np.array([0, 2, 3]), 2)
    array([0, 2])
    """
    if number >= len(among):
        return among
    considered = values[among]
    least = np.partition(considered, len(among) - number)[len(among) - number] if number else np.inf
    above = np.flatnonzero(considered > least)
    level = np.flatnonzero(considered == least)[: number - len(above)]
    return among[np.concatenate([above, level])]
