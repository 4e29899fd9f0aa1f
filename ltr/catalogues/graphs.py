"""Candidate graphs: nodes, their texts, edges; and the catalogue that gives them, JSONL with a graph a line."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from ltr.catalogues.tools import read_tools
from ltr.errors import FieldError, FileError, LtrError, SampleError, UsageError
from ltr.files import read_lines
from ltr.jsonl import FAILURES, decode_error, excerpt, records
from ltr.paths import STDIN, AnyPath, shown

Id = int | str

CHILDREN = 5  # nodes that a text names after the root
TREE_NEEDED = {
    "": 'an object {"nodes": [...], "edges": [...]} is needed',
    "nodes": "a list of nodes is needed",
    "edges": "a list of edges is needed",
    "id": "a text or an integer is needed",
    "name": "a text is needed",
    "task": "a text is needed",
    "description": "a text is needed",
    "source": "the id of a node is needed",
    "target": "the id of a node is needed",
}
NO_TREE = (b"", b"null")
NEEDED = {
    "": "one JSON object a line is needed",
    "trace_id": "a text or an integer is needed",
    "node_id": "a text or an integer is needed",
    "candidate_id": "a text or an integer is needed",
    "candidate_type": "a text is needed",
    "tree": 'an object {"nodes": [...], "edges": [...]} is needed',
}
GRAPH_NEEDED = "an object with candidate_id and tree is needed, as samples have it"


class Node(msgspec.Struct):
    """A node in a file; other keys are ignored."""

    id: Id
    name: str | None = None
    task: str | None = None
    description: str | None = None


class Edge(msgspec.Struct):
    """An edge in a file, which may be a pair of ids instead."""

    source: Id
    target: Id


class Tree(msgspec.Struct):
    """A graph in a file."""

    nodes: list[Node] = []
    edges: list[Edge | tuple[Id, Id]] = []


@dataclass(frozen=True, slots=True)
class Graph:
    """Nodes in the order of the file, without their ids, and edges as pairs of node indices.

    The text of a node is its name, else its task, else its description, else empty.
    """

    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    edges: tuple[tuple[int, int], ...] = ()

    @property
    def is_sound(self) -> bool:
        """Whether it can be: what a tree was read into is, and a file that holds graphs may come from elsewhere.

        >>> Graph(("a",), ("a",), ("",), ((0, 0),)).is_sound, Graph(("a",), ("a",), ("",), ((0, 1),)).is_sound
        (True, False)
        """
        size = len(self.names)
        are_nodes = size == len(self.texts) == len(self.descriptions)
        return are_nodes and all(0 <= node < size for edge in self.edges for node in edge)

    @property
    def text(self) -> str:
        """Return `Root: T0. Children: T1 -> ... -> T5. Structure: n nodes, m edges`; T are the first nodes' texts.

        >>> Graph(texts=("plan", "search", "write"), edges=((0, 1), (0, 2))).text
        'Root: plan. Children: search -> write. Structure: 3 nodes, 2 edges'

        A lone node has no children to name, and a graph without nodes has nothing to say.

        >>> Graph(texts=("plan",)).text, Graph().text
        ('Root: plan. Structure: 1 nodes, 0 edges', '')
        """
        if not self.texts:
            return ""
        children = self.texts[1 : 1 + CHILDREN]
        named = f" Children: {' -> '.join(children)}." if children else ""
        return f"Root: {self.texts[0]}.{named} Structure: {len(self.texts)} nodes, {len(self.edges)} edges"

    def digest(self, candidate_type: str) -> str:
        """Return what tells a candidate from others: its type, nodes and edges, whatever its id is."""
        return hashlib.blake2b(msgspec.json.encode((candidate_type, self)), digest_size=8).hexdigest()


def decode_graph(tree: bytes) -> Graph:
    """The graph that a tree's JSON describes. An integer id and its decimal text are the same id.

    >>> tree = b'{"nodes": [{"id": "a", "name": "search"}, {"id": 2, "task": "sum up"}], "edges": [["a", 2]]}'
    >>> decode_graph(tree)
    Graph(names=('search', ''), texts=('search', 'sum up'), descriptions=('', ''), edges=((0, 1),))
    """
    try:
        decoded = msgspec.json.decode(tree, type=Tree)
    except FAILURES as failure:
        path, problem = decode_error(tree, failure, TREE_NEEDED).args
        raise FieldError(f"tree.{path}".rstrip("."), problem) from failure
    index_of: dict[str, int] = {}
    for index, node in enumerate(decoded.nodes):
        first = index_of.setdefault(str(node.id), index)
        if first != index:
            problem = f"found {excerpt(node.id)}; nodes[{first}] has it already, and each node needs its own"
            raise FieldError(f"tree.nodes[{index}].id", problem)
    edges = []
    for index, edge in enumerate(decoded.edges):
        source, target = edge if isinstance(edge, tuple) else (edge.source, edge.target)
        for end in (source, target):
            if str(end) not in index_of:
                raise FieldError(f"tree.edges[{index}]", f"found {excerpt(end)}; the id of a node is needed")
        edges.append((index_of[str(source)], index_of[str(target)]))
    return Graph(
        names=tuple(node.name or "" for node in decoded.nodes),
        texts=tuple(node.name or node.task or node.description or "" for node in decoded.nodes),
        descriptions=tuple(node.description or "" for node in decoded.nodes),
        edges=tuple(edges),
    )


class GraphEntry(NamedTuple):
    """A candidate in a catalogue of graphs."""

    graph: Graph
    candidate_type: str | None = None


GraphKey = tuple[str, str, str]  # trace_id, node_id, candidate_id
GraphCatalogue = Mapping[GraphKey, GraphEntry]


def graph_names(graphs: GraphCatalogue) -> tuple[str, ...]:
    """Return the ids of the graphs; whole keys where two graphs have the same id."""
    ids = tuple(candidate_id for _, _, candidate_id in graphs)
    return ids if len(set(ids)) == len(ids) else tuple("/".join(key) for key in graphs)


class _GraphLine(msgspec.Struct):
    trace_id: Id
    node_id: Id
    candidate_id: Id
    tree: msgspec.Raw = msgspec.Raw()
    candidate_type: str | None = None


class _OfferedGraph(msgspec.Struct):
    candidate_id: Id
    tree: msgspec.Raw = msgspec.Raw()
    candidate_type: str | None = None


def read_graphs(path: AnyPath) -> dict[GraphKey, GraphEntry]:
    """The graphs of JSONL by (trace_id, node_id, candidate_id); a key that comes twice is an error."""
    try:
        graphs = _read_entries(path)
    except SampleError as error:
        if str(path) != STDIN and _is_tool_catalogue(path):
            raise FileError(shown(path), "a catalogue of tools, which --tools takes; graphs are needed here") from error
        raise
    if not graphs:
        raise FileError(shown(path), "no graphs; at least one is needed")
    return graphs


def _is_tool_catalogue(path: AnyPath) -> bool:
    try:
        return bool(read_tools(path))
    except LtrError:
        return False


def _read_entries(path: AnyPath) -> dict[GraphKey, GraphEntry]:
    graphs: dict[GraphKey, GraphEntry] = {}
    for number, line in records(path, read_lines(path), _GraphLine, NEEDED):
        key = str(line.trace_id), str(line.node_id), str(line.candidate_id)
        try:
            if key in graphs:
                raise FieldError("candidate_id", f"found {excerpt(key[2])} again; one entry a candidate is needed")
            graphs[key] = _entry(line)
        except FieldError as cause:
            raise SampleError(shown(path), number, *cause.args) from cause
    return graphs


def _entry(line: _GraphLine | _OfferedGraph) -> GraphEntry:
    if bytes(line.tree) in NO_TREE:
        raise FieldError("tree", f"missing; {NEEDED['tree']}")
    return GraphEntry(decode_graph(bytes(line.tree)), line.candidate_type)


def offered_graphs(offered: Sequence[object]) -> dict[str, GraphEntry]:
    """Return graphs in memory by their ids: objects as samples have them. An error names the place of a wrong one.

    >>> list(offered_graphs([{"candidate_id": 7, "tree": {"nodes": [{"id": "a", "name": "search"}]}}]))
    ['7']
    """
    graphs: dict[str, GraphEntry] = {}
    for number, given in enumerate(offered):
        try:
            line = _offered_graph(given)
            if str(line.candidate_id) in graphs:
                raise FieldError("candidate_id", f"found {excerpt(line.candidate_id)} again; ids must differ")
            graphs[str(line.candidate_id)] = _entry(line)
        except FieldError as cause:
            field, problem = cause.args
            raise UsageError(f"offered[{number}]{field and '.'}{field}: {problem}") from cause
    return graphs


def _offered_graph(given: object) -> _OfferedGraph:
    if not isinstance(given, Mapping):
        raise FieldError("", f"found {excerpt(given)}; {GRAPH_NEEDED}")
    try:
        content = msgspec.json.encode(given)
    except (TypeError, ValueError, RecursionError) as error:
        raise FieldError("", f"cannot be written as JSON: {error}") from error
    try:
        return msgspec.json.decode(content, type=_OfferedGraph)
    except FAILURES as failure:
        raise decode_error(content, failure, NEEDED) from failure
