"""The cut of a large catalogue: the tools of it that are worth all columns."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, State
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList
from ltr.encoders.cached_encoder import CachedEncoder, cached_texts
from ltr.encoders.dense_vectors import Dense
from ltr.encoders.hashed_ngrams import HashEncoder
from ltr.encoders.inverted_index import Postings
from ltr.encoders.sparse_vectors import Sparse
from ltr.encoders.vectors import Vectors
from ltr.features.clause_boundaries import clauses
from ltr.features.fitted_features import FittedFeatures
from ltr.features.plain_tool_text import plain_texts
from ltr.features.precomputed_tables import Tables, all_extended
from ltr.features.registry import FEATURES
from ltr.features.text_tables import table_texts
from ltr.files.learned_state_types import Record, TextTable, declared_type
from ltr.serving.served_encoder import ServedEncoder
from ltr.storage.model_file import StoredModel

MOST_SCORED = 10_000  # tools of a catalogue that is ranked without a cut
LISTED = 1_000  # tools by the columns that cut, and as many of those that training has met
AT_ONCE = 1 << 12  # tools whose grams and words are counted at once
QUICK = ("static", "hash")  # encoders that read the texts of 100,000 tools in seconds
SAMPLED = 1 << 14  # tools, evenly spread, that say how common a gram is where the model does not know
COSINES = ("tool.clause", "tool.proto")  # of a tool that training has not met both are the encoder's cosine
GRAMS = ("tool.clause_char", "tool.char")  # cosines of grams, which their states have counted
TALK = "tool.talk"  # knows words that go with a text and do not stand in it, which cosines miss


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
        """That of a catalogue."""
        texts, learned = plain_texts(tools), frozenset(learned_tools(features))
        names, encoder = _cosines(features, texts)
        blocks = [_block(encoder, texts[first : first + AT_ONCE]) for first in range(0, len(texts), AT_ONCE)]
        is_learned = np.array([name in learned for name in tools.names], dtype=bool)
        talk, of_states = features.only(TALK), dict[Any, Any]()
        tables = talk.prepared(tools.part(0, AT_ONCE), of_states)
        for first in range(AT_ONCE, len(texts), AT_ONCE):
            tables = all_extended(tables, talk.prepared(tools.part(first, first + AT_ONCE), of_states))
        prepared = Tables(tables, np.arange(len(texts)), of_states)
        return cls(names, ServedEncoder(encoder), tuple(blocks), is_learned, talk, prepared)

    def best(self, candidates: Candidates, model: StoredModel) -> IntArray:
        """The places of the tools that get all columns, rising; the candidates are a query with the whole catalogue."""
        cosines = self.cosines(candidates.query_texts[0])
        values = cosines
        if _rises(model, self.names):  # else the model's score would keep the tools least like the query
            columns = dict.fromkeys(self.names, cosines)
            columns |= dict(zip(self.talk.names, self.talk(candidates, self.prepared).T, strict=True))
            values = np.sum([_added(model, name, column) for name, column in columns.items()], axis=0)
        is_listed = np.zeros(len(cosines), dtype=bool)
        is_listed[highest(values, np.arange(len(cosines)), LISTED)] = True
        is_listed[highest(cosines, np.flatnonzero(self.is_learned), LISTED)] = True
        return np.flatnonzero(is_listed)

    def cosines(self, query: str) -> FloatArray:
        """The largest cosine of each tool with the query and its clauses, (tools,)."""
        cut = clauses(query)
        asked = self.encoder.encode([query, *cut] if len(cut) > 1 else [query], "query")
        return np.concatenate([_products(block, asked).max(axis=0) for block in self.blocks])


def _cosines(features: FittedFeatures, texts: Sequence[str]) -> tuple[tuple[str, ...], CachedEncoder]:
    """The features that are cosines, and the encoder that they are of."""
    own = tuple(name for name in COSINES if name in features.names)
    if own and isinstance(features.encoder, CachedEncoder) and _is_quick(features.encoder, texts):
        return own, features.encoder.apart()
    states = dict(zip(features.names, features.states, strict=True))
    for name in GRAMS:
        if (state := states.get(name)) is not None:
            return (name,), CachedEncoder.of(HashEncoder.restored(state))
    return (), CachedEncoder.of(HashEncoder.fitted(texts[:: max(len(texts) // SAMPLED, 1)]))


def _is_quick(encoder: CachedEncoder, texts: Sequence[str]) -> bool:
    """Whether the texts have their vectors in seconds: from the encoder, or all of them from this machine's cache."""
    blocks = (texts[first : first + AT_ONCE] for first in range(0, len(texts), AT_ONCE))
    return encoder.name in QUICK or all(cached_texts(encoder, block, "document") == len(set(block)) for block in blocks)


def _block(encoder: CachedEncoder, texts: Sequence[str]) -> Postings | Dense:
    """The vectors of some tools."""
    vectors = encoder.encode_once(texts, "document")
    if isinstance(vectors, Sparse):
        postings = Postings.of(vectors)
        return replace(postings, numbers=postings.numbers.astype(np.float16))
    if isinstance(vectors, Dense):
        return Dense(vectors.numbers.astype(np.float32))
    raise TypeError("vectors are sparse or dense")


def _products(block: Postings | Dense, vectors: Vectors) -> FloatArray:
    """Each of the vectors by each tool of the block, (vectors, tools)."""
    if isinstance(block, Dense) and isinstance(vectors, Dense):
        return (vectors.numbers.astype(np.float32) @ block.numbers.T).astype(np.float64)
    if isinstance(block, Postings) and isinstance(vectors, Sparse):
        return block.products(vectors)
    raise TypeError("dense vectors meet dense vectors, sparse ones sparse ones")


def _added(model: StoredModel, name: str, column: FloatArray) -> FloatArray:
    """What a column adds to the score of the model where all others have their centre: without products."""
    return model.terms.knots.part(model.names.index(name), column, model.w)


def _rises(model: StoredModel, names: Sequence[str]) -> bool:
    """Whether the columns add more to the model's score where they are 1 than where they are 0."""
    added = sum((_added(model, name, np.array([0.0, 1.0])) for name in names), start=np.zeros(2))
    return bool(added[1] > added[0])


def highest(values: FloatArray, among: IntArray, number: int) -> IntArray:
    """So many of the places whose values are highest, in no order; of equal values the first places.

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


def learned_tools(features: FittedFeatures) -> Iterator[str]:
    """The names of tools that the states of features hold."""
    for config, state in zip(features.configs, features.states, strict=True):
        learner = FEATURES[config.name].learner
        if learner is not None and state is not None:
            yield from _names(declared_type(learner.state), state)


def _names(declared: Any, value: State) -> Iterator[str]:
    """The texts of the tables of tools in a state of the declared type."""
    if isinstance(declared, TextTable) and declared.axis == "tools":
        yield from table_texts(value)
    if isinstance(declared, Record):
        for name, part in declared.parts.items():
            yield from _names(part, value[name])
