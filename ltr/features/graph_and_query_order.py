"""Whether a graph does first what its query asks first."""

from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, Ragged, code_sums, means, offsets_of
from ltr.data.candidates import Candidates
from ltr.data.integer_codes import Codes
from ltr.features.feature_context import Context
from ltr.features.graph_tables import graph_tables
from ltr.features.registry import feature
from ltr.features.row_queries import row_queries
from ltr.features.tokenization import TOKEN

SHARPNESS = 12.0


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of each query in their order, each distinct word once."""

    texts: tuple[str, ...]
    of_query: Ragged  # of each query codes into the texts


def words_in_order(candidates: Candidates, context: Context) -> QueryWords:
    """The words of the candidates' queries: texts for an encoder."""
    spelled = Codes()
    tokens = [[spelled[token] for token in TOKEN.findall(query.lower())] for query in candidates.query_texts]
    codes = np.array([code for of_query in tokens for code in of_query], dtype=np.int64)
    return QueryWords(tuple(spelled), Ragged(offsets_of([len(of_query) for of_query in tokens]), codes))


@feature("graph.order", "coop", queries=words_in_order, documents=graph_tables, title="goes in the order of the query")
def edge_order(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """Mean over the edges a -> b of place(b) - place(a): does the graph go the way the query goes? No edges: 0.

    place = mean position of the query's words, from 0 to 1, each weighted by exp(12 cos(e(word), e(node))). The
    words are read one by one by the run's own encoder.
    """
    tables, graphs = context.shared(graph_tables, candidates), candidates.graphs
    links = tables.links.take(graphs)
    ends = tables.link_ends[Ragged(tables.links.starts, np.arange(len(tables.link_ends))).take(graphs).codes]
    width = max(len(tables.texts), 1)
    pairs, pair = np.unique(
        np.repeat(row_queries(candidates), links.lengths)[:, None] * width + ends, return_inverse=True
    )
    place = _places(*np.divmod(pairs, width), candidates, context)
    source, target = place[pair.reshape(-1, 2)].T
    return means(links, target - source)


def _places(queries: IntArray, nodes: IntArray, candidates: Candidates, context: Context) -> FloatArray:
    """The place of each node in the query beside it; 1/2 where the query has no words."""
    words = context.shared(words_in_order, candidates).of_query.take(queries)
    owners, width = words.owners, max(int(nodes.max(initial=0)) + 1, 1)
    pairs, pair = np.unique(words.codes * width + nodes[owners], return_inverse=True)
    word_vectors, node_vectors = context.vectors[words_in_order], context.vectors[graph_tables]
    sharp = np.exp(SHARPNESS * word_vectors.dots(pairs // width, node_vectors, pairs % width))[pair]
    position = (np.arange(len(owners)) - words.starts[owners] + 0.5) / np.maximum(words.lengths, 1)[owners]
    totals = code_sums(owners, sharp, len(queries))
    return np.where(totals > 0, code_sums(owners, sharp * position, len(queries)) / np.maximum(totals, 1e-300), 0.5)
