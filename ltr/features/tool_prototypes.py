"""Prototypes: the vector of a tool's text, pulled towards the queries that the tool answered."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, code_sums
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList
from ltr.data.groups import Groups
from ltr.encoders.vectors import StoredVectors, Vectors, stacked_rows, vectors_from
from ltr.features.clauses import Clauses, query_clauses
from ltr.features.encoder_revision import encoder_revision, refuse_other_revision
from ltr.features.feature_context import Context
from ltr.features.graph_tables import graph_tables
from ltr.features.option_ranges import Positive
from ltr.features.plain_tool_text import distinct_tools, plain_texts
from ltr.features.registry import feature
from ltr.features.right_answers import Answers, right_answers
from ltr.features.row_queries import row_queries
from ltr.features.state_learners import Counted
from ltr.features.text_tables import names_table, place_of, spelled_table, table_texts
from ltr.features.tool_vector_products import ToolVectors
from ltr.files.learned_state_types import Floats, Integers, Json, Record, TextTable, learns
from ltr.files.mergeable_tables import Part

OWN_TEXT = 3.0  # how many answered queries the tool's own text counts for
MOST_NUMBERS = 1 << 26  # of all prototypes together: 128 MB in half precision


def count_answered(groups: Groups, context: Context) -> Part:
    """For each tool that was right how many queries it answered, and the sum of their vectors.

    A query is answered by its clause nearest to the tool's text; each trace and query counts once.
    """
    candidates, answers = groups.candidates, context.shared(right_answers, groups)
    if candidates.kind == "tool":
        names, text_vectors = candidates.name_texts, context.vectors[distinct_tools]
    else:
        names, text_vectors = context.shared(graph_tables, candidates).tools, context.vectors[graph_tables]
    clauses = context.shared(query_clauses, candidates).without_queries()
    clause_vectors = context.vectors[query_clauses]
    listed = clauses.of_query.take(answers.queries)
    nearest = listed.codes[listed.starts[:-1]]
    several = np.flatnonzero(listed.lengths > 1)
    texts = answers.texts[several]
    nearest[several] = clauses.best(
        answers.queries[several], lambda clause, answer: clause_vectors.dots(clause, text_vectors, texts[answer])
    )[1]
    return _answered_sums(answers, names, nearest, context)


def count_answered_whole(groups: Groups, context: Context) -> Part:
    """For each tool that was right how many queries it answered, and the sum of the vectors of whole queries."""
    candidates, answers = groups.candidates, context.shared(right_answers, groups)
    queries = context.shared(query_clauses, candidates).queries_alone().of_query.codes[answers.queries]
    return _answered_sums(answers, candidates.name_texts, queries, context)


def _answered_sums(answers: Answers, names: tuple[str, ...], texts: IntArray, context: Context) -> Part:
    """The sums of the vectors of the texts that each tool answered, one text an answer."""
    right, tools, support = np.unique(answers.tools, return_inverse=True, return_counts=True)
    sums = context.vectors[query_clauses].sums(tools, texts, np.ones(len(texts)), len(right))
    answering = names_table([names[tool] for tool in right.tolist()], support=support, vectors=sums)
    return {"tools": answering, "encoder": names_table([context.encoder.revision])}


@learns(
    Record(
        revision=Json(str),
        tools=TextTable("tools", support=Integers("tools")),
        lengths=Floats("tools"),
        directions=StoredVectors("tools"),
    )
)
def prototypes_state(part: Part) -> State:
    """The direction and the length of each tool's sum of vectors.

    They are stored in half precision, at most MOST_NUMBERS numbers: those of the tools that answered most.
    """
    tools = part["tools"]
    support, sums = tools.sums["support"], tools.sums["vectors"]
    least = 1 if support.max(initial=0) > 1 else 2  # where none answers twice, what others answered tells its label
    stored = np.flatnonzero(support >= least)
    vectors = sums.take(stored) if least > 1 else sums
    while vectors.numbers.size > MOST_NUMBERS:
        least += 1
        stored = np.flatnonzero(support >= least)
        vectors = sums.take(stored)
    return {
        "revision": encoder_revision(part),
        "tools": spelled_table(tools.facts["name"].take(stored), support=support[stored]),
        "lengths": np.sqrt(vectors.squares()).astype(np.float32),
        "directions": vectors.unit().arrays(),
    }


PROTOTYPES = Counted(count_answered, prototypes_state)
WHOLE_PROTOTYPES = Counted(count_answered_whole, prototypes_state)


def prototypes(
    state: State, names: tuple[str, ...], text_vectors: Vectors, tools: IntArray, context: Context, own: float
) -> Vectors:
    """The unit vector of each text of a tool: own * e(text) + the sum of what the tool answered.

    `tools` are the codes of the texts' tools into `names`.
    """
    refuse_other_revision(state, context)
    places, directions = context.of_state(stored_prototypes, state)
    stored = np.array([places.get(name, -1) for name in names], dtype=np.int64)[tools]
    answered = np.flatnonzero(stored >= 0)
    own_vectors = text_vectors.scaled(own)
    if not len(answered):
        return own_vectors.unit()
    owner = np.tile(np.arange(len(answered)), 2)
    rows = np.concatenate([np.arange(len(answered)), len(answered) + stored[answered]])
    weights = np.concatenate([np.full(len(answered), own), state["lengths"][stored[answered]].astype(float)])
    pulled = stacked_rows([text_vectors.take(answered), directions]).sums(owner, rows, weights, len(answered))
    order = np.arange(len(tools))
    order[answered] = len(tools) + np.arange(len(answered))
    return stacked_rows([own_vectors, pulled]).take(order).unit()


def stored_prototypes(state: State) -> tuple[dict[str, int], Vectors]:
    """The place of each tool in a state of prototypes_state, and the vectors there."""
    return place_of(table_texts(state["tools"])), vectors_from(state["directions"])


def best_cosines(
    candidates: Candidates, queries: IntArray, vectors: Vectors, rows: IntArray, context: Context
) -> FloatArray:
    """For each pair of a query and a row of the vectors the largest product over the query and its clauses."""
    clauses, clause_vectors = context.shared(query_clauses, candidates), context.vectors[query_clauses]
    return clauses.best(queries, lambda clause, pair: clause_vectors.dots(clause, vectors, rows[pair]))[0]


def clause_products(candidates: Candidates, context: Context) -> FloatArray:
    """Return the largest product of the query of each row, and of its clauses, with the vector prepared of its tool."""
    return _products(context.shared(query_clauses, candidates), candidates, context)


def query_products(candidates: Candidates, context: Context) -> FloatArray:
    """Return the product of the whole query of each row with the vector prepared of its tool."""
    return _products(context.shared(query_clauses, candidates).queries_alone(), candidates, context)


def _products(clauses: Clauses, candidates: Candidates, context: Context) -> FloatArray:
    vectors = context.vectors[query_clauses]
    return context.prepared(ToolVectors).best(clauses, vectors, row_queries(candidates), context.tools)


def tool_vectors(tools: ToolList, state: State, context: Context, *, own: Positive = OWN_TEXT) -> ToolVectors:
    """The prototype of each tool."""
    text_vectors = context.encoder.encode(plain_texts(tools), "document")
    codes = np.arange(len(tools.names))
    return ToolVectors.of(prototypes(state, tools.names, text_vectors, codes, context, own))


@feature(
    "tool.proto",
    "rel",
    fit=PROTOTYPES,
    prepare=tool_vectors,
    queries=query_clauses,
    documents=distinct_tools,
    title="query is like those it answered",
)
def tool_prototype(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """max over the query and its clauses c of cos(e(c), 3 e(text) + sum of e(clauses the tool answered)).

    3 is the option `own`; a tool that was never right has its text alone.
    """
    return clause_products(candidates, context)


@feature(
    "tool.query_proto",
    "rel",
    fit=WHOLE_PROTOTYPES,
    prepare=tool_vectors,
    queries=query_clauses,
    documents=distinct_tools,
    title="whole query is like those it answered",
)
def whole_query_prototype(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """cos(e(query), 3 e(text) + sum of e(queries the tool answered)): tool.proto without clauses.

    3 is the option `own`; a tool that was never right has its text alone.
    """
    return query_products(candidates, context)


def text_vectors(tools: ToolList, state: None, context: Context) -> ToolVectors:
    """The vector of the text of each tool."""
    return ToolVectors.of(context.encoder.encode(plain_texts(tools), "document"))


@feature(
    "tool.clause",
    "rel",
    prepare=text_vectors,
    queries=query_clauses,
    documents=distinct_tools,
    title="a part of the query is like its text",
)
def clause_relevance(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """max over the query and its clauses c of cos(e(c), e(text))."""
    return clause_products(candidates, context)


@feature(
    "graph.proto",
    "rel",
    fit=PROTOTYPES,
    queries=query_clauses,
    documents=graph_tables,
    title="query is like those its nodes answered",
)
def graph_prototype(candidates: Candidates, state: State, context: Context, *, own: Positive = OWN_TEXT) -> FloatArray:
    """Mean over the nodes of tool.proto, where a tool answered the queries whose right graph has it; no nodes: 0."""
    tables = context.shared(graph_tables, candidates)
    vectors = prototypes(state, tables.tools, context.vectors[graph_tables], tables.text_tools, context, own)
    nodes, width = tables.nodes.take(candidates.graphs), max(len(tables.texts), 1)
    pairs, pair = np.unique(
        np.repeat(row_queries(candidates), nodes.lengths) * width + nodes.codes, return_inverse=True
    )
    values = best_cosines(candidates, pairs // width, vectors, pairs % width, context)[pair]
    return code_sums(nodes.owners, values, len(candidates.graphs)) / np.maximum(nodes.lengths, 1)


@feature(
    "graph.clauses",
    "struct",
    fit=PROTOTYPES,
    queries=query_clauses,
    documents=graph_tables,
    title="each part of the query has its node",
)
def served_clauses(candidates: Candidates, state: State, context: Context, *, own: Positive = OWN_TEXT) -> FloatArray:
    """Mean over the query's clauses of the largest tool.proto cosine of a node, at least 0: is each clause served?

    No nodes: 0.
    """
    tables = context.shared(graph_tables, candidates)
    clauses = context.shared(query_clauses, candidates).without_queries()
    vectors = prototypes(state, tables.tools, context.vectors[graph_tables], tables.text_tools, context, own)
    row_clauses = clauses.of_query.take(row_queries(candidates))
    rows = row_clauses.owners
    nodes = tables.nodes.take(candidates.graphs[rows])  # of each clause those of its row
    width = max(len(tables.texts), 1)
    pairs, pair = np.unique(row_clauses.codes[nodes.owners] * width + nodes.codes, return_inverse=True)
    cosines = context.vectors[query_clauses].dots(pairs // width, vectors, pairs % width)[pair]
    largest = np.zeros(len(rows))
    np.maximum.at(largest, nodes.owners, cosines)
    return code_sums(rows, largest, len(candidates.graphs)) / np.maximum(row_clauses.lengths, 1)
