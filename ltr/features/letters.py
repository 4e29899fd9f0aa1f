"""Character n-grams that a query shares with the texts of tools: TF-IDF like that of the encoder hash."""

import numpy as np

from ltr.arrays import FloatArray, State, chunks
from ltr.encoders import HashEncoder, Sparse
from ltr.features.protocol import Context, Counted, feature
from ltr.features.tables import graph_tables
from ltr.features.texts import Clauses, distinct_tools, plain_texts, query_clauses, row_queries
from ltr.features.vectors import ToolVectors
from ltr.samples import Candidates, Groups, ToolList
from ltr.states import learns
from ltr.tables import Part, digests, table

ROWS = 1 << 12  # graphs whose grams are merged at once


def count_tool_grams(groups: Groups, context: Context) -> Part:
    """Return the hashed grams of each distinct tool text."""
    return _grams(context.shared(distinct_tools, groups.candidates).texts, context)


def _grams(texts: tuple[str, ...], context: Context) -> Part:
    """Return the hashed grams of each distinct text: the same text in two shards is one."""
    return {"texts": table(digests(texts), facts={"grams": context.lexicon.grams(texts)})}


@learns(HashEncoder.state_type)
def gram_state(part: Part) -> State:
    """Return in how many of the texts each hashed gram occurs: the state of the encoder hash, in fewer bytes."""
    grams = part["texts"].facts["grams"]
    state = HashEncoder.fitted_to([(part["texts"].keys, grams)]).state
    return {**state, "frequencies": state["frequencies"].astype(np.int32)}


TOOL_GRAMS = Counted(count_tool_grams, gram_state)


def clause_grams(candidates: Candidates, context: Context) -> Sparse:
    """Return the n-grams of the queries and their clauses; for `Context.shared`."""
    return HashEncoder.counts(context.shared(query_clauses, candidates).texts)


def tool_grams(tools: ToolList, state: State, context: Context) -> ToolVectors:
    """Return the n-grams of the text of each tool."""
    return ToolVectors.of(context.of_state(HashEncoder.restored, state).encode(plain_texts(tools), "document"))


@feature("tool.char", "coop", fit=TOOL_GRAMS, prepare=tool_grams, title="letters shared with its text")
def character_overlap(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Cosine of hashed character 3-5-gram TF-IDF of the query, and of the tool's name and description."""
    return _overlap(candidates, context.shared(query_clauses, candidates).queries_alone(), state, context)


@feature("tool.clause_char", "coop", fit=TOOL_GRAMS, prepare=tool_grams, title="letters a part of the query shares")
def clause_overlap(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """The largest tool.char of the query and of each of its clauses."""
    return _overlap(candidates, context.shared(query_clauses, candidates), state, context)


def _overlap(candidates: Candidates, clauses: Clauses, state: State, context: Context) -> FloatArray:
    """Return the largest cosine over the clauses."""
    vectors = context.of_state(HashEncoder.restored, state).weighted(context.shared(clause_grams, candidates))
    return context.prepared(ToolVectors).best(clauses, vectors, row_queries(candidates), context.tools)


def count_node_grams(groups: Groups, context: Context) -> Part:
    """Return the hashed grams of each distinct text of a node."""
    return _grams(context.shared(graph_tables, groups.candidates).texts, context)


@feature("graph.cover", "struct", fit=Counted(count_node_grams, gram_state), title="letters shared with all its nodes")
def cover(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Cosine of character TF-IDF of the query, and of the grams of all the graph's distinct nodes; no nodes: 0."""
    encoder, tables = HashEncoder.restored(state), context.shared(graph_tables, candidates)
    query_rows = encoder.encode(candidates.query_texts, "query")
    text_grams = HashEncoder.counts(tables.texts)
    graph_of_node, node_texts, _ = tables.nodes.counted(len(tables.texts))
    starts = np.searchsorted(graph_of_node, np.arange(len(candidates.distinct_graphs) + 1))
    values, queries = np.empty(len(candidates.graphs)), row_queries(candidates)
    for first, last in chunks(candidates.offsets, ROWS):
        part = slice(candidates.offsets[first], candidates.offsets[last])
        graphs, which = np.unique(candidates.graphs[part], return_inverse=True)
        nodes = [node_texts[starts[graph] : starts[graph + 1]] for graph in graphs.tolist()]
        owners = np.repeat(np.arange(len(nodes)), [len(texts) for texts in nodes])
        times = text_grams.sums(owners, np.concatenate(nodes), np.ones(len(owners)), len(nodes))
        values[part] = query_rows.dots(queries[part], encoder.weighted(times), which)
    return values
