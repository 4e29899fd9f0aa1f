"""Graphs: the shape of right ones, those right for similar queries, the order of steps, and what nodes answered."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ltr.arrays import (
    Array,
    BoolArray,
    FloatArray,
    IntArray,
    Ragged,
    State,
    chunks,
    code_sums,
    means,
    ragged,
)
from ltr.encoders import StoredVectors, Vectors
from ltr.features.algebra import all_dots
from ltr.features.protocol import Context, Counted, feature
from ltr.features.tables import (
    EDGES,
    edge_keys,
    edge_table,
    encoder_revision,
    graph_tables,
    looked_up,
    names_table,
    positions,
    refuse_other_revision,
    right_graphs,
    spelled_edges,
    spelled_table,
    table_edges,
    table_texts,
)
from ltr.features.texts import TOKEN, coded_lists, query_clauses, query_texts, row_queries
from ltr.features.vectors import OWN_TEXT, PROTOTYPES, prototypes
from ltr.registry import Positive
from ltr.samples import Candidates, Groups
from ltr.states import Integers, Json, Offsets, Record, TextTable, learns
from ltr.tables import Part, digests, halves, pairs, places, table

RIDGE = 0.1  # keeps the three numbers of graph.size defined on few groups


def count_edges(groups: Groups, context: Context) -> Part:
    """Return how often each edge, a pair of tools, stands in a right graph."""
    right = context.shared(right_graphs, groups)
    times = np.bincount(right.links.codes, minlength=len(right.edges))
    return {"edges": table(edge_keys(right.edges), {"times": times}), "tools": names_table(right.tools)}


@learns(Record(edges=EDGES, times=Integers("edges")))
def edges_state(part: Part) -> State:
    """Return the edges and how often each stood in a right graph."""
    return {"edges": edge_table(spelled_edges(part["edges"].keys, part["tools"])), "times": part["edges"].sums["times"]}


@feature("graph.edges", "coop", fit=Counted(count_edges, edges_state), title="edges known from right graphs")
def known_edges(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Mean over the edges of ln(1 + times the edge stands in a right graph); no edges: 0."""
    tables = context.shared(graph_tables, candidates)
    times = looked_up(table_edges(state["edges"]), state["times"], tables.edges)
    return means(tables.links, np.log1p(times)[tables.links.codes])[candidates.graphs]


def count_starts(groups: Groups, context: Context) -> Part:
    """Return how often each tool is a node, and a root, of a right graph."""
    right = context.shared(right_graphs, groups)
    node_tools, count = right.node_tools, len(right.tools)
    starts = np.bincount(node_tools[right.is_root > 0], minlength=count)
    return {"tools": names_table(right.tools, starts=starts, nodes=np.bincount(node_tools, minlength=count))}


@learns(TextTable("tools", starts=Integers("tools"), nodes=Integers("tools")))
def starts_state(part: Part) -> State:
    """Return the tools of right graphs, and the counts of each."""
    return spelled_table(part["tools"].facts["name"], **part["tools"].sums)


