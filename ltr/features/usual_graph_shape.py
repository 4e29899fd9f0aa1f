"""The shape of right graphs: which edges and roots they had, and how many nodes."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, code_sums, means
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups, right_rows
from ltr.features.feature_context import Context
from ltr.features.graph_tables import graph_tables, right_graphs
from ltr.features.registry import feature
from ltr.features.row_queries import row_queries
from ltr.features.state_learners import Counted
from ltr.features.text_tables import (
    EDGES,
    edge_keys,
    edge_table,
    looked_up,
    names_table,
    spelled_edges,
    spelled_table,
    table_edges,
    table_texts,
)
from ltr.files.learned_state_types import Integers, Json, Record, TextTable, learns
from ltr.files.mergeable_tables import Part, table
from ltr.files.table_keys import digests

RIDGE = 0.1  # keeps the three numbers of graph.size defined on few groups


def count_edges(groups: Groups, context: Context) -> Part:
    """How often each edge, a pair of tools, stands in a right graph."""
    right = context.shared(right_graphs, groups)
    times = np.bincount(right.links.codes, minlength=len(right.edges))
    return {"edges": table(edge_keys(right.edges), {"times": times}), "tools": names_table(right.tools)}


@learns(Record(edges=EDGES, times=Integers("edges")))
def edges_state(part: Part) -> State:
    """The edges and how often each stood in a right graph."""
    return {"edges": edge_table(spelled_edges(part["edges"].keys, part["tools"])), "times": part["edges"].sums["times"]}


@feature("graph.edges", "coop", fit=Counted(count_edges, edges_state), title="edges known from right graphs")
def known_edges(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Mean over the edges of ln(1 + times the edge stands in a right graph); no edges: 0."""
    tables = context.shared(graph_tables, candidates)
    times = looked_up(table_edges(state["edges"]), state["times"], tables.edges)
    return means(tables.links, np.log1p(times)[tables.links.codes])[candidates.graphs]


def count_starts(groups: Groups, context: Context) -> Part:
    """How often each tool is a node, and a root, of a right graph."""
    right = context.shared(right_graphs, groups)
    node_tools, count = right.node_tools, len(right.tools)
    starts = np.bincount(node_tools[right.is_root > 0], minlength=count)
    return {"tools": names_table(right.tools, starts=starts, nodes=np.bincount(node_tools, minlength=count))}


@learns(TextTable("tools", starts=Integers("tools"), nodes=Integers("tools")))
def starts_state(part: Part) -> State:
    """The tools of right graphs, and the counts of each."""
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
    """X'X and X'y: X is the form of the query of each right graph, y the number of its nodes."""
    candidates, rows = groups.candidates, right_rows(groups)
    forms = _query_forms(candidates.query_texts)[row_queries(candidates)[rows]]
    sizes = _sizes(candidates)[candidates.graphs[rows]]
    products = {"forms": (forms.T @ forms)[np.newaxis], "sizes": (forms.T @ sizes)[np.newaxis]}
    return {"all": table(digests([""]), products)}


@learns(Record(weights=Json(tuple[float, float, float])))
def size_state(part: Part) -> State:
    """The ridge regression of the number of nodes of a right graph on the form of its query."""
    (forms,), (sizes,) = part["all"].sums["forms"], part["all"].sums["sizes"]
    return {"weights": np.linalg.solve(forms + RIDGE * np.eye(len(forms)), sizes).tolist()}


def _query_forms(queries: tuple[str, ...]) -> FloatArray:
    """1, ln(1 + words), and the number of commas, full stops, "and" and "then" of each query."""
    signs = (",", ".", " and ", " then ")
    counts = [(len(query.split()), sum(query.count(sign) for sign in signs)) for query in queries]
    words, steps = np.array(counts, dtype=float).reshape(-1, 2).T
    return np.column_stack([np.ones(len(words)), np.log1p(words), steps])


def _sizes(candidates: Candidates) -> IntArray:
    """The number of nodes of each distinct graph."""
    return np.array([len(graph.texts) for graph in candidates.distinct_graphs], dtype=np.int64)


@feature("graph.size", "struct", fit=Counted(count_sizes, size_state), title="size that the query suggests")
def expected_size(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """-|n - n^|; n^ = the size that ridge regression expects from the query's words and signs of steps."""
    expected = _query_forms(candidates.query_texts) @ np.array(state["weights"])
    return -np.abs(_sizes(candidates)[candidates.graphs] - expected[row_queries(candidates)])
