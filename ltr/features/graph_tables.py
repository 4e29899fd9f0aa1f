"""Graphs as codes: their tools, node texts and edges, each once.

`Context.shared` calls the functions of (candidates, context) and (groups, context), so that features share the result.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ltr.arrays import IntArray, Ragged, offsets_of
from ltr.data.candidates import Candidates
from ltr.data.graphs import Graph
from ltr.data.groups import Groups, right_rows
from ltr.data.integer_codes import Codes
from ltr.features.feature_context import Context
from ltr.features.plain_tool_text import plain_tool_text


@dataclass(frozen=True, slots=True)
class GraphTables:
    """Graphs as codes. A tool is the name of a node, a node text its name and description, an edge a pair of tools."""

    tools: tuple[str, ...]
    texts: tuple[str, ...]  # of nodes, as plain_tool_text makes them
    text_tools: IntArray  # (texts,) codes into tools
    edges: tuple[tuple[str, str], ...]
    nodes: Ragged  # of each graph the codes of its nodes into the texts
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
        texts=tuple(plain_tool_text(name, "" if text == name else text) for name, text in described),
        edges=tuple(edges),
        nodes=Ragged(offsets_of([len(graph.texts) for graph in graphs]), np.array(nodes, dtype=np.int64)),
        links=Ragged(offsets_of([len(graph.edges) for graph in graphs]), np.array(links, dtype=np.int64)),
        link_ends=np.array(ends, dtype=np.int64).reshape(-1, 2),
        is_root=np.array(is_root, dtype=np.int64),
    )
