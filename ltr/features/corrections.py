"""What corrected queries add to the scores of queries like them: a column whose weight is 1."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, offsets_of
from ltr.encoders import Dense, Encoder, Sparse, Vectors
from ltr.features.likeness import STORED_QUERIES, Rarity, StoredQueries, query_grams
from ltr.features.presets import CORRECTIONS
from ltr.features.protocol import Context, Counted, feature
from ltr.features.tables import (
    encoder_revision,
    listed_names,
    names_table,
    positions,
    refuse_other_revision,
    table_texts,
    text_table,
)
from ltr.features.texts import query_texts
from ltr.samples import Candidates, Groups, ToolList
from ltr.states import Count, Floats, Integers, Json, Offsets, Record, TextTable, learns
from ltr.tables import Part
from ltr.training import influence, solve_corrections


def count_nothing(groups: Groups, context: Context) -> Part:  # outcomes are counted in an update
    """Return the encoder alone."""
    return {"encoder": names_table([context.encoder.revision])}


@learns(
    Record(
        revision=Json(str),
        counted=Json(Count),
        **STORED_QUERIES,
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
    nothing = np.empty(0, dtype=np.int64)
    rows = Sparse(offsets_of([]), nothing, np.empty(0), 1)
    return {
        "revision": encoder_revision(part),
        "counted": 0,
        **Rarity.flat().stored(rows, Dense(np.empty((0, 0)))),
        "outcomes": text_table(()),
        "tools": text_table(()),
        "cells": {"starts": offsets_of([]), "tools": nothing, "numbers": np.empty(0)},
    }


@dataclass(frozen=True, slots=True)
class Corrections:
    """What corrected queries add to queries like them: a state ready for queries."""

    queries: StoredQueries  # that were corrected
    outcomes: tuple[str, ...]  # the id of each correction
    tools: dict[str, int]
    table: FloatArray  # (corrections, tools)

    @classmethod
    def of(cls, state: State) -> Self:
        """Read a state."""
        queries, tools, cells = StoredQueries.of(state, state["counted"]), listed_names(state["tools"]), state["cells"]
        table = np.zeros((len(queries), len(tools)))
        table[np.repeat(np.arange(len(queries)), np.diff(cells["starts"])), cells["tools"]] = cells["numbers"]
        return cls(queries, table_texts(state["outcomes"]), tools, table)

    @staticmethod
    def learned(corrections: Groups, scores: FloatArray, rarity: Rarity, encoder: Encoder) -> State:
        """Return the state that puts right the scores of these groups, whose labels count what was said of them."""
        candidates = corrections.candidates
        known = rarity.with_words_of(candidates, encoder)
        rows = known.rows(query_grams(candidates, Context(encoder))).take(candidates.queries)
        vectors = encoder.encode(candidates.query_texts, "query").take(candidates.queries)
        cells = {
            "starts": corrections.offsets,
            "tools": candidates.names.astype(np.int32),
            "numbers": np.zeros(len(candidates.names)),
        }
        state = {
            "revision": encoder.revision,
            "counted": known.queries,
            **known.stored(rows, vectors),
            "outcomes": text_table(corrections.outcomes or ()),
            "tools": text_table(candidates.name_texts),
            "cells": cells,
        }
        influences = Corrections.of(state).influences(rows, vectors)
        cells["numbers"] = solve_corrections(
            (influences + influences.T) / 2, scores, corrections.offsets, candidates.names, corrections.labels
        )
        return state

    @classmethod
    def behind(cls, state: State, encoder: Encoder, candidates: Candidates, tool: str) -> dict[str, float]:
        """Return what each outcome adds to the tool for the first query of the candidates, the most first."""
        known = cls.of(state)
        asked = known.queries.rarity.rows(query_grams(candidates, Context(encoder)))
        influences = known.influences(asked, encoder.encode(candidates.query_texts, "query"))[0]
        added = influences * (known.table[:, known.tools[tool]] if tool in known.tools else 0.0)
        named = {known.outcomes[place]: float(added[place]) for place in np.flatnonzero(added).tolist()}
        return dict(sorted(named.items(), key=lambda item: -abs(item[1])))

    def influences(self, grams: Sparse, vectors: Vectors) -> FloatArray:
        """Return how much each correction counts for each query, (queries, corrections)."""
        return influence(self.queries.likeness(grams, vectors))


def corrected_tools(tools: ToolList, state: State, context: Context) -> IntArray:
    """Return the place of each tool among those of the corrections; -1 for one that none of them offered."""
    return positions(context.of_state(Corrections.of, state).tools, tools.names)


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
    known = context.of_state(Corrections.of, state)
    tools = context.prepared(np.ndarray)[context.tools]
    values = np.zeros(len(tools))
    if not known.outcomes:
        return values
    asked = known.queries.rarity.rows(context.shared(query_grams, candidates))
    influences = known.influences(asked, context.vectors[query_texts])
    bounds = candidates.offsets.tolist()
    for query, first, last in zip(candidates.queries.tolist(), bounds, bounds[1:], strict=False):
        near = np.flatnonzero(influences[query])
        if len(near):  # one query at a time, in one order: the same bits, whatever else is asked
            added = (influences[query, near, np.newaxis] * known.table[near]).sum(axis=0)
            own = tools[first:last]
            values[first:last] = np.where(own >= 0, added[own], 0.0)
    return values
