"""What several features read of groups, and the tables of texts in which a state holds what was counted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr.arrays import (
    Array,
    Codes,
    FloatArray,
    IntArray,
    Ragged,
    State,
    offsets_of,
    pack_texts,
    spelled,
    texts_of,
    unpack_texts,
)
from ltr.catalogues import Graph
from ltr.errors import DataError
from ltr.features.protocol import Context
from ltr.features.texts import distinct_tools, plain_tool_text, row_queries
from ltr.samples import Candidates, Groups
from ltr.states import Integers, TextTable
from ltr.tables import Part, Table, digests, halves, pairs, places, table

EDGES = TextTable("ends of edges", pairs=Integers("edges", 2, below="ends of edges"))  # the type of an edge_table


def text_table(texts: Sequence[str], **columns: Array) -> State:
    """Return texts and the columns beside them, as a state holds them."""
    content, ends = pack_texts(texts)
    return {"texts": content, "ends": ends, **columns}


def spelled_table(texts: Ragged, **columns: Array) -> State:
    """Return the same of texts in a column of a part.

    >>> table_texts(spelled_table(spelled(["a", "b"])))
    ('a', 'b')
    """
    return {"texts": texts.codes, "ends": texts.starts[1:], **columns}


def names_table(names: Sequence[str], **sums: Any) -> Table:
    """Return names, and what is counted of each, in a part.

    >>> len(names_table(["a", "b", "a"]))
    2
    """
    return table(digests(names), sums, facts={"name": spelled(names)})


def table_texts(table: State) -> tuple[str, ...]:
    """Return the texts of a table.

    >>> table_texts(text_table(["a", "b"], wins=np.array([1, 0])))
    ('a', 'b')
    """
    return unpack_texts(table["texts"], table["ends"])


def place_of(listed: Iterable[Any]) -> dict[Any, int]:
    """Return where each item stands in the list.

    >>> place_of(["a", "b"])
    {'a': 0, 'b': 1}
    """
    return {item: place for place, item in enumerate(listed)}


def listed_names(table: State) -> dict[str, int]:
    """Return where each text stands in a table."""
    return place_of(table_texts(table))


def positions(listed: Iterable[Any] | Mapping[Any, int], wanted: Iterable[Any]) -> IntArray:
    """Return where each wanted item stands in the list, or in what `place_of` returns of it; -1 where it does not.

    >>> positions(["a", "b"], ["b", "c"])
    array([ 1, -1])
    """
    places = listed if isinstance(listed, Mapping) else place_of(listed)
    return np.array([places.get(item, -1) for item in wanted], dtype=np.int64)


def looked_up(
    listed: Iterable[Any] | Mapping[Any, int], numbers: IntArray | FloatArray, wanted: Iterable[Any]
) -> FloatArray:
    """Return the number beside each wanted item; 0 where the list does not have it.

    >>> looked_up(["a", "b"], np.array([5, 7]), ["b", "c"])
    array([7., 0.])
    """
    return np.append(numbers, 0).astype(np.float64)[positions(listed, wanted)]


def edge_table(edges: tuple[tuple[str, str], ...]) -> State:
    """Return pairs of tools as a state holds them."""
    ends = [end for edge in edges for end in edge]
    tools = list(dict.fromkeys(ends))
    return text_table(tools, pairs=positions(tools, ends).astype(np.int32).reshape(-1, 2))


def table_edges(table: State) -> list[tuple[str, str]]:
    """Return the pairs of a table.

    >>> table_edges(edge_table((("a", "b"), ("b", "a"))))
    [('a', 'b'), ('b', 'a')]
    """
    tools = table_texts(table)
    return [(tools[source], tools[target]) for source, target in table["pairs"].tolist()]


def edge_keys(edges: Sequence[tuple[str, str]]) -> Array:
    """Return the keys of pairs of tools."""
    return pairs(digests([source for source, _ in edges]), digests([target for _, target in edges]))


def spelled_edges(keys: Array, tools: Table) -> tuple[tuple[str, str], ...]:
    """Return the pairs of tools of the keys, by a table that has the names of the tools."""
    names = texts_of(tools.facts["name"])
    ends = np.column_stack([places(tools.keys, half) for half in halves(keys)])
    return tuple((names[source], names[target]) for source, target in ends.tolist())


def encoder_revision(part: Part) -> str:
    """Return the revision of the encoder whose vectors were counted."""
    (revision,) = texts_of(part["encoder"].facts["name"])
    return revision


def refuse_other_revision(state: State, context: Context) -> None:
    """Raise unless the state's vectors are of the encoder at hand."""
    if state["revision"] != context.encoder.revision:
        encoder = f"{context.encoder.name} at revision {context.encoder.revision}"
        raise DataError(f"what was learned belongs to another encoder, revision {state['revision']}, not to {encoder}")


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
        """Return the tool of each node."""
        return self.text_tools[self.nodes.codes]


def graph_tables(candidates: Candidates, context: Context) -> GraphTables:
    """Return the tables of the candidates' distinct graphs."""
    return tables_of(candidates.distinct_graphs)


def right_graphs(groups: Groups, context: Context) -> GraphTables:
    """Return the tables of the graphs that were right, one for each right row."""
    graphs = groups.candidates.distinct_graphs
    return tables_of([graphs[code] for code in groups.candidates.graphs[groups.right_rows].tolist()])


def tables_of(graphs: Sequence[Graph]) -> GraphTables:
    """Return the tables of some graphs."""
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


@dataclass(frozen=True, slots=True)
class Answers:
    """Which tool answered which query; a query that a tool answered twice in a trace counts once."""

    queries: IntArray  # codes into query_texts
    tools: IntArray  # codes into name_texts, or into the tools of graph_tables
    texts: IntArray  # of the tool: codes into the texts of distinct_tools, or into those of graph_tables


def right_answers(groups: Groups, context: Context) -> Answers:
    """Return who answered the queries of the groups: the right tools, or the tools in the right graphs."""
    candidates, rows = groups.candidates, groups.right_rows
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
