"""What corrected queries add to the scores of queries like them: a column whose weight is 1."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import Array, FloatArray, IntArray, State, offsets_of
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList
from ltr.data.groups import Groups
from ltr.encoders.dense_vectors import Dense
from ltr.encoders.protocol import Encoder
from ltr.encoders.sparse_vectors import Sparse
from ltr.encoders.vectors import StoredVectors, Vectors, vectors_from
from ltr.features.encoder_revision import encoder_revision, refuse_other_revision
from ltr.features.feature_context import Context
from ltr.features.lexicon import Lexicon
from ltr.features.presets import CORRECTIONS
from ltr.features.registry import feature
from ltr.features.ridge_equations import unit_rows
from ltr.features.row_queries import query_texts
from ltr.features.state_learners import Counted
from ltr.features.text_tables import names_table, place_of, table_texts, text_table
from ltr.features.tool_ridge import query_grams
from ltr.features.tool_vector_products import Block
from ltr.files.learned_state_types import Count, Floats, Integers, Json, Offsets, Record, TextTable, learns
from ltr.files.mergeable_tables import Part
from ltr.training.correction_layer import influence, solve_corrections


@dataclass(frozen=True, slots=True)
class Rarity:
    """How rare the words and pairs of words of training queries are: what the likeness of two queries goes by."""

    keys: IntArray  # digests
    weights: FloatArray
    queries: int  # that they were counted in

    @classmethod
    def of(cls, candidates: Candidates, encoder: Encoder) -> Self:
        """Return that of the distinct queries of training groups."""
        grams = query_grams(candidates, Context(encoder, Lexicon()))
        keys, codes = np.unique(grams.codes, return_inverse=True)
        pairs = np.unique(grams.owners * max(len(keys), 1) + codes)
        count = len(candidates.query_texts)
        times = np.bincount(pairs % max(len(keys), 1), minlength=len(keys))
        return cls(keys, 1 + np.log((1 + count) / (1 + times)), count)

    @classmethod
    def flat(cls) -> Self:
        """Return that of no query at all: every word counts the same."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0), 0)

    def with_words_of(self, candidates: Candidates, encoder: Encoder) -> Self:
        """Return the same, with the words that no training query has; they are as rare as can be."""
        grams = query_grams(candidates, Context(encoder, Lexicon()))
        keys = np.union1d(self.keys, grams.codes)
        weights = np.full(len(keys), 1 + np.log(1 + self.queries))
        weights[np.searchsorted(keys, self.keys)] = self.weights
        return type(self)(keys, weights, self.queries)


def corrections_state(corrections: Groups, scores: FloatArray, rarity: Rarity, encoder: Encoder) -> State:
    """Return the state of the layer on top of the scores of these groups, whose labels count what was said of them."""
    candidates = corrections.candidates
    known = rarity.with_words_of(candidates, encoder)
    rows = unit_rows(query_grams(candidates, Context(encoder, Lexicon())), known.keys, known.weights, rarity.queries)
    vectors = encoder.encode(candidates.query_texts, "query")
    rows, vectors = rows.take(candidates.queries), vectors.take(candidates.queries)
    state = _state(known, rows, vectors, corrections, encoder.revision)
    layer = Layer.of(state)
    influences = layer.influences(rows, vectors)
    found = solve_corrections(
        (influences + influences.T) / 2, scores, corrections.offsets, candidates.names, corrections.labels
    )
    state["cells"] = state["cells"] | {"numbers": found}
    return state


def _state(known: Rarity, rows: Sparse, vectors: Vectors, corrections: Groups, revision: str) -> State:
    candidates = corrections.candidates
    cells: dict[str, Array] = {
        "starts": corrections.offsets,
        "tools": candidates.names.astype(np.int32),
        "numbers": np.zeros(len(candidates.names)),
    }
    return {
        "revision": revision,
        "counted": known.queries,
        "grams": {"keys": known.keys, "rarity": known.weights},
        "queries": {"starts": rows.starts, "grams": rows.columns.astype(np.int32), "numbers": rows.numbers},
        "vectors": vectors.arrays(),
        "outcomes": text_table(corrections.outcomes or ()),
        "tools": text_table(candidates.name_texts),
        "cells": cells,
    }


def count_nothing(groups: Groups, context: Context) -> Part:  # outcomes are counted in an update
    """Return the encoder alone."""
    return {"encoder": names_table([context.encoder.revision])}


