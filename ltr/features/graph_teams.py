"""What the right graphs of the past had: which edges, which roots, how many nodes."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, code_sums
from ltr.data.groups import Candidates, Groups
from ltr.features.registry import Context, feature
from ltr.features.tables import looked_up, table, table_texts
from ltr.features.tool_texts import Teams, right_rows, row_queries, teams_in, teams_of
from ltr.features.words import Ragged

RIDGE = 0.1  # keeps the three numbers of graph.size defined on few groups


def right_teams(groups: Groups, context: Context) -> Teams:
    """The graphs that were right, one a right row."""
    candidates = groups.candidates
    return context.shared(
        "right teams",
        candidates,
        lambda: teams_of([candidates.distinct_graphs[code] for code in candidates.graphs[right_rows(groups)].tolist()]),
    )


def fit_edges(groups: Groups, context: Context) -> State:
    """How often each edge, a pair of tools, stands in a right graph."""
    teams = right_teams(groups, context)
    times = np.bincount(teams.links.codes, minlength=len(teams.edges))
    return {"edges": edge_table(teams.edges), "times": times}


def edge_table(edges: tuple[tuple[str, str], ...]) -> State:
    """Pairs of tools as a state keeps them."""
    ends = [end for edge in edges for end in edge]
    tools = list(dict.fromkeys(ends))
    place = {tool: code for code, tool in enumerate(tools)}
    return table(tools, pairs=np.array([place[end] for end in ends], dtype=np.int32).reshape(-1, 2))


def table_edges(kept: State) -> list[tuple[str, str]]:
    """The pairs of a table.

    >>> table_edges(edge_table((("a", "b"), ("b", "a"))))
    [('a', 'b'), ('b', 'a')]
    """
    tools = table_texts(kept)
    return [(tools[source], tools[target]) for source, target in kept["pairs"].tolist()]


@feature("graph.edges", "coop", fit=fit_edges, title="edges known from right graphs")
def known_edges(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Mean over the edges of ln(1 + times the edge stands in a right graph); no edges: 0."""
    kept, teams = state, teams_in(candidates, context)
    times = looked_up(table_edges(kept["edges"]), kept["times"], teams.edges)
    return means(teams.links, np.log1p(times)[teams.links.codes])[candidates.graphs]


def means(owned: Ragged, values: FloatArray) -> FloatArray:
    """The mean of the values of each owner; 0 where it has none.

    >>> means(Ragged(np.array([0, 2, 2]), np.array([0, 1])), np.array([1.0, 2.0]))
    array([1.5, 0. ])
    """
    owner = np.repeat(np.arange(len(owned.lengths)), owned.lengths)
    return code_sums(owner, values, len(owned.lengths)) / np.maximum(owned.lengths, 1)


def fit_starts(groups: Groups, context: Context) -> State:
    """How often each tool is a node, and a root, of a right graph."""
    teams = right_teams(groups, context)
    tools, count = teams.node_tools, len(teams.tools)
    starts = np.bincount(tools[teams.is_root > 0], minlength=count)
    return table(teams.tools, starts=starts, nodes=np.bincount(tools, minlength=count))


@feature("graph.start", "struct", fit=fit_starts, title="starts as right graphs start")
def usual_start(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """Mean over the roots, the nodes no edge leads to, of ln((starts + 2 p) / (nodes + 2)); p = all starts / all nodes.

    Both are counted in right graphs. No roots, or no starts at all: 0.
    """
    kept, teams = state, teams_in(candidates, context)
    share = kept["starts"].sum() / max(int(kept["nodes"].sum()), 1)
    if not share:
        return np.zeros(len(candidates.graphs))
    starts, nodes = (looked_up(table_texts(kept), kept[column], teams.tools) for column in ("starts", "nodes"))
    values = np.log((starts + 2 * share) / (nodes + 2))[teams.node_tools]
    owner = np.repeat(np.arange(len(teams.nodes.lengths)), teams.nodes.lengths)
    count = len(teams.nodes.lengths)
    roots = code_sums(owner, teams.is_root.astype(float), count)
    return (code_sums(owner, values * teams.is_root, count) / np.maximum(roots, 1))[candidates.graphs]


def fit_size(groups: Groups, context: Context) -> State:
    """The ridge regression of the size of a right graph on what its query looks like."""
    candidates, rows = groups.candidates, right_rows(groups)
    looks = _looks(candidates.query_texts)[row_queries(candidates)[rows]]
    sizes = _sizes(candidates)[candidates.graphs[rows]]
    normal = looks.T @ looks + RIDGE * np.eye(looks.shape[1])
    return {"weights": np.linalg.solve(normal, looks.T @ sizes).tolist()}


def _looks(queries: tuple[str, ...]) -> FloatArray:
    """1, ln(1 + words), and the number of commas, full stops, "and" and "then" of each query."""
    signs = (",", ".", " and ", " then ")
    counted = [(len(query.split()), sum(query.count(sign) for sign in signs)) for query in queries]
    words, steps = np.array(counted, dtype=float).reshape(-1, 2).T
    return np.column_stack([np.ones(len(words)), np.log1p(words), steps])


def _sizes(candidates: Candidates) -> IntArray:
    return np.array([len(graph.texts) for graph in candidates.distinct_graphs], dtype=np.int64)


@feature("graph.size", "struct", fit=fit_size, title="size that the query suggests")
def expected_size(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """-|n - n^|; n^ = the size that ridge regression expects from the query's words and signs of steps."""
    expected = _looks(candidates.query_texts) @ np.array(state["weights"])
    return -np.abs(_sizes(candidates)[candidates.graphs] - expected[row_queries(candidates)])
