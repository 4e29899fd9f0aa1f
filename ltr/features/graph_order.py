"""Whether a graph does first what its query asks first."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums, offsets_of
from ltr.data.columns import Codes
from ltr.data.groups import Candidates
from ltr.features.graph_shape import means
from ltr.features.nodes_and_edges import graph_tables
from ltr.features.registry import Context, feature
from ltr.features.rows import row_queries
from ltr.features.words import TOKEN, Ragged

SHARPNESS = 12.0


@feature("graph.order", "coop", title="goes in the order of the query")
def edge_order(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """Mean over the edges a -> b of place(b) - place(a): does the graph go the way the query goes? No edges: 0.

    place = mean position of the query's words, from 0 to 1, each weighted by exp(12 cos(e(word), e(node))). The
    words are read one by one by the run's own encoder.
    """
    tables, graphs = context.shared(graph_tables, candidates), candidates.graphs
    links = tables.links.take(graphs)
    ends = tables.link_ends[Ragged(tables.links.starts, np.arange(len(tables.link_ends))).take(graphs).codes]
    width = max(len(tables.node_texts), 1)
    pairs, pair = np.unique(
        np.repeat(row_queries(candidates), links.lengths)[:, None] * width + ends, return_inverse=True
    )
    queries, nodes = np.divmod(pairs, width)
    place = _places(candidates.query_texts, queries, tables.node_texts, nodes, context)
    source, target = place[pair.reshape(-1, 2)].T
    return means(links, target - source)


def _places(
    query_texts: tuple[str, ...], queries: IntArray, node_texts: tuple[str, ...], nodes: IntArray, context: Context
) -> FloatArray:
    """The place of each node in the query beside it; 1/2 where the query has no words."""
    spelled = Codes()
    tokens = [[spelled[token] for token in TOKEN.findall(query.lower())] for query in query_texts]
    codes = np.array([code for of_query in tokens for code in of_query], dtype=np.int64)
    words = Ragged(offsets_of([len(of_query) for of_query in tokens]), codes).take(queries)
    width = max(len(node_texts), 1)
    pairs, pair = np.unique(words.codes * width + nodes[words.owners], return_inverse=True)
    word_vectors = context.encoder.encode(tuple(spelled), "query")
    node_vectors = context.encoder.encode(node_texts, "document")
    sharp = np.exp(SHARPNESS * word_vectors.dots(pairs // width, node_vectors, pairs % width))[pair]
    owners = words.owners
    position = (np.arange(len(owners)) - words.starts[owners] + 0.5) / np.maximum(words.lengths, 1)[owners]
    totals = code_sums(owners, sharp, len(queries))
    return np.where(totals > 0, code_sums(owners, sharp * position, len(queries)) / np.maximum(totals, 1e-300), 0.5)
