"""Columns that mean the same in any catalogue: how near a tool's own texts come to the best of its list.

A score of BM25 or a cosine is large in one catalogue and small in another. Divided by the largest of the list
(`beside_best`) it says the same among 2 candidates and among 2,000. A cosine below LEAST is chance, and stays small
where nothing of a short list is like the query. None of these columns reads a label.
"""

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, lengths_of
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList, tools_of_rows
from ltr.data.groups import Groups
from ltr.features.character_ngrams import TOOL_GRAMS, character_overlap, tool_grams
from ltr.features.clauses import query_clauses
from ltr.features.feature_context import Context
from ltr.features.plain_tool_text import distinct_tools, plain_texts
from ltr.features.registry import Finish, feature
from ltr.features.state_learners import Counted
from ltr.features.tool_prototypes import clause_products, query_products, text_vectors
from ltr.features.tool_word_overlap import (
    Bm25Table,
    bm25_of_rows,
    bm25_table,
    count_words,
    frequencies_state,
)
from ltr.files.mergeable_tables import Part

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


def description_words(tools: ToolList, state: State, context: Context) -> Bm25Table:
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
