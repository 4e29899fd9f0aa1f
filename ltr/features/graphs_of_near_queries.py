"""The graphs that were right for the stored queries nearest to a query."""

from itertools import pairwise

import numpy as np

from ltr.arrays import Array, BoolArray, FloatArray, IntArray, Ragged, State, chunks, ragged
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups, right_rows
from ltr.encoders.vectors import StoredVectors, Vectors, vectors_from
from ltr.features.encoder_revision import encoder_revision, refuse_other_revision
from ltr.features.feature_context import Context
from ltr.features.graph_tables import graph_tables, right_graphs
from ltr.features.linear_algebra import all_dots
from ltr.features.option_ranges import Positive
from ltr.features.registry import feature
from ltr.features.row_queries import query_texts, row_queries
from ltr.features.state_learners import Counted
from ltr.features.text_tables import EDGES, edge_keys, edge_table, names_table, positions, spelled_edges, table_edges
from ltr.files.learned_state_types import Integers, Json, Offsets, Record, learns
from ltr.files.mergeable_tables import Part, table
from ltr.files.table_keys import digests, digests_of_bytes, halves, pairs, places

NEIGHBOURS, SHARPNESS = 20, 10.0
STORED = 20_000  # queries of a state
PRODUCTS = 1 << 22  # of queries with stored ones at once
ROWS = 1 << 12  # graphs compared with their neighbours at once
DIGITS = 9  # equal texts have equal products, whatever else was multiplied beside them


def count_right_graphs(groups: Groups, context: Context) -> Part:
    """How often each set of edges was right for each query, and the vectors of these queries."""
    candidates, right = groups.candidates, context.shared(right_graphs, groups)
    rows = right_rows(groups)
    owners, codes, _ = right.links.counted(len(right.edges))
    rank = np.empty(len(right.edges), dtype=np.int64)
    keys = edge_keys(right.edges)
    rank[np.argsort(keys)] = np.arange(len(keys))
    order = np.lexsort((rank[codes], owners))  # one set of edges is one list
    edges = Ragged(np.searchsorted(owners, np.arange(len(rows) + 1)), keys[codes[order]])
    graphs, once = list_digests(edges), np.ones(len(rows), dtype=np.int64)
    queries, query = np.unique(row_queries(candidates)[rows], return_inverse=True)
    asked = digests([candidates.query_texts[code] for code in queries.tolist()])
    return {
        "graphs": table(pairs(asked[query], graphs), {"times": once}, facts={"edges": edges}),
        "queries": table(asked, facts={"vectors": context.vectors[query_texts].take(queries)}),
        "tools": names_table(right.tools),
        "encoder": names_table([context.encoder.revision]),
    }


def list_digests(lists: Ragged) -> Array:
    """The key of each list of keys."""
    return digests_of_bytes([lists.codes[first:last].tobytes() for first, last in pairwise(lists.starts.tolist())])


@learns(
    Record(
        revision=Json(str),
        vectors=StoredVectors("queries"),
        edges=EDGES,
        starts=Offsets("queries", "edges of queries"),
        codes=Integers("edges of queries", below="edges"),
    )
)
def neighbours_state(part: Part, *, stored: Positive = STORED) -> State:
    """The vectors of queries and the edges of their right graphs.

    Of more than `stored` right graphs those whose queries have the lowest digests: a sample that neither the order of
    the file nor the ids of traces move.
    """
    graphs, queries = part["graphs"], part["queries"]
    rows = np.repeat(np.arange(len(graphs)), graphs.sums["times"])[: int(stored)]
    edges = graphs.facts["edges"].take(rows)
    distinct, codes = np.unique(edges.codes, return_inverse=True)
    asked, _ = halves(graphs.keys)
    vectors = queries.facts["vectors"].take(places(queries.keys, asked[rows]))
    return {
        "revision": encoder_revision(part),
        "vectors": vectors.arrays(),
        "edges": edge_table(spelled_edges(distinct, part["tools"])),
        "starts": edges.starts,
        "codes": codes.astype(np.int32),
    }


