"""A candidate graph: its nodes, their texts, its edges, and one text that describes the whole graph."""

import hashlib
from dataclasses import dataclass

import msgspec

from ltr.data.json_decode_errors import FAILURES, decode_error
from ltr.data.value_excerpts import excerpt
from ltr.errors import FieldError

NodeId = int | str

CHILDREN = 5  # nodes that graph_text names after the root
NEEDED = {
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


class Node(msgspec.Struct):
    """A node in a file; other keys are ignored."""

    id: NodeId
    name: str | None = None
    task: str | None = None
    description: str | None = None


class Edge(msgspec.Struct):
    """An edge in a file, which may be a pair of ids instead."""

    source: NodeId
    target: NodeId


class Tree(msgspec.Struct):
    """A graph in a file."""

    nodes: list[Node] = []
    edges: list[Edge | tuple[NodeId, NodeId]] = []


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


def decode_graph(tree: bytes) -> Graph:
    """The graph that a tree's JSON describes. An integer id and its decimal text are the same id.

    >>> tree = b'{"nodes": [{"id": "a", "name": "search"}, {"id": 2, "task": "sum up"}], "edges": [["a", 2]]}'
    >>> decode_graph(tree)
    Graph(names=('search', ''), texts=('search', 'sum up'), descriptions=('', ''), edges=((0, 1),))
    """
    try:
        decoded = msgspec.json.decode(tree, type=Tree)
    except FAILURES as failure:
        path, problem = decode_error(tree, failure, NEEDED).args
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


def graph_digest(graph: Graph, candidate_type: str) -> str:
    """What tells a candidate from others: its type, nodes and edges, whatever its id is."""
    return hashlib.blake2b(msgspec.json.encode((candidate_type, graph)), digest_size=8).hexdigest()


def graph_text(graph: Graph) -> str:
    """`Root: T0. Children: T1 -> ... -> T5. Structure: n nodes, m edges`; T are the texts of the first nodes.

    >>> graph_text(Graph(texts=("plan", "search", "write"), edges=((0, 1), (0, 2))))
    'Root: plan. Children: search -> write. Structure: 3 nodes, 2 edges'

    A lone node has no children to name, and a graph without nodes has nothing to say.

    >>> graph_text(Graph(texts=("plan",)))
    'Root: plan. Structure: 1 nodes, 0 edges'
    >>> graph_text(Graph())
    ''
    """
    if not graph.texts:
        return ""
    root, children = graph.texts[0], graph.texts[1 : 1 + CHILDREN]
    named = f" Children: {' -> '.join(children)}." if children else ""
    return f"Root: {root}.{named} Structure: {len(graph.texts)} nodes, {len(graph.edges)} edges"
