"""Catalogues give the texts of candidates once, instead of on every line."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import msgspec
import numpy as np

from ltr.arrays import IntArray
from ltr.columns import Codes, place, recoded
from ltr.errors import FieldError, FileError, SampleError
from ltr.files import BYTE_ORDER_MARK, AnyPath, read_bytes, read_lines, shown
from ltr.graphs import Graph, decode_graph
from ltr.jsonlines import FAILURES, excerpt, explained, records, step
from ltr.samples import Samples
from ltr.schema import NO_TREE, Id

LARGEST_CATALOGUE = 256 << 20
NEEDED = {
    "": 'one JSON object a line, or {"tools": {name: {...}}}, is needed',
    "name": "the name of a tool is needed",
    "description": "a text is needed",
    "inputs": "a text or JSON is needed",
    "trace_id": "a text or an integer is needed",
    "node_id": "a text or an integer is needed",
    "candidate_id": "a text or an integer is needed",
    "candidate_type": "a text is needed",
    "tree": 'an object {"nodes": [...], "edges": [...]} is needed',
}
A_LINE = {"": "one JSON object a line is needed"}


class ToolText(NamedTuple):
    """What a tool says of itself."""

    description: str = ""
    inputs: str = ""


class GraphEntry(NamedTuple):
    """What a graph catalogue says of one candidate."""

    graph: Graph
    candidate_type: str | None = None


GraphKey = tuple[str, str, str]  # trace_id, node_id, candidate_id
ToolCatalogue = Mapping[str, ToolText]
GraphCatalogue = Mapping[GraphKey, GraphEntry]


class _Tool(msgspec.Struct):
    description: str | None = None
    inputs: Any = None


class _NamedTool(_Tool, kw_only=True):
    name: str


class _GraphLine(msgspec.Struct):
    trace_id: Id
    node_id: Id
    candidate_id: Id
    tree: msgspec.Raw = msgspec.Raw()
    candidate_type: str | None = None


def read_tools(path: AnyPath) -> dict[str, ToolText]:
    """The texts of tools by name, of a JSON document in one of SHAPES or of JSONL with a name a line.

    A name that comes twice is an error, and so is a catalogue without tools.
    """
    content = read_bytes(path, limit=LARGEST_CATALOGUE).removeprefix(BYTE_ORDER_MARK)
    entries = _document(path, content) if _is_document(content) else _named_lines(path, content)
    tools: dict[str, ToolText] = {}
    for where, name, text in entries:
        if not name.strip():
            raise FileError(where, f"name: found {excerpt(name)}; {NEEDED['name']}")
        if name in tools:
            raise FileError(where, f"name: found {excerpt(name)} again; one entry a tool is needed")
        tools[name] = text
    if not tools:
        raise FileError(shown(path), "no tools; at least one is needed")
    return tools


Entry = tuple[str, str, ToolText]  # the place to name in an error, the tool's name, its text


def _is_document(content: bytes) -> bool:
    """Whether the first line is not a tool by itself, so that only the whole can be one value."""
    first = content.lstrip().split(b"\n", 1)[0]
    try:
        line = msgspec.json.decode(first)
    except FAILURES:
        return True
    return not (isinstance(line, dict) and "name" in line)


def _named_lines(path: AnyPath, content: bytes) -> Iterator[Entry]:
    lines = enumerate(content.split(b"\n"), start=1)
    for number, tool in records(path, lines, _NamedTool, NEEDED | A_LINE):
        yield f"{shown(path)}:{number}", tool.name, _text(tool)


def _document(path: AnyPath, content: bytes) -> Iterator[Entry]:
    try:
        document = msgspec.json.decode(content)
    except FAILURES as failure:
        raise FileError(shown(path), str(explained(content, failure, NEEDED))) from failure
    for fits, entries in SHAPES:
        if fits(document):
            return entries(shown(path), document)
    raise FileError(shown(path), f"found {excerpt(document)}; {NEEDED['']}")


def _is_named_tools(document: Any) -> bool:
    return isinstance(document, dict) and isinstance(document.get("tools"), dict)


def _named_tools(path: str, document: Any) -> Iterator[Entry]:
    for name, tool in document["tools"].items():
        where = f"{path}: tools.{step(name)}"
        yield where, name, _text(_converted(where, tool))


def _converted(where: str, tool: Any) -> _Tool:
    try:
        return msgspec.convert(tool, _Tool)
    except msgspec.ValidationError as failure:
        cause = explained(msgspec.json.encode(tool), failure, NEEDED | {"": "an object is needed"})
        raise FileError(where, str(cause)) from failure


def _text(tool: _Tool) -> ToolText:
    inputs = tool.inputs if isinstance(tool.inputs, str | None) else msgspec.json.encode(tool.inputs).decode()
    return ToolText(tool.description or "", inputs or "")


# how a document is recognised and what it holds; the first that fits is taken
SHAPES: tuple[tuple[Callable[[Any], bool], Callable[[str, Any], Iterator[Entry]]], ...] = (
    (_is_named_tools, _named_tools),
)


def read_graphs(path: AnyPath) -> dict[GraphKey, GraphEntry]:
    """The graphs of JSONL by (trace_id, node_id, candidate_id); a key that comes twice is an error."""
    graphs: dict[GraphKey, GraphEntry] = {}
    for number, line in records(path, read_lines(path), _GraphLine, NEEDED | A_LINE):
        key = str(line.trace_id), str(line.node_id), str(line.candidate_id)
        try:
            if key in graphs:
                raise FieldError("candidate_id", f"found {excerpt(key[2])} again; one entry a candidate is needed")
            if bytes(line.tree) in NO_TREE:
                raise FieldError("tree", f"missing; {NEEDED['tree']}")
            graphs[key] = GraphEntry(decode_graph(bytes(line.tree)), line.candidate_type)
        except FieldError as cause:
            raise SampleError(shown(path), number, *cause.args) from cause
    if not graphs:
        raise FileError(shown(path), "no graphs; at least one is needed")
    return graphs


def tool_columns(samples: Samples, catalogue: ToolCatalogue) -> tuple[IntArray, tuple[ToolText, ...]]:
    """Each row's text and the distinct ones: the catalogue's by name, else the row's own."""
    own = tuple(ToolText(description) for description in samples.description_texts)
    if samples.kind != "tool" or not catalogue:
        return samples.descriptions, own
    pairs, distinct = recoded(samples.names * len(own) + samples.descriptions)
    codes = Codes()
    of_pair = [
        codes[catalogue.get(samples.name_texts[name], own[description])]
        for name, description in zip(*(part.tolist() for part in np.divmod(distinct, len(own))), strict=True)
    ]
    return np.array(of_pair)[pairs], tuple(codes)