@feature(
    "graph.near_edges",
    "hist",
    fit=Counted(count_right_graphs, neighbours_state),
    queries=query_texts,
    title="edges right for similar queries",
)
def near_edges(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Mean Jaccard likeness of the graph's edges to those of right graphs, over the 20 nearest stored queries.

    Weights exp(10 (cos - 1)) / their sum; two graphs without edges are not alike: 0.
    """
    tables, values = context.shared(graph_tables, candidates), np.zeros(len(candidates.graphs))
    refuse_other_revision(state, context)
    stored = Ragged(state["starts"], state["codes"].astype(np.int64))
    if not len(stored.lengths):
        return values
    stored_vectors = vectors_from(state["vectors"]).unit()
    near, weights = nearest(context.vectors[query_texts], stored_vectors, min(NEIGHBOURS, len(stored.lengths)))
    places = positions(table_edges(state["edges"]), tables.edges)
    owners, codes, _ = tables.links.counted(len(places))
    sizes = np.bincount(owners, minlength=len(tables.links.lengths))
    is_stored = places[codes] >= 0
    starts = np.searchsorted(owners[is_stored], np.arange(len(sizes) + 1))
    links, queries = Ragged(starts, places[codes[is_stored]]), row_queries(candidates)
    for first, last in chunks(candidates.offsets, ROWS):
        part = slice(candidates.offsets[first], candidates.offsets[last])
        graphs = candidates.graphs[part]
        likeness = _likeness(links.take(graphs), sizes[graphs], stored, near, queries[part])
        values[part] = (likeness * weights[queries[part]]).sum(axis=1)
    return values


def _likeness(links: Ragged, sizes: IntArray, stored: Ragged, near: IntArray, row_query: IntArray) -> FloatArray:
    """|E and E_j| / |E or E_j| of each row and each of its query's neighbours j, (rows, neighbours).

    `links` are the distinct edges of each row that are stored, `sizes` the number of all its distinct edges.
    """
    queries, query = np.unique(row_query, return_inverse=True)
    count, width = near.shape[1], int(stored.codes.max(initial=0)) + 1
    edges = stored.take(near[queries].ravel())
    slots = edges.owners  # query * count + place among its neighbours
    keys = (slots // count) * width + edges.codes
    order = np.argsort(keys, kind="stable")
    wanted = np.repeat(query, links.lengths) * width + links.codes
    first, last = (np.searchsorted(keys[order], wanted, side=side) for side in ("left", "right"))
    owner, step = ragged(last - first)
    rows = links.owners[owner]
    neighbours = slots[order[first[owner] + step]] % count
    shared = np.bincount(rows * count + neighbours, minlength=len(row_query) * count).reshape(-1, count)
    union = sizes[:, None] + stored.lengths[near[row_query]] - shared
    return shared / np.maximum(union, 1)


def nearest(queries: Vectors, stored: Vectors, count: int) -> tuple[IntArray, FloatArray]:
    """For each query the `count` stored rows of largest product, and their weights, of sum 1.

    Equally near rows are taken in their order.
    """
    near, weights = np.empty((len(queries), count), dtype=np.int64), np.empty((len(queries), count))
    at_once = max(PRODUCTS // len(stored), 1)
    for first in range(0, len(queries), at_once):
        rows = np.arange(first, min(first + at_once, len(queries)))
        dots = all_dots(queries.take(rows), stored).round(DIGITS)
        near[rows] = np.nonzero(_largest(dots, count))[1].reshape(-1, count)
        sharp = np.exp(SHARPNESS * (np.take_along_axis(dots, near[rows], axis=1) - 1))
        weights[rows] = sharp / sharp.sum(axis=1, keepdims=True)
    return near, weights


def _largest(numbers: FloatArray, count: int) -> BoolArray:
    """Whether each number is among the `count` largest of its row; the first of equal ones are."""
    least = np.partition(numbers, -count, axis=1)[:, -count, None]
    above, equal = numbers > least, numbers == least
    return above | (equal & (np.cumsum(equal, axis=1) <= count - above.sum(axis=1, keepdims=True)))
