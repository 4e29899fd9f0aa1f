"""What the learned features read of candidates: the texts of tools and of the nodes of graphs, each once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, distinct
from ltr.data.columns import Codes
from ltr.data.graphs import Graph
from ltr.data.groups import Candidates, Groups
from ltr.features.registry import Context
from ltr.features.words import Lexicon, Ragged, spoken


@dataclass(frozen=True, slots=True)
class Tools:
    """The distinct pairs of a name and a text among the rows."""

    codes: IntArray  # (rows,) into the two below
    names: IntArray  # (tools,) codes into the candidates' name_texts
    texts: tuple[str, ...]  # (tools,) as `spoken` says them


def tools_of(candidates: Candidates) -> Tools:
    """The tools of the rows."""
    pairs = candidates.names * len(candidates.tool_texts) + candidates.texts
    first, codes = distinct(pairs)
    names, texts = np.divmod(pairs[first], max(len(candidates.tool_texts), 1))
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
    link_voices: IntArray  # (links, 2): the voices at the ends of each
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
    ends: list[int] = []
    roots: list[int] = []
    for graph in graphs:
        texts = graph.texts
        own = [voices[voice] for voice in zip(texts, graph.descriptions, strict=True)]
        nodes += own
        ends += [own[end] for edge in graph.edges for end in edge]
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
        link_voices=np.array(ends, dtype=np.int64).reshape(-1, 2),
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
class Parts:
    """What each query asks: itself first, then its clauses where it has several; each distinct text once."""

    texts: tuple[str, ...]
    of_query: Ragged  # of each query codes into the texts

    @classmethod
    def of(cls, queries: Sequence[str], lexicon: Lexicon) -> "Parts":
        """The parts of some queries."""
        texts = Codes()
        codes: list[int] = []
        lengths = []
        for query in queries:
            clauses = lexicon.clauses(query)
            parts = [query, *clauses] if len(clauses) > 1 else [query]
            codes += [texts[part] for part in parts]
            lengths.append(len(parts))
        return cls(tuple(texts), Ragged(_starts(lengths), np.array(codes, dtype=np.int64)))

    def clauses_only(self) -> "Parts":
        """The same without the query itself, where it has clauses."""
        lengths = self.of_query.lengths
        keep = np.ones(len(self.of_query.codes), dtype=bool)
        keep[self.of_query.starts[:-1][lengths > 1]] = False
        starts = np.concatenate(([0], np.cumsum(np.where(lengths > 1, lengths - 1, lengths))))
        return Parts(self.texts, Ragged(starts, self.of_query.codes[keep]))

    def best(self, queries: IntArray, value: Callable[[IntArray, IntArray], FloatArray]) -> tuple[FloatArray, IntArray]:
        """Of each of the queries the largest value among its parts, and the first part that has it.

        `value` is asked for many parts at once, and at which of the queries each stands.
        """
        parts = self.of_query.take(queries)
        if not len(queries):
            return np.empty(0), parts.codes
        found = value(parts.codes, np.repeat(np.arange(len(queries)), parts.lengths))
        starts = parts.starts[:-1]
        largest = np.maximum.reduceat(found, starts)
        is_largest = found == np.repeat(largest, parts.lengths)
        first = np.minimum.reduceat(np.where(is_largest, np.arange(len(found)), len(found)), starts)
        return largest, parts.codes[first]


def parts_in(candidates: Candidates, context: Context) -> Parts:
    """The parts of the candidates' queries, found once for all features."""
    return context.shared("parts", candidates, lambda: Parts.of(candidates.query_texts, context.lexicon))


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
