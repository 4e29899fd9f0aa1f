"""Ridge regression: of each tool, one against the rest, whether it answers such a query."""

import hashlib
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged, State, distinct, groups_of, offsets_of
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList
from ltr.data.groups import Groups, right_rows
from ltr.encoders.dense_vectors import Dense
from ltr.encoders.sparse_vectors import Sparse
from ltr.encoders.vectors import vectors_from
from ltr.features.encoder_revision import refuse_other_revision
from ltr.features.feature_context import Context
from ltr.features.registry import feature
from ltr.features.ridge_equations import LIKENESSES, ridge_left_out, ridge_state, unit_rows
from ltr.features.right_answers import right_answers
from ltr.features.row_queries import query_texts, row_queries
from ltr.features.state_learners import Counted
from ltr.features.text_tables import names_table, place_of, table_texts
from ltr.features.tokenization import TOKEN
from ltr.features.tool_vector_products import Block, ToolVectors
from ltr.files.mergeable_tables import Part, table
from ltr.files.table_keys import digests, pairs

MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


def query_grams(candidates: Candidates, context: Context) -> Ragged:
    """The keys of the words and pairs of neighbours of each query, as they stand (even) and as stems (odd)."""
    texts, lexicon = candidates.query_texts, context.lexicon
    as_written = [TOKEN.findall(text.lower()) for text in texts]
    words = list(dict.fromkeys(word for listed in as_written for word in listed))
    code = {word: place for place, word in enumerate(words)}
    codes = np.array([code[word] for listed in as_written for word in listed], dtype=np.int64)
    written = _grams(Ragged(offsets_of([len(listed) for listed in as_written]), codes), words)
    stemmed = lexicon.words(texts)
    stems, places = np.unique(stemmed.codes, return_inverse=True)
    shortened = _grams(Ragged(stemmed.starts, places), lexicon.spellings(stems))
    owners = np.concatenate([written.owners, shortened.owners])
    order = np.argsort(owners, kind="stable")
    keys = np.concatenate([written.codes * 2, shortened.codes * 2 + 1])[order]
    return Ragged(offsets_of(np.bincount(owners, minlength=len(texts))), keys)


def _grams(texts: Ragged, words: list[str]) -> Ragged:
    """The keys of the words of each text, and of its pairs of neighbours: digests, so that they mean the same anywhere.

    >>> _grams(Ragged(np.array([0, 2, 3]), np.array([0, 1, 0])), ["a", "b"]).lengths
    array([3, 1])
    """
    joined = b"".join(hashlib.blake2b(word.encode(), digest_size=8).digest() for word in words)
    keys = np.frombuffer(joined, dtype="<u8").astype(np.uint64)[texts.codes]
    is_pair = texts.owners[1:] == texts.owners[:-1]
    mixed = (keys[:-1] * MULTIPLIER) ^ (keys[1:] >> np.uint64(1))  # wraps: a hash
    owners = np.concatenate([texts.owners, texts.owners[1:][is_pair]])
    order = np.argsort(owners, kind="stable")
    both = np.concatenate([keys, (mixed * MULTIPLIER)[is_pair]]) >> np.uint64(2)  # room for the sign and another bit
    return Ragged(offsets_of(np.bincount(owners, minlength=len(texts.lengths))), both.astype(np.int64)[order])


def count_answers(groups: Groups, context: Context) -> Part:
    """The queries that were asked, in how many traces each was answered, and by which tool in how many."""
    candidates, answers = groups.candidates, context.shared(right_answers, groups)
    keys, names = digests(candidates.query_texts), digests(candidates.name_texts)
    grams = context.shared(query_grams, candidates)
    answered = np.unique(groups_of(right_rows(groups), groups.offsets))
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
    keys: IntArray
    rarity: FloatArray
    grams: Block
    vectors: Block
    coefficients: ToolVectors

    @classmethod
    def of(cls, state: State) -> "Answered":
        """That of the state."""
        queries, keys = state["queries"], state["grams"]["keys"]
        columns, numbers = queries["grams"].astype(np.int64), queries["numbers"].astype(np.float64)
        vectors = vectors_from(state["vectors"])
        return cls(
            place_of(table_texts(state["tools"])),
            keys,
            state["grams"]["rarity"],
            Block(Sparse(queries["starts"], columns, numbers, max(len(keys), 1))),
            Block(vectors.in_double() if isinstance(vectors, Dense) else vectors),
            ToolVectors.of(Dense(state["coefficients"].astype(np.float64))),
        )


def answered_tools(tools: ToolList, state: State, context: Context) -> IntArray:
    """The place of each tool among the coefficients; -1 where it was never right."""
    places = context.of_state(Answered.of, state).tools
    return np.array([places.get(name, -1) for name in tools.names], dtype=np.int64)


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
    count = len(answered.grams)
    asked = unit_rows(context.shared(query_grams, candidates), answered.keys, answered.rarity, count)
    vectors = context.vectors[query_texts]
    order = rows[np.argsort(queries[rows], kind="stable")]
    at_once = max(LIKENESSES // count, 1)
    for first in range(0, len(asked), at_once):
        part = order[slice(*np.searchsorted(queries[order], [first, first + at_once]))]
        block = np.arange(first, min(first + at_once, len(asked)))
        likeness = 2 * answered.grams.products(asked.take(block)) + answered.vectors.products(vectors.take(block))
        values[part] = answered.coefficients.products(Dense(likeness / 3), queries[part] - first, tools[part])
    return values