@feature("graph.start", "struct", fit=Counted(count_starts, starts_state), title="starts as right graphs start")
def usual_start(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Mean over the roots, the nodes no edge leads to, of ln((starts + 2 p) / (nodes + 2)); p = all starts / all nodes.

    Both are counted in right graphs. No roots, or no starts at all: 0.
    """
    share = state["starts"].sum() / max(int(state["nodes"].sum()), 1)
    if not share:
        return np.zeros(len(candidates.graphs))
    tables = context.shared(graph_tables, candidates)
    starts, nodes = (looked_up(table_texts(state), state[column], tables.tools) for column in ("starts", "nodes"))
    values = np.log((starts + 2 * share) / (nodes + 2))[tables.node_tools]
    owners, count = tables.nodes.owners, len(tables.nodes.lengths)
    roots = code_sums(owners, tables.is_root.astype(float), count)
    return (code_sums(owners, values * tables.is_root, count) / np.maximum(roots, 1))[candidates.graphs]


def count_sizes(groups: Groups, context: Context) -> Part:
    """Return X'X and X'y: X is the form of the query of each right graph, y the number of its nodes."""
    candidates, rows = groups.candidates, groups.right_rows
    forms = _query_forms(candidates.query_texts)[row_queries(candidates)[rows]]
    sizes = _sizes(candidates)[candidates.graphs[rows]]
    products = {"forms": (forms.T @ forms)[np.newaxis], "sizes": (forms.T @ sizes)[np.newaxis]}
    return {"all": table(digests([""]), products)}


@learns(Record(weights=Json(tuple[float, float, float])))
def size_state(part: Part) -> State:
    """Return the ridge regression of the number of nodes of a right graph on the form of its query."""
    (forms,), (sizes,) = part["all"].sums["forms"], part["all"].sums["sizes"]
    return {"weights": np.linalg.solve(forms + RIDGE * np.eye(len(forms)), sizes).tolist()}


def _query_forms(queries: tuple[str, ...]) -> FloatArray:
    """Return 1, ln(1 + words), and the number of commas, full stops, "and" and "then" of each query."""
    signs = (",", ".", " and ", " then ")
    counts = [(len(query.split()), sum(query.count(sign) for sign in signs)) for query in queries]
    words, steps = np.array(counts, dtype=float).reshape(-1, 2).T
    return np.column_stack([np.ones(len(words)), np.log1p(words), steps])


def _sizes(candidates: Candidates) -> IntArray:
    """Return the number of nodes of each distinct graph."""
    return np.array([len(graph.texts) for graph in candidates.distinct_graphs], dtype=np.int64)


@feature("graph.size", "struct", fit=Counted(count_sizes, size_state), title="size that the query suggests")
def expected_size(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """-|n - n^|; n^ = the size that ridge regression expects from the query's words and signs of steps."""
    expected = _query_forms(candidates.query_texts) @ np.array(state["weights"])
    return -np.abs(_sizes(candidates)[candidates.graphs] - expected[row_queries(candidates)])


NEIGHBOURS, SHARPNESS = 20, 10.0
STORED = 20_000  # queries of a state
PRODUCTS = 1 << 22  # of queries with stored ones at once
ROWS = 1 << 12  # graphs compared with their neighbours at once
DIGITS = 9  # equal texts have equal products, whatever else was multiplied beside them


def count_right_graphs(groups: Groups, context: Context) -> Part:
    """Return how often each set of edges was right for each query, and the vectors of these queries."""
    candidates, right = groups.candidates, context.shared(right_graphs, groups)
    rows = groups.right_rows
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
    """Return the key of each list of keys."""
    return digests([lists.codes[first:last].tobytes() for first, last in pairwise(lists.starts.tolist())])


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
    """Return the vectors of queries and the edges of their right graphs.

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
    stored_vectors = Vectors.restored(state["vectors"]).unit()
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
    """Return |E and E_j| / |E or E_j| of each row and each of its query's neighbours j, (rows, neighbours).

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
    """Return for each query the `count` stored rows of largest product, and their weights, of sum 1.

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
    """Return whether each number is among the `count` largest of its row; the first of equal ones are."""
    least = np.partition(numbers, -count, axis=1)[:, -count, None]
    above, equal = numbers > least, numbers == least
    return above | (equal & (np.cumsum(equal, axis=1) <= count - above.sum(axis=1, keepdims=True)))


WORD_SHARPNESS = 12.0


@dataclass(frozen=True, slots=True)
class QueryWords:
    """The words of each query in their order, each distinct word once."""

    texts: tuple[str, ...]
    of_query: Ragged  # of each query codes into the texts


def words_in_order(candidates: Candidates, context: Context) -> QueryWords:
    """Return the words of the candidates' queries: texts for an encoder."""
    return QueryWords(*coded_lists(TOKEN.findall(query.lower()) for query in candidates.query_texts))


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
    """Return the place of each node in the query beside it; 1/2 where the query has no words."""
    words = context.shared(words_in_order, candidates).of_query.take(queries)
    owners, width = words.owners, max(int(nodes.max(initial=0)) + 1, 1)
    pairs, pair = np.unique(words.codes * width + nodes[owners], return_inverse=True)
    word_vectors, node_vectors = context.vectors[words_in_order], context.vectors[graph_tables]
    sharp = np.exp(WORD_SHARPNESS * word_vectors.dots(pairs // width, node_vectors, pairs % width))[pair]
    position = (np.arange(len(owners)) - words.starts[owners] + 0.5) / np.maximum(words.lengths, 1)[owners]
    totals = code_sums(owners, sharp, len(queries))
    return np.where(totals > 0, code_sums(owners, sharp * position, len(queries)) / np.maximum(totals, 1e-300), 0.5)


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
    asked, text_of, clauses = pairs // width, pairs % width, context.vectors[query_clauses]
    best, _ = context.shared(query_clauses, candidates).best(
        asked, lambda clause, place: clauses.dots(clause, vectors, text_of[place])
    )
    return means(nodes, best[pair])


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
