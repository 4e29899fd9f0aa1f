"""The cut of a large catalogue: the tools of it that are worth all columns."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, State
from ltr.data.groups import Candidates
from ltr.encoders.hashing import HashEncoder
from ltr.features.crossfit import FittedFeatures
from ltr.features.prepared import Tables, all_extended
from ltr.features.registry import FEATURES, ToolList
from ltr.features.tables import table_texts
from ltr.features.tool_vectors import Postings
from ltr.features.words import clauses
from ltr.files.state_types import Record, TextTable, declared_type
from ltr.storage.model_file import StoredModel

MOST_SCORED = 10_000  # tools of a catalogue that is ranked without a cut
LISTED = 1_000  # tools by the columns that cut, and as many of those that training has met
AT_ONCE = 1 << 12  # tools whose grams and words are counted at once
SAMPLED = 1 << 14  # tools, evenly spread, that say how common a gram is where the model does not know
GRAMS = ("tool.clause_char", "tool.char")  # features whose states know
TALK = "tool.talk"  # knows words that go with a text and do not stand in it, which letters miss


@dataclass(frozen=True, slots=True)
class Shortlist:
    """The columns that cut: hashed character grams of the texts of all tools, and the words that go with them.

    The one is the largest cosine of a text with the query and its clauses, as `tool.clause_char` has it, in half
    precision; without a feature that has counted grams they are counted on the catalogue. The other is `tool.talk`.
    Those tools stay that have most from these columns in the score of the model; of a model without grams, those
    nearest by letters. Tools that training has met are cut among themselves: a text says little of them.
    """

    grams: str  # the feature of the model that the cosines are; "": it has none
    encoder: HashEncoder
    blocks: tuple[Postings, ...]
    is_learned: BoolArray  # (tools,) whether training has met it
    talk: FittedFeatures  # of that one column, or of none
    prepared: Tables  # of the talk

    @classmethod
    def of(cls, tools: ToolList, features: FittedFeatures) -> "Shortlist":
        """That of a catalogue."""
        texts, learned = tools.plain_texts, frozenset(learned_tools(features))
        states = dict(zip(features.names, features.states, strict=True))
        grams, counted = next(((name, state) for name in GRAMS if (state := states.get(name)) is not None), ("", None))
        sampled = texts[:: max(len(texts) // SAMPLED, 1)]
        encoder = HashEncoder.fitted(sampled) if counted is None else HashEncoder.restored(counted)
        blocks = []
        for first in range(0, len(texts), AT_ONCE):
            postings = Postings.of(encoder.encode(texts[first : first + AT_ONCE], "document"))
            blocks.append(replace(postings, numbers=postings.numbers.astype(np.float16)))
        is_learned = np.array([name in learned for name in tools.names], dtype=bool)
        talk, of_states = features.only(TALK), dict[Any, Any]()
        tables = talk.prepared(tools.part(0, AT_ONCE), of_states)
        for first in range(AT_ONCE, len(texts), AT_ONCE):
            tables = all_extended(tables, talk.prepared(tools.part(first, first + AT_ONCE), of_states))
        prepared = Tables(tables, np.arange(len(texts)), of_states)
        return cls(grams, encoder, tuple(blocks), is_learned, talk, prepared)

    def best(self, candidates: Candidates, model: StoredModel) -> IntArray:
        """The tools that all columns are computed of, in the order of the catalogue, all of which one query has."""
        letters = self.letters(candidates.query_texts[0])
        values = letters
        if self.grams and _rises(model, self.grams):  # else the model's score would keep the tools least like the query
            columns = {self.grams: letters}
            columns |= dict(zip(self.talk.names, self.talk(candidates, self.prepared).T, strict=True))
            parts = [model.knots.part(model.names.index(name), column, model.w) for name, column in columns.items()]
            values = np.sum(parts, axis=0)
        is_listed = np.zeros(len(letters), dtype=bool)
        is_listed[highest(values, np.arange(len(letters)), LISTED)] = True
        is_listed[highest(letters, np.flatnonzero(self.is_learned), LISTED)] = True
        return np.flatnonzero(is_listed)

    def letters(self, query: str) -> FloatArray:
        """The cosines of grams, (tools,)."""
        cut = clauses(query)
        asked = self.encoder.encode([query, *cut] if len(cut) > 1 else [query], "query")
        return np.concatenate([block.products(asked).max(axis=0) for block in self.blocks])


def _rises(model: StoredModel, name: str) -> bool:
    """Whether the column adds more to the model's score where it is 1 than where it is 0."""
    least, most = model.knots.part(model.names.index(name), np.array([0.0, 1.0]), model.w)
    return bool(most > least)


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
