"""Ridge regression: of each tool, one against the rest, whether it answers such a query."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, distinct, groups_of
from ltr.encoders import Dense
from ltr.features.equations import LIKENESSES, ridge_left_out, ridge_state
from ltr.features.likeness import StoredQueries, query_grams
from ltr.features.protocol import Context, Counted, feature
from ltr.features.tables import listed_names, names_table, positions, refuse_other_revision, right_answers
from ltr.features.texts import query_texts, row_queries
from ltr.features.vectors import ToolVectors
from ltr.samples import Candidates, Groups, ToolList
from ltr.tables import Part, digests, pairs, table


def count_answers(groups: Groups, context: Context) -> Part:
    """Return the queries that were asked, in how many traces each was answered, and by which tool in how many."""
    candidates, answers = groups.candidates, context.shared(right_answers, groups)
    keys, names = digests(candidates.query_texts), digests(candidates.name_texts)
    grams = context.shared(query_grams, candidates)
    answered = np.unique(groups_of(groups.right_rows, groups.offsets))
    once, _ = distinct(candidates.traces[answered] * max(len(keys), 1) + candidates.queries[answered])
    times = np.bincount(candidates.queries[answered][once], minlength=len(keys))
    queries, tools = np.unique(candidates.queries), np.unique(answers.tools)
    what = {"grams": grams.take(queries), "vectors": context.vectors[query_texts].take(queries)}
    return {
        "queries": table(keys[queries], {"times": times[queries]}, facts=what),
        "tools": names_table([candidates.name_texts[tool] for tool in tools.tolist()]),
        "answers": table(
            pairs(names[answers.tools], keys[answers.queries]), {"times": np.ones(len(answers.queries), dtype=np.int64)}
        ),
        "encoder": names_table([context.encoder.revision]),
    }


@dataclass(frozen=True, slots=True)
class Answered:
    """A state of ridge_state, ready for queries: the training queries, and the coefficients of each tool."""

    tools: dict[str, int]  # the place of each among the coefficients
    queries: StoredQueries
    coefficients: ToolVectors

    @classmethod
    def of(cls, state: State) -> "Answered":
        """Return that of the state."""
        return cls(listed_names(state["tools"]), StoredQueries.of(state), ToolVectors.of(Dense(state["coefficients"])))


def answered_tools(tools: ToolList, state: State, context: Context) -> IntArray:
    """Return the place of each tool among the coefficients; -1 where it was never right."""
    return positions(context.of_state(Answered.of, state).tools, tools.names)


@feature(
    "tool.ridge",
    "hist",
    fit=Counted(count_answers, ridge_state, left_out=ridge_left_out),
    prepare=answered_tools,
    queries=query_texts,
    title="what sets its queries apart",
)
def ridge(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Least squares, penalty .25, of "the tool answered it" on the query's vector, its words and its pairs of words.

    The vector is the encoder's; words and pairs are TF-IDF, as written and as stems. Each of the three has a third of
    the squared length. One regression a tool, where the queries it did not answer are 0; never right: 0. The penalty
    is an option.
    """
    refuse_other_revision(state, context)
    answered, queries = context.of_state(Answered.of, state), row_queries(candidates)
    tools, values = context.prepared(np.ndarray)[context.tools], np.zeros(len(queries))
    rows = np.flatnonzero(tools >= 0)
    if not len(rows):
        return values
    asked, vectors = answered.queries.rarity.rows(context.shared(query_grams, candidates)), context.vectors[query_texts]
    order = rows[np.argsort(queries[rows], kind="stable")]
    at_once = max(LIKENESSES // len(answered.queries), 1)
    for first in range(0, len(asked), at_once):
        part = order[slice(*np.searchsorted(queries[order], [first, first + at_once]))]
        block = np.arange(first, min(first + at_once, len(asked)))
        likeness = Dense(answered.queries.likeness(asked.take(block), vectors.take(block)))
        values[part] = answered.coefficients.products(likeness, queries[part] - first, tools[part])
    return values
