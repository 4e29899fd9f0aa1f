"""What the learned features read of candidates: texts of tools, of nodes of graphs, of clauses of queries, each once.

Each function (candidates, context) or (groups, context) here is meant for `Context.shared`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, distinct, offsets_of
from ltr.data.columns import Codes
from ltr.data.graphs import Graph
from ltr.data.groups import Candidates, Groups
from ltr.features.registry import Context
from ltr.features.words import Ragged, plain_tool_text


def row_queries(candidates: Candidates) -> IntArray:
    """The query of each row."""
    return np.repeat(candidates.queries, np.diff(candidates.offsets))


def right_rows(groups: Groups) -> IntArray:
    """The rows whose candidate was right."""
    return np.flatnonzero(groups.labels > 0)


@dataclass(frozen=True, slots=True)
class Tools:
    """The distinct pairs of a name and a text among the rows."""

    codes: IntArray  # (rows,) into the two below
    names: IntArray  # (tools,) codes into the candidates' name_texts
    texts: tuple[str, ...]  # (tools,) as plain_tool_text makes them


def distinct_tools(candidates: Candidates, context: Context) -> Tools:
    """The tools of the rows."""
    pairs = candidates.names * len(candidates.tool_texts) + candidates.texts
    first, codes = distinct(pairs)
    names, texts = np.divmod(pairs[first], max(len(candidates.tool_texts), 1))
    described = zip(names.tolist(), texts.tolist(), strict=True)
    return Tools(
        codes,
        names,
        tuple(plain_tool_text(candidates.name_texts[n], candidates.tool_texts[t].description) for n, t in described),
    )


@dataclass(frozen=True, slots=True)
class GraphTables:
    """Graphs as codes. A tool is the name of a node, a node text its name and description, an edge a pair of tools."""

    tools: tuple[str, ...]
    node_texts: tuple[str, ...]  # as plain_tool_text makes them
    text_tools: IntArray  # (node_texts,) codes into tools
    edges: tuple[tuple[str, str], ...]
    nodes: Ragged  # of each graph the codes of its nodes into node_texts
    links: Ragged  # of each graph the codes of its edges into edges
    link_ends: IntArray  # (links, 2): the node texts at both ends of each
    is_root: IntArray  # of each node: 1 where no edge leads to it

    @property
    def node_tools(self) -> IntArray:
        """The tool of each node."""
        return self.text_tools[self.nodes.codes]


def graph_tables(candidates: Candidates, context: Context) -> GraphTables:
    """The tables of the candidates' distinct graphs."""
    return tables_of(candidates.distinct_graphs)


def right_graphs(groups: Groups, context: Context) -> GraphTables:
    """The tables of the graphs that were right, one for each right row."""
    graphs = groups.candidates.distinct_graphs
    return tables_of([graphs[code] for code in groups.candidates.graphs[right_rows(groups)].tolist()])


def tables_of(graphs: Sequence[Graph]) -> GraphTables:
    """The tables of some graphs."""
    tools, described, edges = Codes(), Codes(), Codes()
    nodes: list[int] = []
    links: list[int] = []
    ends: list[int] = []
    is_root: list[int] = []
    for graph in graphs:
        names = graph.texts
        codes = [described[node] for node in zip(names, graph.descriptions, strict=True)]
        nodes += codes
        ends += [codes[end] for edge in graph.edges for end in edge]
        links += [edges[names[source], names[target]] for source, target in graph.edges]
        targets = {target for _, target in graph.edges}
        is_root += [node not in targets for node in range(len(names))]
    return GraphTables(
        text_tools=np.array([tools[name] for name, _ in described], dtype=np.int64),
        tools=tuple(tools),
        node_texts=tuple(plain_tool_text(name, "" if text == name else text) for name, text in described),
        edges=tuple(edges),
        nodes=Ragged(offsets_of([len(graph.texts) for graph in graphs]), np.array(nodes, dtype=np.int64)),
        links=Ragged(offsets_of([len(graph.edges) for graph in graphs]), np.array(links, dtype=np.int64)),
        link_ends=np.array(ends, dtype=np.int64).reshape(-1, 2),
        is_root=np.array(is_root, dtype=np.int64),
    )


@dataclass(frozen=True, slots=True)
class Clauses:
    """The clauses of each query, behind the query itself; each distinct text once."""

    texts: tuple[str, ...]
    of_query: Ragged  # of each query codes into the texts

    def without_queries(self) -> "Clauses":
        """The clauses alone; a query of one clause is that clause."""
        lengths = self.of_query.lengths
        is_clause = np.ones(len(self.of_query.codes), dtype=bool)
        is_clause[self.of_query.starts[:-1][lengths > 1]] = False
        starts = offsets_of(np.where(lengths > 1, lengths - 1, lengths))
        return Clauses(self.texts, Ragged(starts, self.of_query.codes[is_clause]))

    def best(self, queries: IntArray, value: Callable[[IntArray, IntArray], FloatArray]) -> tuple[FloatArray, IntArray]:
        """The largest value among the clauses of each of the queries, and the code of the first clause that has it.

        `value` gets the codes of many clauses at once, and the place of the query of each.
        """
        clauses = self.of_query.take(queries)
        if not len(queries):
            return np.empty(0), clauses.codes
        values = value(clauses.codes, clauses.owners)
        starts = clauses.starts[:-1]
        largest = np.maximum.reduceat(values, starts)
        is_largest = values == np.repeat(largest, clauses.lengths)
        first = np.minimum.reduceat(np.where(is_largest, np.arange(len(values)), len(values)), starts)
        return largest, clauses.codes[first]


def query_clauses(candidates: Candidates, context: Context) -> Clauses:
    """The clauses of the candidates' queries."""
    texts = Codes()
    codes: list[int] = []
    lengths = []
    for query in candidates.query_texts:
        clauses = context.lexicon.clauses(query)
        listed = [query, *clauses] if len(clauses) > 1 else [query]
        codes += [texts[text] for text in listed]
        lengths.append(len(listed))
    return Clauses(tuple(texts), Ragged(offsets_of(lengths), np.array(codes, dtype=np.int64)))


@dataclass(frozen=True, slots=True)
class Answers:
    """Which tool answered which query; a query that a tool answered twice in a trace counts once."""

    queries: IntArray  # codes into query_texts
    tools: IntArray  # codes into name_texts, or into the tools of graph_tables
    texts: IntArray  # of the tool: codes into the texts of distinct_tools, or into the node_texts of graph_tables


def right_answers(groups: Groups, context: Context) -> Answers:
    """Who answered the queries of the groups: the right tools, or the tools in the right graphs."""
    candidates, rows = groups.candidates, right_rows(groups)
    width = max(len(candidates.query_texts), 1)
    row_traces = np.repeat(candidates.traces, np.diff(candidates.offsets))
    asked_in_trace = row_traces[rows] * width + row_queries(candidates)[rows]
    if candidates.kind == "tool":
        right_tools, texts = candidates.names[rows], context.shared(distinct_tools, candidates).codes[rows]
    else:
        tables = context.shared(graph_tables, candidates)
        nodes = tables.nodes.take(candidates.graphs[rows])
        asked_in_trace, texts = np.repeat(asked_in_trace, nodes.lengths), nodes.codes
        right_tools = tables.text_tools[texts]
    _, first = np.unique(asked_in_trace * (int(right_tools.max(initial=0)) + 1) + right_tools, return_index=True)
    return Answers(asked_in_trace[first] % width, right_tools[first], texts[first])
