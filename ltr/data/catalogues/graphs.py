"""The catalogue of graphs: JSONL, a graph a line."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from ltr.arrays import IntArray
from ltr.data.catalogues.tools import read_tools
from ltr.data.graphs import Graph, decode_graph
from ltr.data.integer_codes import Codes
from ltr.data.json_decode_errors import FAILURES, decode_error
from ltr.data.jsonlines import records
from ltr.data.sample_reader import Samples
from ltr.data.schema import NO_TREE, Id
from ltr.data.source_files import place
from ltr.data.value_excerpts import excerpt
from ltr.errors import FieldError, FileError, LtrError, SampleError, UsageError
from ltr.files.path_arguments import STDIN, AnyPath, shown
from ltr.files.reading import read_lines

NEEDED = {
    "": "one JSON object a line is needed",
    "trace_id": "a text or an integer is needed",
    "node_id": "a text or an integer is needed",
    "candidate_id": "a text or an integer is needed",
    "candidate_type": "a text is needed",
    "tree": 'an object {"nodes": [...], "edges": [...]} is needed',
}
GRAPH_NEEDED = "an object with candidate_id and tree is needed, as samples have it"


class GraphEntry(NamedTuple):
    """A candidate in a catalogue of graphs."""

    graph: Graph
    candidate_type: str | None = None


GraphKey = tuple[str, str, str]  # trace_id, node_id, candidate_id
GraphCatalogue = Mapping[GraphKey, GraphEntry]


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


def graph_columns(
    samples: Samples, catalogue: GraphCatalogue
) -> tuple[IntArray, tuple[str, ...], IntArray, tuple[Graph, ...]]:
    """Type codes, types, graph codes and graphs: those of the catalogue by key, else the row's own."""
    types, graphs, decoded = Codes(), Codes(), Codes()
    type_codes, graph_codes = np.empty_like(samples.types), np.empty_like(samples.trees)
    for row, (tree, own_type) in enumerate(zip(samples.trees.tolist(), samples.types.tolist(), strict=True)):
        entry = catalogue.get(graph_key(samples, row)) if catalogue else None
        if entry is None and tree not in decoded:
            decoded[tree] = graphs[own_graph(samples, row)]
        catalogue_type = entry.candidate_type if entry else None
        type_codes[row] = types[samples.type_texts[own_type] if catalogue_type is None else catalogue_type]
        graph_codes[row] = graphs[entry.graph] if entry else decoded[tree]
    return type_codes, tuple(types), graph_codes, tuple(graphs)


def graph_key(samples: Samples, row: int) -> GraphKey:
    """The key of the row in a catalogue of graphs."""
    group = samples.groups[row]
    trace_id, node_id = samples.trace_ids[samples.traces[group]], samples.node_ids[samples.nodes[group]]
    return trace_id, node_id, samples.name_texts[samples.names[row]]


def own_graph(samples: Samples, row: int) -> Graph:
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