def graph_columns(
    samples: Samples, catalogue: GraphCatalogue
) -> tuple[IntArray, tuple[str, ...], IntArray, tuple[Graph, ...]]:
    """Each row's type and graph and the distinct ones: the catalogue's by key, else the row's own."""
    types, graphs, decoded = Codes(), Codes(), Codes()
    type_codes, graph_codes = np.empty_like(samples.types), np.empty_like(samples.trees)
    for row, (tree, own_type) in enumerate(zip(samples.trees.tolist(), samples.types.tolist(), strict=True)):
        entry = catalogue.get(_key(samples, row)) if catalogue else None
        if entry is None and tree not in decoded:
            decoded[tree] = graphs[_own_graph(samples, row)]
        given_type = entry.candidate_type if entry else None
        type_codes[row] = types[samples.type_texts[own_type] if given_type is None else given_type]
        graph_codes[row] = graphs[entry.graph] if entry else decoded[tree]
    return type_codes, tuple(types), graph_codes, tuple(graphs)


def _key(samples: Samples, row: int) -> GraphKey:
    group = samples.groups[row]
    trace_id, node_id = samples.trace_ids[samples.traces[group]], samples.node_ids[samples.nodes[group]]
    return trace_id, node_id, samples.name_texts[samples.names[row]]


def _own_graph(samples: Samples, row: int) -> Graph:
    """The graph on the row's own line; with ready features it may be missing, and is empty then."""
    tree = samples.tree_texts[samples.trees[row]]
    try:
        if tree not in NO_TREE:
            return decode_graph(tree)
        if samples.features is None:
            raise FieldError("tree", "missing, here and in the graph catalogue; " + NEEDED["tree"])
    except FieldError as cause:
        raise SampleError(*place(samples.files, int(samples.lines[row])), *cause.args) from cause
    return Graph()
