"""The graphs that were right for the stored queries nearest to a query."""

import hashlib

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, State, ragged, runs
from ltr.data.groups import Candidates, Groups
from ltr.encoders.dense import Dense
from ltr.encoders.sparse import Sparse
from ltr.encoders.vectors import Vectors, vectors_from
from ltr.features.graph_teams import edge_table, right_teams, table_edges
from ltr.features.matrices import all_dots
from ltr.features.registry import Context, Positive, feature
from ltr.features.tables import places
from ltr.features.tool_prototypes import refuse_other_revision
from ltr.features.tool_texts import right_rows, row_queries, teams_in
from ltr.features.words import Ragged

NEIGHBOURS, SHARPNESS = 20, 10.0
STORED = 20_000  # queries that are kept
PRODUCTS = 1 << 22  # of queries with stored ones at once
ROWS = 1 << 12  # graphs compared with their neighbours at once
DIGITS = 9  # equal texts have equal products, whatever else was multiplied beside them


def fit_neighbours(groups: Groups, context: Context, *, stored: Positive = STORED) -> State:
    """The vectors of queries and the edges of their right graphs.

    Of more than `stored` right graphs those are kept whose queries have the lowest digests: a sample that neither
    the order of the file nor the ids of traces move.
    """
    candidates, teams = groups.candidates, right_teams(groups, context)
    queries = row_queries(candidates)[right_rows(groups)]
    digests = [hashlib.blake2b(text.encode(), digest_size=8).digest() for text in candidates.query_texts]
    kept = np.array(sorted(range(len(queries)), key=lambda row: (digests[queries[row]], row)), dtype=np.int64)
    kept = kept[: int(stored)]
    links = teams.links.take(kept)
    owner, codes, _ = links.counted(len(teams.edges))
    distinct, edges = np.unique(codes, return_inverse=True)
    vectors = context.encoder.encode([candidates.query_texts[code] for code in queries[kept].tolist()], "query")
    return {
        "revision": context.encoder.revision,
        "vectors": vectors.arrays(),
        "edges": edge_table(tuple(teams.edges[code] for code in distinct.tolist())),
        "starts": np.searchsorted(owner, np.arange(len(kept) + 1)),
        "codes": edges.astype(np.int32),
    }


@feature("graph.near_edges", "hist", fit=fit_neighbours, title="edges right for similar queries")
def near_edges(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Mean Jaccard likeness of the graph's edges to those of right graphs, over the 20 nearest stored queries.

    Weights exp(10 (cos - 1)) / their sum; two graphs without edges are not alike: 0.
    """
    kept, teams, values = state, teams_in(candidates, context), np.zeros(len(candidates.graphs))
    refuse_other_revision(kept, context)
    stored = Ragged(kept["starts"], kept["codes"].astype(np.int64))
    if not len(stored.lengths):
        return values
    vectors = vectors_from(kept["vectors"]).unit()
    queries = context.encoder.encode(candidates.query_texts, "query")
    near, weights = nearest(queries, vectors, min(NEIGHBOURS, len(stored.lengths)))
    links = _distinct_known(teams.links, places(table_edges(kept["edges"]), teams.edges))
    rows = row_queries(candidates)
    for first, last in runs(candidates.offsets, ROWS):
        part = slice(candidates.offsets[first], candidates.offsets[last])
        graphs, asked = candidates.graphs[part], rows[part]
        likeness = _likeness(links[0].take(graphs), links[1][graphs], stored, near, asked)
        values[part] = (likeness * weights[asked]).sum(axis=1)
    return values


def _distinct_known(links: Ragged, known: IntArray) -> tuple[Ragged, IntArray]:
    """Of each graph its distinct edges that are stored, by their stored codes, and how many distinct edges it has."""
    owner, codes, _ = links.counted(len(known))
    sizes = np.bincount(owner, minlength=len(links.lengths))
    is_known = known[codes] >= 0
    starts = np.searchsorted(owner[is_known], np.arange(len(links.lengths) + 1))
    return Ragged(starts, known[codes[is_known]]), sizes


def _likeness(links: Ragged, sizes: IntArray, stored: Ragged, near: IntArray, asked: IntArray) -> FloatArray:
    """|E and E_j| / |E or E_j| of each row and each of its query's neighbours j, (rows, neighbours)."""
    queries, query = np.unique(asked, return_inverse=True)
    count, width = near.shape[1], int(stored.codes.max(initial=0)) + 1
    theirs = stored.take(near[queries].ravel())
    beside = np.repeat(np.arange(len(theirs.lengths)), theirs.lengths)  # query * count + place among its neighbours
    keys = (beside // count) * width + theirs.codes
    order = np.argsort(keys, kind="stable")
    wanted = np.repeat(query, links.lengths) * width + links.codes
    bounds = [np.searchsorted(keys[order], wanted, side=side) for side in ("left", "right")]
    owner, step = ragged(bounds[1] - bounds[0])
    rows = np.repeat(np.arange(len(asked)), links.lengths)[owner]
    shared_with = beside[order[bounds[0][owner] + step]] % count
    shared = np.bincount(rows * count + shared_with, minlength=len(asked) * count).reshape(-1, count)
    union = sizes[:, None] + stored.lengths[near[asked]] - shared
    return shared / np.maximum(union, 1)


def nearest(queries: Vectors, stored: Vectors, count: int) -> tuple[IntArray, FloatArray]:
    """Of each query the `count` stored rows of largest product, and their weights, of sum 1.

    Equally near rows are taken in their order.
    """
    near, weights = np.empty((len(queries), count), dtype=np.int64), np.empty((len(queries), count))
    at_once = max(PRODUCTS // len(stored), 1)
    for first in range(0, len(queries), at_once):
        rows = np.arange(first, min(first + at_once, len(queries)))
        found = products(queries.take(rows), stored).round(DIGITS)
        near[rows] = np.nonzero(_largest(found, count))[1].reshape(-1, count)
        sharp = np.exp(SHARPNESS * (np.take_along_axis(found, near[rows], axis=1) - 1))
        weights[rows] = sharp / sharp.sum(axis=1, keepdims=True)
    return near, weights


def _largest(found: FloatArray, count: int) -> BoolArray:
    """Whether each number is among the `count` largest of its row; the first of equal ones are."""
    least = np.partition(found, -count, axis=1)[:, -count, None]
    above, equal = found > least, found == least
    return above | (equal & (np.cumsum(equal, axis=1) <= count - above.sum(axis=1, keepdims=True)))


def products(left: Vectors, right: Vectors) -> FloatArray:
    """Every row of the left by every row of the right."""
    if isinstance(left, Dense) and isinstance(right, Dense):
        dense: FloatArray = left.numbers.astype(np.float64) @ right.numbers.astype(np.float64).T
        return dense
    if isinstance(left, Sparse) and isinstance(right, Sparse):
        return all_dots(left, right)
    raise TypeError("dense vectors meet dense vectors, sparse ones sparse ones")
