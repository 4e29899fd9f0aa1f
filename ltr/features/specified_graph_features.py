"""The specification's features of agent graphs: n nodes, m edges, "others" the other candidates of the group."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, group_sums
from ltr.data.candidates import Candidates
from ltr.data.graphs import graph_text
from ltr.features.feature_context import Context
from ltr.features.registry import feature
from ltr.features.row_queries import RowTexts, query_texts, row_queries

SHORT_QUERY = 5  # words


def graph_texts(candidates: Candidates, context: object) -> RowTexts:
    """The texts of the rows' graphs: texts for an encoder."""
    return RowTexts(tuple(graph_text(graph) for graph in candidates.distinct_graphs), candidates.graphs)


@feature("graph.rel", "rel", queries=query_texts, documents=graph_texts, title="query and graph text are alike")
def graph_relevance(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """(cos(e(query), e(graph text)) + 1) / 2; 0.5 where the query says nothing, 0 for an empty graph."""
    queries, graphs = context.shared(query_texts, candidates), context.shared(graph_texts, candidates)
    cosines = context.vectors[query_texts].dots(queries.codes, context.vectors[graph_texts], graphs.codes)
    is_empty = np.array([not text for text in graphs.texts])
    return np.where(is_empty[graphs.codes], 0.0, (cosines + 1) / 2)


@feature("graph.coop", "coop", title="size suits the query's length")
def size_fit(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """0.2 + 0.8 s; s = 1 / (1 + ln(1 + n)) for a query of under 5 words, else min(1, ln(1 + n) / 5)."""
    is_short_query = np.array([len(text.split()) < SHORT_QUERY for text in candidates.query_texts])
    is_short = is_short_query[row_queries(candidates)]
    logs = np.log1p(node_counts(candidates))
    return 0.2 + 0.8 * np.where(is_short, 1 / (1 + logs), np.minimum(1, logs / 5))


@feature("graph.struct", "struct", title="dense, and unlike the others in size")
def graph_balance(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """0.6 min(1, m / n) + 0.4 min(1, |n - mean of others| / max(mean of others, 1) / 2); no others: 0.4 * 0.5."""
    nodes, edges = node_counts(candidates), edge_counts(candidates)
    sizes = np.repeat(np.diff(candidates.offsets), np.diff(candidates.offsets))
    totals = np.repeat(group_sums(nodes.astype(float), candidates.offsets), np.diff(candidates.offsets))
    others = (totals - nodes) / np.maximum(sizes - 1, 1)
    unusual = np.minimum(1, np.abs(nodes - others) / np.maximum(others, 1) / 2)
    density = np.minimum(1, edges / np.maximum(nodes, 1)) * (nodes > 0)
    return 0.6 * density + 0.4 * np.where(sizes > 1, unusual, 0.5)


def node_counts(candidates: Candidates) -> IntArray:
    """n of each row's graph."""
    return np.array([len(graph.texts) for graph in candidates.distinct_graphs], dtype=np.int64)[candidates.graphs]


def edge_counts(candidates: Candidates) -> IntArray:
    """m of each row's graph."""
    return np.array([len(graph.edges) for graph in candidates.distinct_graphs], dtype=np.int64)[candidates.graphs]
