"""Character n-grams that a query shares with the texts of tools: TF-IDF like that of the encoder hash."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, State, chunks
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList
from ltr.data.groups import Groups
from ltr.encoders.hashed_ngrams import BUCKETS, COUNTED, Counts, HashEncoder, counts
from ltr.encoders.sparse_vectors import Sparse, sparse_rows
from ltr.features.clauses import Clauses, query_clauses
from ltr.features.feature_context import Context
from ltr.features.graph_tables import graph_tables
from ltr.features.plain_tool_text import distinct_tools, plain_texts
from ltr.features.registry import feature
from ltr.features.row_queries import row_queries
from ltr.features.state_learners import Counted
from ltr.features.tool_vector_products import ToolVectors
from ltr.files.learned_state_types import learns
from ltr.files.mergeable_tables import Part, table
from ltr.files.table_keys import digests

ROWS = 1 << 12  # graphs whose grams are merged at once


@dataclass(frozen=True, slots=True)
class GramTable:
    """The encoder of a state, and what it makes of each tool."""

    encoder: HashEncoder
    vectors: ToolVectors

    def extended(self, more: "GramTable") -> "GramTable":
        """These tools, then those that came later."""
        return GramTable(self.encoder, self.vectors.extended(more.vectors))


def count_tool_grams(groups: Groups, context: Context) -> Part:
    """The hashed grams of each distinct tool text."""
    return _grams(context.shared(distinct_tools, groups.candidates).texts, context)


def _grams(texts: tuple[str, ...], context: Context) -> Part:
    """The hashed grams of each distinct text: the same text in two shards is one."""
    return {"texts": table(digests(texts), facts={"grams": context.lexicon.grams(texts)})}


@learns(COUNTED)
def gram_state(part: Part) -> State:
    """In how many of the texts each hashed gram occurs: the state of the encoder hash, in fewer bytes."""
    encoder = HashEncoder.counted(len(part["texts"]), part["texts"].facts["grams"])
    return {"documents": encoder.documents, "frequencies": encoder.frequencies.astype(np.int32)}


TOOL_GRAMS = Counted(count_tool_grams, gram_state)


def clause_grams(candidates: Candidates, context: Context) -> Counts:
    """The n-grams of the queries and their clauses; for `Context.shared`."""
    return counts(context.shared(query_clauses, candidates).texts)


def tool_grams(tools: ToolList, state: State, context: Context) -> GramTable:
    """The n-grams of the text of each tool."""
    encoder = context.of_state(HashEncoder.restored, state)
    return GramTable(encoder, ToolVectors.of(encoder.encode(plain_texts(tools), "document")))


@feature("tool.char", "coop", fit=TOOL_GRAMS, prepare=tool_grams, title="letters shared with its text")
def character_overlap(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Cosine of hashed character 3-5-gram TF-IDF of the query, and of the tool's name and description."""
    return _overlap(candidates, context.shared(query_clauses, candidates).queries_alone(), context)


@feature("tool.clause_char", "coop", fit=TOOL_GRAMS, prepare=tool_grams, title="letters a part of the query shares")
def clause_overlap(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """The largest tool.char of the query and of each of its clauses."""
    return _overlap(candidates, context.shared(query_clauses, candidates), context)


def _overlap(candidates: Candidates, clauses: Clauses, context: Context) -> FloatArray:
    """The largest cosine over the clauses."""
    grams = context.prepared(GramTable)
    vectors = grams.encoder.rows(context.shared(clause_grams, candidates), len(clauses.texts))
    return grams.vectors.best(clauses, vectors, row_queries(candidates), context.tools)


def count_node_grams(groups: Groups, context: Context) -> Part:
    """The hashed grams of each distinct text of a node."""
    return _grams(context.shared(graph_tables, groups.candidates).texts, context)


@feature("graph.cover", "struct", fit=Counted(count_node_grams, gram_state), title="letters shared with all its nodes")
def cover(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Cosine of character TF-IDF of the query, and of the grams of all the graph's distinct nodes; no nodes: 0."""
    encoder, tables = HashEncoder.restored(state), context.shared(graph_tables, candidates)
    query_rows = encoder.encode(candidates.query_texts, "query")
    grams = counts(tables.texts)
    text_grams = sparse_rows(grams.texts, grams.buckets, grams.times.astype(float), (len(tables.texts), BUCKETS))
    graph_of_node, node_texts, _ = tables.nodes.counted(len(tables.texts))
    starts = np.searchsorted(graph_of_node, np.arange(len(candidates.distinct_graphs) + 1))
    values, queries = np.empty(len(candidates.graphs)), row_queries(candidates)
    for first, last in chunks(candidates.offsets, ROWS):
        part = slice(candidates.offsets[first], candidates.offsets[last])
        graphs, which = np.unique(candidates.graphs[part], return_inverse=True)
        nodes = [node_texts[starts[graph] : starts[graph + 1]] for graph in graphs.tolist()]
        owners = np.repeat(np.arange(len(nodes)), [len(texts) for texts in nodes])
        times = text_grams.sums(owners, np.concatenate(nodes), np.ones(len(owners)), len(nodes))
        numbers = (1 + np.log(times.numbers)) * encoder.weights[times.columns]
        graph_rows = Sparse(times.starts, times.columns, numbers, BUCKETS).unit()
        values[part] = query_rows.dots(queries[part], graph_rows, which)
    return values
