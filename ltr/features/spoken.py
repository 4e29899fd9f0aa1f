"""What the learned features read of candidates: the texts of tools and of the nodes of graphs, each once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.columns import Codes
from ltr.features.registry import Context
from ltr.features.words import Ragged, spoken
from ltr.files.npz import Array, packed, unpacked
from ltr.graphs import Graph
from ltr.groups import Candidates, Groups


@dataclass(frozen=True, slots=True)
class Tools:
    """The distinct pairs of a name and a text among the rows."""

    codes: IntArray  # (rows,) into the two below
    names: IntArray  # (tools,) codes into the candidates' name_texts
    texts: tuple[str, ...]  # (tools,) as `spoken` says them


def tools_of(candidates: Candidates) -> Tools:
    """The tools of the rows."""
    pairs, codes = np.unique(candidates.names * len(candidates.tool_texts) + candidates.texts, return_inverse=True)
    names, texts = np.divmod(pairs, max(len(candidates.tool_texts), 1))
    each = zip(names.tolist(), texts.tolist(), strict=True)
    said = tuple(spoken(candidates.name_texts[name], candidates.tool_texts[text].description) for name, text in each)
    return Tools(codes, names, said)


def tools_in(candidates: Candidates, context: Context) -> Tools:
    """The tools of the rows, found once for all features."""
    return context.shared("tools", candidates, lambda: tools_of(candidates))


@dataclass(frozen=True, slots=True)
class Teams:
    """Graphs as codes: a tool is a node's text, a voice a tool with its description, an edge a pair of tools."""

    tools: tuple[str, ...]
    voices: tuple[str, ...]  # as `spoken` says them
    voice_tools: IntArray  # (voices,) codes into tools
    edges: tuple[tuple[str, str], ...]
    nodes: Ragged  # of each graph the voices of its nodes
    links: Ragged  # of each graph its edges
    is_root: IntArray  # of each node: 1 where no edge leads to it

    @property
    def node_tools(self) -> IntArray:
        """The tool of each node."""
        return self.voice_tools[self.nodes.codes]


def teams_of(graphs: Sequence[Graph]) -> Teams:
    """The tables of some graphs."""
    tools, voices, edges = Codes(), Codes(), Codes()
    nodes: list[int] = []
    links: list[int] = []
    roots: list[int] = []
    for graph in graphs:
        texts = graph.texts
        nodes += [voices[voice] for voice in zip(texts, graph.descriptions, strict=True)]
        links += [edges[texts[source], texts[target]] for source, target in graph.edges]
        reached = {target for _, target in graph.edges}
        roots += [node not in reached for node in range(len(texts))]
    return Teams(
        voice_tools=np.array([tools[text] for text, _ in voices], dtype=np.int64),
        tools=tuple(tools),
        voices=tuple(spoken(text, "" if described == text else described) for text, described in voices),
        edges=tuple(edges),
        nodes=Ragged(_starts([len(graph.texts) for graph in graphs]), np.array(nodes, dtype=np.int64)),
        links=Ragged(_starts([len(graph.edges) for graph in graphs]), np.array(links, dtype=np.int64)),
        is_root=np.array(roots, dtype=np.int64),
    )


def teams_in(candidates: Candidates, context: Context) -> Teams:
    """The tables of the candidates' distinct graphs, made once for all features."""
    return context.shared("teams", candidates, lambda: teams_of(candidates.distinct_graphs))


def _starts(lengths: list[int]) -> IntArray:
    return np.concatenate(([0], np.cumsum(lengths, dtype=np.int64)))


def row_groups(candidates: Candidates) -> IntArray:
    """The group of each row."""
    return np.repeat(np.arange(len(candidates.offsets) - 1), np.diff(candidates.offsets))


def row_queries(candidates: Candidates) -> IntArray:
    """The query of each row."""
    return np.repeat(candidates.queries, np.diff(candidates.offsets))


def right_rows(groups: Groups) -> IntArray:
    """The rows whose candidate was right."""
    return np.flatnonzero(groups.labels > 0)


@dataclass(frozen=True, slots=True)
class Answers:
    """Which tool answered which query, in what words; a query that a tool answered twice in a trace counts once."""

    queries: IntArray  # codes into query_texts
    tools: IntArray
    voices: IntArray  # what the tool said of itself

    @classmethod
    def of(cls, groups: Groups, context: Context) -> "Answers":
        """Who answered the queries of the groups: the right tools, or the tools in the right graphs."""
        candidates, rows = groups.candidates, right_rows(groups)
        queries, traces = row_queries(candidates)[rows], candidates.traces[row_groups(candidates)[rows]]
        asked = traces * max(len(candidates.query_texts), 1) + queries
        if candidates.kind == "tool":
            tools, voices = candidates.names[rows], tools_in(candidates, context).codes[rows]
        else:
            teams = teams_in(candidates, context)
            nodes = teams.nodes.take(candidates.graphs[rows])
            asked, voices = np.repeat(asked, nodes.lengths), nodes.codes
            tools = teams.voice_tools[voices]
        _, first = np.unique(asked * (int(tools.max(initial=0)) + 1) + tools, return_index=True)
        return cls(asked[first] % max(len(candidates.query_texts), 1), tools[first], voices[first])


def table(texts: Sequence[str], **columns: Array) -> dict[str, Any]:
    """Texts, and columns beside them, as a state keeps them."""
    content, ends = packed(texts)
    return {"texts": content, "ends": ends, **columns}


def table_texts(kept: dict[str, Any]) -> tuple[str, ...]:
    """The texts of a table.

    >>> table_texts(table(["a", "b"], wins=np.array([1, 0])))
    ('a', 'b')
    """
    return unpacked(kept["texts"], kept["ends"])


def places(known: Sequence[Any], asked: Sequence[Any]) -> IntArray:
    """Where each of the asked stands among the known; -1 where it does not.

    >>> places(["a", "b"], ["b", "c"])
    array([ 1, -1])
    """
    at = {each: place for place, each in enumerate(known)}
    return np.array([at.get(each, -1) for each in asked], dtype=np.int64)


def looked_up(known: Sequence[Any], numbers: IntArray | FloatArray, asked: Sequence[Any]) -> FloatArray:
    """The number of each of the asked; 0 where it is not known.

    >>> looked_up(["a", "b"], np.array([5, 7]), ["b", "c"])
    array([7., 0.])
    """
    return np.append(numbers, 0).astype(np.float64)[places(known, asked)]