@learns(
    Record(
        revision=Json(str),
        counted=Json(Count),
        grams=Record(keys=Integers("grams", rising=True), rarity=Floats("grams")),
        queries=Record(
            starts=Offsets("queries", "entries"), grams=Integers("entries", below="grams"), numbers=Floats("entries")
        ),
        vectors=StoredVectors("queries"),
        outcomes=TextTable("queries"),
        tools=TextTable("tools"),
        cells=Record(
            starts=Offsets("queries", "cells"),
            tools=Integers("cells", below="tools"),
            numbers=Floats("cells", signed=True),
        ),
    )
)
def no_corrections(part: Part) -> State:
    """Return the state that training has: it corrects nothing. Outcomes do, on top of what was trained."""
    nothing, rarity = np.empty(0, dtype=np.int64), Rarity.flat()
    return {
        "revision": encoder_revision(part),
        "counted": 0,
        "grams": {"keys": rarity.keys, "rarity": rarity.weights},
        "queries": {"starts": offsets_of([]), "grams": nothing, "numbers": np.empty(0)},
        "vectors": Dense(np.empty((0, 0))).arrays(),
        "outcomes": text_table(()),
        "tools": text_table(()),
        "cells": {"starts": offsets_of([]), "tools": nothing, "numbers": np.empty(0)},
    }


@dataclass(frozen=True, slots=True)
class Layer:
    """A state ready for queries."""

    rarity: Rarity
    outcomes: tuple[str, ...]  # the id of each correction
    tools: dict[str, int]
    grams: Block
    vectors: Block
    table: FloatArray  # (corrections, tools)

    @classmethod
    def of(cls, state: State) -> Self:
        """Return that of the state."""
        queries, keys, cells = state["queries"], state["grams"]["keys"], state["cells"]
        rows = Sparse(queries["starts"], queries["grams"].astype(np.int64), queries["numbers"], max(len(keys), 1))
        vectors = vectors_from(state["vectors"])
        names = table_texts(state["tools"])
        table = np.zeros((len(rows), len(names)))
        table[np.repeat(np.arange(len(rows)), np.diff(cells["starts"])), cells["tools"]] = cells["numbers"]
        return cls(
            Rarity(keys, state["grams"]["rarity"], state["counted"]),
            tuple(table_texts(state["outcomes"])),
            place_of(names),
            Block(rows),
            Block(vectors.in_double() if isinstance(vectors, Dense) else vectors),
            table,
        )

    def influences(self, grams: Sparse, vectors: Vectors) -> FloatArray:
        """Return how much each correction counts for each query, (queries, corrections)."""
        return influence((2 * self.grams.products(grams) + self.vectors.products(vectors)) / 3)


def outcomes_behind(state: State, encoder: Encoder, candidates: Candidates, tool: str) -> dict[str, float]:
    """Return what each outcome adds to the tool for the first query of the candidates, the most first."""
    layer = Layer.of(state)
    rarity = layer.rarity
    grams = query_grams(candidates, Context(encoder, Lexicon()))
    asked = unit_rows(grams, rarity.keys, rarity.weights, rarity.queries)
    influences = layer.influences(asked, encoder.encode(candidates.query_texts, "query"))[0]
    added = influences * (layer.table[:, layer.tools[tool]] if tool in layer.tools else 0.0)
    named = {layer.outcomes[place]: float(added[place]) for place in np.flatnonzero(added).tolist()}
    return dict(sorted(named.items(), key=lambda item: -abs(item[1])))


def corrected_tools(tools: ToolList, state: State, context: Context) -> IntArray:
    """Return the place of each tool among those of the corrections; -1 for one that none of them offered."""
    places = context.of_state(Layer.of, state).tools
    return np.array([places.get(name, -1) for name in tools.names], dtype=np.int64)


@feature(
    CORRECTIONS,
    "hist",
    fit=Counted(count_nothing, no_corrections),
    prepare=corrected_tools,
    queries=query_texts,
    title="what corrections of queries like it say",
)
def corrections(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Sum over corrected queries of likeness^4 times what each adds to the tool; 0 until outcomes are learned from.

    `ltr update` puts the column beside those of a run, with weight 1; in training it is 0 for every candidate.
    """
    refuse_other_revision(state, context)
    layer = context.of_state(Layer.of, state)
    tools = context.prepared(np.ndarray)[context.tools]
    values = np.zeros(len(tools))
    if not layer.outcomes:
        return values
    rarity = layer.rarity
    asked = unit_rows(context.shared(query_grams, candidates), rarity.keys, rarity.weights, rarity.queries)
    influences = layer.influences(asked, context.vectors[query_texts])
    bounds = candidates.offsets.tolist()
    for query, first, last in zip(candidates.queries.tolist(), bounds, bounds[1:], strict=False):
        near = np.flatnonzero(influences[query])
        if len(near):  # one query at a time, in one order: the same bits, whatever else is asked
            added = (influences[query, near, np.newaxis] * layer.table[near]).sum(axis=0)
            own = tools[first:last]
            values[first:last] = np.where(own >= 0, added[own], 0.0)
    return values
