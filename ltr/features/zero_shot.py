"""The score that needs no training as one column: what public catalogues taught, beside what a log teaches."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import msgspec
import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList
from ltr.data.groups import Groups
from ltr.encoders.hashed_ngrams import COUNTED
from ltr.features.character_ngrams import character_overlap, count_tool_grams, gram_state, tool_grams
from ltr.features.clauses import query_clauses
from ltr.features.feature_context import Context
from ltr.features.near_best import LEAST, beside_best, count_descriptions, description_words
from ltr.features.plain_tool_text import distinct_tools
from ltr.features.precomputed_tables import all_extended
from ltr.features.registry import Finish, feature
from ltr.features.state_learners import Counted
from ltr.features.text_tables import names_table
from ltr.features.tool_prototypes import clause_products, query_products, text_vectors
from ltr.features.tool_word_overlap import (
    bm25_of_rows,
    count_texts,
    frequencies_state,
    frequencies_type,
    name_match,
    tool_names,
)
from ltr.features.zero_shot_weights import weights_of
from ltr.files.learned_state_types import Json, Record, learns
from ltr.files.mergeable_tables import Part, texts_of

Weight = Annotated[float, msgspec.Meta(ge=-1e6, le=1e6)]
PARTS = ("tool.near_words", "tool.near_letters", "tool.name", "tool.near_text", "tool.near_clause")
WORDS, NAME = PARTS.index("tool.near_words"), PARTS.index("tool.name")
COUNTS: dict[str, Callable[[Groups, Context], Part]] = {
    "words": count_descriptions,
    "letters": count_tool_grams,
    "names": count_texts,
}


def count_tools(groups: Groups, context: Context) -> Part:
    """Count words, letters and names of the tools, each in tables of its own, and name the encoder."""
    counted = {what: count(groups, context) for what, count in COUNTS.items()}
    tables = {f"{what} {name}": table for what, part in counted.items() for name, table in part.items()}
    return tables | {"encoder": names_table([context.encoder.name])}


@learns(
    Record(
        weights=Json(dict[str, Weight]),
        words=frequencies_type("words"),
        letters=COUNTED,
        names=frequencies_type("name words"),
    )
)
def zero_shot_state(part: Part) -> State:
    """Return how rare words and letters are, and the weights that ship for the encoder."""
    (encoder,) = texts_of(part["encoder"].facts["name"])
    return {
        "weights": dict(weights_of(encoder)),
        "words": frequencies_state(_of(part, "words")),
        "letters": gram_state(_of(part, "letters")),
        "names": frequencies_state(_of(part, "names")),
    }


def _of(part: Part, what: str) -> Part:
    """Return the tables of one of COUNTS."""
    return {name.removeprefix(f"{what} "): table for name, table in part.items() if name.startswith(f"{what} ")}


@dataclass(frozen=True, slots=True)
class PreparedParts:
    """What each of PARTS reads of the tools."""

    tables: tuple[Any, ...]

    def extended(self, more: Self) -> Self:
        """Return these tools, then those that came later."""
        return replace(self, tables=all_extended(self.tables, more.tables))


def prepared_parts(tools: ToolList, state: State, context: Context) -> PreparedParts:
    """Prepare the tools for each part."""
    words = description_words(tools, state["words"], context)
    letters = tool_grams(tools, state["letters"], context)
    names = tool_names(tools, state["names"], context)
    has_vectors = any(state["weights"].get(part) for part in PARTS[3:])
    return PreparedParts((words, letters, names, text_vectors(tools, None, context) if has_vectors else None))


def weighted(raw: FloatArray, offsets: IntArray, state: State) -> FloatArray:
    """Return the weighted sum of the parts; the name's is a share already, the others are taken beside the best."""
    weights, total = state["weights"], np.zeros(len(raw))
    for place, part in enumerate(PARTS):
        if weight := weights.get(part, 0.0):
            values, least = raw[:, place], 0.0 if place == WORDS else LEAST
            total += weight * (values if place == NAME else beside_best(values, offsets, least))
    return total


@feature(
    "tool.zero_shot",
    "rel",
    fit=Counted(count_tools, zero_shot_state),
    prepare=prepared_parts,
    queries=query_clauses,
    documents=distinct_tools,
    title="what needs no training says",
    finish=Finish(weighted, len(PARTS)),
)
def zero_shot(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Sum of near_words, near_letters, name, near_text and near_clause, by weights from public catalogues."""
    words, letters, names, vectors = context.prepared(PreparedParts).tables
    of_words, of_letters, of_names, of_vectors = (
        replace(context, table=table) for table in (words, letters, names, vectors)
    )
    weights, raw = state["weights"], np.zeros((int(candidates.offsets[-1]), len(PARTS)))
    raw[:, 0] = bm25_of_rows(candidates, of_words)
    raw[:, 1] = character_overlap(candidates, state["letters"], of_letters)
    raw[:, 2] = name_match(candidates, state["names"], of_names)
    if weights.get(PARTS[3]):
        raw[:, 3] = query_products(candidates, of_vectors)
    if weights.get(PARTS[4]):
        raw[:, 4] = clause_products(candidates, of_vectors)
    return raw
