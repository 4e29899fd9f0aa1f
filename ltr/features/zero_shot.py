"""Columns that mean the same in any catalogue: how near a tool's own texts come to the best of its list.

A score of BM25 or a cosine is large in one catalogue and small in another. Divided by the largest of the list
(`beside_best`) it says the same among 2 candidates and among 2,000. A cosine below LEAST is chance, and stays small
where nothing of a short list is like the query. None of these columns reads a label.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import msgspec
import numpy as np

from ltr.arrays import FloatArray, IntArray, State, lengths_of, texts_of
from ltr.encoders import HashEncoder
from ltr.features.letters import TOOL_GRAMS, character_overlap, count_tool_grams, gram_state, tool_grams
from ltr.features.presets import ZeroShotWeights
from ltr.features.protocol import Context, Counted, Finish, feature
from ltr.features.tables import names_table
from ltr.features.texts import distinct_tools, plain_texts, query_clauses
from ltr.features.vectors import clause_products, query_products, text_vectors
from ltr.features.words import (
    WordTable,
    bm25_of_rows,
    bm25_table,
    count_texts,
    count_words,
    frequencies_state,
    frequencies_type,
    name_match,
    tool_names,
)
from ltr.samples import Candidates, Groups, ToolList, tools_of_rows
from ltr.states import Json, Record, learns
from ltr.tables import Part

LEAST = 0.1  # of a best cosine


def beside_best(values: FloatArray, offsets: IntArray, least: float = 0.0) -> FloatArray:
    """Return the values divided by the largest of their list, or by the least that counts; 0 where neither is above 0.

    >>> beside_best(np.array([1.0, 4.0, -1.0, 0.0]), np.array([0, 2, 4]))
    array([0.25, 1.  , 0.  , 0.  ])
    >>> beside_best(np.array([0.05, 0.02]), np.array([0, 2]), LEAST)
    array([0.5, 0.2])
    """
    best = np.maximum(np.maximum.reduceat(values, offsets[:-1]), least).repeat(lengths_of(offsets))
    return np.divide(values, best, out=np.zeros(len(values)), where=best > 0)


def column_beside_best(raw: FloatArray, offsets: IntArray, state: State | None) -> FloatArray:
    """Return the one column of numbers, each divided by the largest of its list."""
    return beside_best(raw[:, 0], offsets)


def cosine_beside_best(raw: FloatArray, offsets: IntArray, state: State | None) -> FloatArray:
    """Return the same of a column of cosines."""
    return beside_best(raw[:, 0], offsets, LEAST)


def described(tools: ToolList) -> tuple[str, ...]:
    """Return all that is known of each tool: its name, description and inputs."""
    texts = zip(plain_texts(tools), tools.texts, strict=True)
    return tuple(f"{plain} {text.inputs}" if text.inputs else plain for plain, text in texts)


def count_descriptions(groups: Groups, context: Context) -> Part:
    """Count the words of each distinct tool, its inputs included."""
    return count_words(described(context.shared(tools_of_rows, groups.candidates)[0]), context)


def description_words(tools: ToolList, state: State, context: Context) -> WordTable:
    """Prepare what each word of name, description and inputs adds."""
    return bm25_table(described(tools), state, context)


@feature(
    "tool.near_words",
    "rel",
    fit=Counted(count_descriptions, frequencies_state),
    prepare=description_words,
    title="words shared, beside the best",
    finish=Finish(column_beside_best),
)
def near_words(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """BM25 of the query's words against name, description and inputs, divided by the largest of the list."""
    return bm25_of_rows(candidates, context)


@feature(
    "tool.near_letters",
    "rel",
    fit=TOOL_GRAMS,
    prepare=tool_grams,
    title="letters shared, beside the best",
    finish=Finish(cosine_beside_best),
)
def near_letters(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """tool.char divided by the largest of the list, or by .1."""
    return character_overlap(candidates, state, context)


@feature(
    "tool.near_text",
    "rel",
    prepare=text_vectors,
    queries=query_clauses,
    documents=distinct_tools,
    title="like its text, beside the best",
    finish=Finish(cosine_beside_best),
)
def near_text(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """cos(e(query), e(text)) divided by the largest of the list, or by .1."""
    return query_products(candidates, context)


@feature(
    "tool.near_clause",
    "rel",
    prepare=text_vectors,
    queries=query_clauses,
    documents=distinct_tools,
    title="part is like its text, beside the best",
    finish=Finish(cosine_beside_best),
)
def near_clause(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """tool.clause divided by the largest of the list, or by .1."""
    return clause_products(candidates, context)


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
        letters=HashEncoder.state_type,
        names=frequencies_type("name words"),
    )
)
def zero_shot_state(part: Part) -> State:
    """Return how rare words and letters are, and the weights that ship for the encoder."""
    (encoder,) = texts_of(part["encoder"].facts["name"])
    return {
        "weights": dict(ZeroShotWeights.of(encoder)),
        "words": frequencies_state(_of(part, "words")),
        "letters": gram_state(_of(part, "letters")),
        "names": frequencies_state(_of(part, "names")),
    }


def _of(part: Part, what: str) -> Part:
    """Return the tables of one of COUNTS."""
    return {name.removeprefix(f"{what} "): table for name, table in part.items() if name.startswith(f"{what} ")}


def prepared_parts(tools: ToolList, state: State, context: Context) -> tuple[Any, ...]:
    """Prepare the tools for each of PARTS; the last two share their vectors."""
    words = description_words(tools, state["words"], context)
    letters = tool_grams(tools, state["letters"], context)
    names = tool_names(tools, state["names"], context)
    has_vectors = any(state["weights"].get(part) for part in PARTS[3:])
    return words, letters, names, text_vectors(tools, None, context) if has_vectors else None


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
    of_words, of_letters, of_names, of_vectors = (replace(context, table=table) for table in context.prepared(tuple))
    weights, raw = state["weights"], np.zeros((int(candidates.offsets[-1]), len(PARTS)))
    raw[:, 0] = bm25_of_rows(candidates, of_words)
    raw[:, 1] = character_overlap(candidates, state["letters"], of_letters)
    raw[:, 2] = name_match(candidates, state["names"], of_names)
    if weights.get(PARTS[3]):
        raw[:, 3] = query_products(candidates, of_vectors)
    if weights.get(PARTS[4]):
        raw[:, 4] = clause_products(candidates, of_vectors)
    return raw
