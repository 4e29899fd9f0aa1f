"""Ridge regression: of each tool, one against the rest, whether it answers such a query."""

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray, Ragged, State, code_sums, distinct, groups_of, most_frequent, offsets_of
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups, right_rows
from ltr.encoders.dense_vectors import LARGEST_HALF, Dense
from ltr.encoders.sparse_vectors import Sparse, sparse_rows
from ltr.encoders.vectors import StoredVectors, Vectors, vectors_from
from ltr.errors import UsageError
from ltr.features.encoder_revision import encoder_revision, refuse_other_revision
from ltr.features.feature_context import Context
from ltr.features.linear_algebra import PositiveDefinite, all_dots
from ltr.features.option_ranges import Positive
from ltr.features.precomputed_tables import ToolList
from ltr.features.registry import feature
from ltr.features.right_answers import right_answers
from ltr.features.row_queries import query_texts, row_queries
from ltr.features.state_learners import Counted
from ltr.features.text_tables import names_table, place_of, spelled_table, table_texts
from ltr.features.tokenization import TOKEN
from ltr.features.tool_vector_products import Block, ToolVectors
from ltr.files.freed_memory import return_freed_memory
from ltr.files.learned_state_types import Floats, Integers, Json, Offsets, Record, TextTable, learns
from ltr.files.mergeable_tables import Part, release, table
from ltr.files.table_keys import digests, halves, pairs

PENALTY = 0.25  # of the squared weights, where the likeness of a query to itself is 1
MOST_QUERIES = 1 << 13  # whose equations are solved together
MOST_NUMBERS = 1 << 25  # of all tools together: 64 MB in half precision, four times as much when they are used
LIKENESSES = 1 << 18  # of queries that are computed at once
TRIMMED_AFTER = 32  # blocks of likenesses: then freed memory goes back
TOO_SMALL = (
    "the feature tool.ridge: its penalty is too small: two queries are so alike that its equations have no one "
    f"solution, or one too large to store; {PENALTY} is the default"
)
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
    """The queries that were answered, in how many traces each was, and by which tool in how many."""
    candidates, answers = groups.candidates, context.shared(right_answers, groups)
    keys, names = digests(candidates.query_texts), digests(candidates.name_texts)
    grams = context.shared(query_grams, candidates)
    asked = np.unique(groups_of(right_rows(groups), groups.offsets))
    once, _ = distinct(candidates.traces[asked] * max(len(keys), 1) + candidates.queries[asked])
    queries, tools = candidates.queries[asked][once], np.unique(answers.tools)
    what = {"grams": grams.take(queries), "vectors": context.vectors[query_texts].take(queries)}
    return {
        "queries": table(keys[queries], {"times": np.ones(len(queries), dtype=np.int64)}, facts=what),
        "tools": names_table([candidates.name_texts[tool] for tool in tools.tolist()]),
        "answers": table(
            pairs(names[answers.tools], keys[answers.queries]), {"times": np.ones(len(answers.queries), dtype=np.int64)}
        ),
        "encoder": names_table([context.encoder.revision]),
    }


@learns(
    Record(
        revision=Json(str),
        grams=Record(keys=Integers("grams", rising=True), rarity=Floats("grams")),
        queries=Record(
            starts=Offsets("queries", "entries"), grams=Integers("entries", below="grams"), numbers=Floats("entries")
        ),
        vectors=StoredVectors("queries"),
        tools=TextTable("tools"),
        coefficients=Floats("tools", "queries", signed=True),
    )
)
def ridge_state(part: Part, *, penalty: Positive = PENALTY) -> State:
    """Of each tool the coefficients a of the answered queries: (K + penalty / times) a = share of its answers.

    K = likeness of two queries, times = traces in which a query was answered. Of more than MOST_QUERIES those stay that
    their tools answered first, in the order of digests; of too many coefficients those of the tools that answered most.
    Where no tool answered two queries none is stored: to have answered would tell that it is not right again.
    """
    chosen, stored, targets = _sampled(part)
    queries, tools = part["queries"], part["tools"]
    grams, vectors = queries.facts["grams"].take(chosen), queries.facts["vectors"].take(chosen)
    times, names = queries.sums["times"][chosen], spelled_table(tools.facts["name"].take(stored))
    release(part)
    keys, codes = np.unique(grams.codes, return_inverse=True)
    _, in_queries, _ = Ragged(grams.starts, codes).counted(len(keys))
    rarity = 1 + np.log((1 + len(chosen)) / (1 + np.bincount(in_queries, minlength=len(keys))))
    rows = _unit_rows(grams, keys, rarity, len(chosen))
    numbers = rows.numbers.astype(np.float32)
    return {
        "revision": encoder_revision(part),
        "grams": {"keys": keys, "rarity": rarity},
        "queries": {"starts": rows.starts, "grams": rows.columns.astype(np.int32), "numbers": numbers},
        "vectors": vectors.arrays(),
        "tools": names,
        "coefficients": _coefficients(_equations(rows, vectors, penalty / times), targets, len(stored)),
    }


@dataclass(frozen=True, slots=True)
class Targets:
    """What the regressions learn: in which share of a query's traces a tool answered it, where that is not 0."""

    queries: IntArray  # (answers,): places
    tools: IntArray  # (answers,): places
    shares: FloatArray  # (answers,)


def _sampled(part: Part) -> tuple[IntArray, IntArray, Targets]:
    """Which queries and which tools stay, and the targets between them."""
    answers, queries, tools = part["answers"], part["queries"], part["tools"]
    tool_keys, query_keys = halves(answers.keys)
    tool, query = np.searchsorted(tools.keys, tool_keys), np.searchsorted(queries.keys, query_keys)
    support = np.bincount(tool, minlength=len(tools))
    place_in_tool = np.full(len(queries), len(answers))
    np.minimum.at(place_in_tool, query, np.arange(len(tool)) - (np.cumsum(support) - support)[tool])
    chosen = np.sort(np.argsort(place_in_tool, kind="stable")[:MOST_QUERIES])
    recurs = support.max(initial=0) > 1  # else a tool that answered elsewhere never answers again
    stored = most_frequent(support, MOST_NUMBERS // max(len(chosen), 1) if recurs else 0)
    row, column = np.full(len(queries), -1), np.full(len(tools), -1)
    row[chosen], column[stored] = np.arange(len(chosen)), np.arange(len(stored))
    is_used = (row[query] >= 0) & (column[tool] >= 0)
    query, tool, times = query[is_used], tool[is_used], answers.sums["times"][is_used]
    return chosen, stored, Targets(row[query], column[tool], times / queries.sums["times"][query])


def _equations(rows: Sparse, vectors: Vectors, penalties: FloatArray) -> PositiveDefinite:
    """K, and on its diagonal the penalties: half of it is computed and held."""
    equations, at_once = PositiveDefinite(len(rows)), max(LIKENESSES // max(len(rows), 1), 1)
    for first in range(0, len(rows), at_once):
        block, earlier = np.arange(len(rows))[first : first + at_once], np.arange(len(rows))[: first + at_once]
        by_grams, by_vectors = (all_dots(of.take(block), of.take(earlier)) for of in (rows, vectors))
        likeness = (2 * by_grams + by_vectors) / 3
        likeness[block - first, block] += penalties[block]
        equations.set_rows(first, likeness)
        if (first // at_once + 1) % TRIMMED_AFTER == 0:
            return_freed_memory()  # each block is larger than those before, and finds no room where they were
    if len(rows) > at_once * TRIMMED_AFTER:
        return_freed_memory()
    try:
        equations.factorise()
    except np.linalg.LinAlgError as error:
        raise UsageError(TOO_SMALL) from error
    return equations


def _coefficients(equations: PositiveDefinite, targets: Targets, tools: int) -> npt.NDArray[np.float16]:
    """The coefficients of as many tools, (tools, queries), that give their targets; solved a few tools at a time."""
    coefficients = np.zeros((tools, len(equations)), dtype=np.float16)
    at_once = max(4 * LIKENESSES // max(len(equations), 1), 1)
    for first in range(0, tools, at_once):
        block = coefficients[first : first + at_once]
        is_here = (targets.tools >= first) & (targets.tools < first + len(block))
        shares = np.zeros(block.shape[::-1], order="F")
        shares[targets.queries[is_here], targets.tools[is_here] - first] = targets.shares[is_here]
        solution = equations.solution(shares)
        if not (np.abs(solution) <= LARGEST_HALF).all():  # NaN is not
            raise UsageError(TOO_SMALL)
        block[:] = solution.T
    return coefficients


def _unit_rows(grams: Ragged, keys: IntArray, rarity: FloatArray, count: int) -> Sparse:
    """Of each query its grams among the keys, as (1 + ln tf) rarity; words and stems each with half the squared length.

    `count` is the number of training queries. A gram that none of them has counts in the length alone.
    """
    own, codes = np.unique(grams.codes, return_inverse=True)
    owners, codes, times = Ragged(grams.starts, codes).counted(len(own))
    place = np.minimum(np.searchsorted(keys, own), max(len(keys) - 1, 0))
    is_known = keys[place] == own if len(keys) else np.zeros(len(own), dtype=bool)
    weights = np.full(len(own), 1 + np.log(1 + count))
    weights[is_known] = rarity[place[is_known]]
    numbers = (1 + np.log(times)) * weights[codes]
    halves_of_query = owners * 2 + own[codes] % 2
    lengths = np.sqrt(2 * code_sums(halves_of_query, numbers**2, 2 * len(grams.lengths)))
    numbers /= lengths[halves_of_query]
    stays = is_known[codes]
    return sparse_rows(owners[stays], place[codes[stays]], numbers[stays], (len(grams.lengths), len(keys)))


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
    fit=Counted(count_answers, ridge_state),
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
    asked = _unit_rows(context.shared(query_grams, candidates), answered.keys, answered.rarity, count)
    vectors = context.vectors[query_texts]
    order = rows[np.argsort(queries[rows], kind="stable")]
    at_once = max(LIKENESSES // count, 1)
    for first in range(0, len(asked), at_once):
        part = order[slice(*np.searchsorted(queries[order], [first, first + at_once]))]
        block = np.arange(first, min(first + at_once, len(asked)))
        likeness = 2 * answered.grams.products(asked.take(block)) + answered.vectors.products(vectors.take(block))
        values[part] = answered.coefficients.products(Dense(likeness / 3), queries[part] - first, tools[part])
    return values
