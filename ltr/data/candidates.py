"""What can be ranked, as columns without labels: of samples, or of a query and all of a catalogue."""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, offsets_of
from ltr.data.columns import NO_CODES, Coded, Column, Fields, Places, Table, Texts, at, json_table
from ltr.data.draw_rules_and_probabilities import LOGGED, PROBABILITIES, RULES, Draws
from ltr.data.graphs import Graph
from ltr.data.schema import Kind
from ltr.data.source_files import SourceFile, place
from ltr.data.tool_texts import ToolText, replace_texts

if TYPE_CHECKING:
    from ltr.data.catalogues.graphs import GraphCatalogue
    from ltr.data.catalogues.tools import ToolCatalogue

Past = Literal["logged", "labels", "own"]  # the log, right tools, a model's own first choices
LISTED_NODES = 6  # of a graph, where a person reads its name

TEXTS = Table(
    ToolText._fields,
    lambda texts: [[getattr(text, name) for text in texts] for name in ToolText._fields],
    lambda *parts: tuple(ToolText(*texts) for texts in zip(*parts, strict=True)),
)
GRAPHS = json_table(Graph, is_sound=lambda graph: graph.is_sound)
OF_TOOLS = Coded("rows", "tool_texts", TEXTS, of_one_kind=True)
TYPES = Coded("rows", "type_texts", of_one_kind=True, absent=NO_CODES)
OF_GRAPHS = Coded("rows", "distinct_graphs", GRAPHS, of_one_kind=True, absent=NO_CODES)
CONTEXTS = Coded("groups", "context_texts", absent="")
PREVIOUS = Coded("groups", "previous_lists", json_table(tuple[str, ...]), absent=())


def _no_codes() -> IntArray:
    return NO_CODES


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Candidates:
    """The columns that are known when queries are ranked, a row for each candidate; no labels.

    A code is an index into the table named beside it. A table holds each value once, and only what is used.
    """

    kind: Kind
    offsets: IntArray  # (groups + 1,): group g owns rows offsets[g]:offsets[g + 1], at least one
    traces: IntArray = field(metadata={"column": Coded("groups", "trace_ids")})
    trace_ids: tuple[str, ...]
    node_ids: tuple[str, ...] = field(metadata={"column": Texts("groups")})
    queries: IntArray = field(metadata={"column": Coded("groups", "query_texts")})
    query_texts: tuple[str, ...]
    names: IntArray = field(metadata={"column": Coded("rows", "name_texts")})  # of tools, or ids of candidates
    name_texts: tuple[str, ...]
    texts: IntArray = field(default_factory=_no_codes, metadata={"column": OF_TOOLS})  # empty for graphs
    tool_texts: tuple[ToolText, ...] = ()
    types: IntArray = field(default_factory=_no_codes, metadata={"column": TYPES})  # empty for tools
    type_texts: tuple[str, ...] = ()  # "" where a graph has none
    graphs: IntArray = field(default_factory=_no_codes, metadata={"column": OF_GRAPHS})  # empty for tools
    distinct_graphs: tuple[Graph, ...] = ()
    features: FloatArray | None = field(default=None, metadata={"column": Column("rows")})  # (rows, n) ready numbers
    feature_names: tuple[str, ...] = ()
    lines: IntArray = field(metadata={"column": Column("rows")})  # counted through all files, for `place`
    files: tuple[SourceFile, ...] = ()
    fit: str = ""  # digest of the fitted features that ready numbers come from; "": not known
    are_applied: bool = False  # ready numbers of features fitted on other samples, not cross-fitted
    catalogues: tuple[SourceFile, ...] = ()  # files that gave texts or trees of candidates
    draw_rules: IntArray | None = field(default=None, metadata={"column": RULES})
    draw_probabilities: FloatArray | None = field(default=None, metadata={"column": PROBABILITIES})
    contexts: IntArray | None = field(default=None, metadata={"column": CONTEXTS})
    context_texts: tuple[str, ...] = ()  # the conversation before a query
    previous: IntArray | None = field(default=None, metadata={"column": PREVIOUS})
    previous_lists: tuple[tuple[str, ...], ...] = ()  # names used before in the trace, in order; () where none is known
    repeated: str = ""  # that the samples have candidates twice, of which each counts once; "": they have not
    past: Past = "logged"  # what they are made of

    @property
    def draws(self) -> Draws | None:
        """Which rows were added to those of the log; None: none was."""
        return Draws.of(self.draw_rules, self.draw_probabilities)

    @property
    def is_logged(self) -> BoolArray:
        """Whether the log offered each row: a drawn one says nothing of how often a candidate was offered."""
        rows = int(self.offsets[-1])
        return np.ones(rows, dtype=bool) if self.draw_rules is None else self.draw_rules == LOGGED

    def place(self, row: int) -> tuple[str, int]:
        """File and line that the row comes from."""
        return place(self.files, int(self.lines[row]))


def tool_candidates(query: str, tools: "ToolCatalogue") -> Candidates:
    """Return the query with every tool of the catalogue.

    >>> tool_candidates("weather?", {"get_weather": ToolText("of a city")}).name_texts
    ('get_weather',)
    """
    return _candidates("tool", query, tuple(tools), texts=np.arange(len(tools)), tool_texts=tuple(tools.values()))


def graph_names(graphs: "GraphCatalogue") -> tuple[str, ...]:
    """Return the ids of the graphs; whole keys where two graphs have the same id."""
    ids = tuple(candidate_id for _, _, candidate_id in graphs)
    return ids if len(set(ids)) == len(ids) else tuple("/".join(key) for key in graphs)


def graph_candidates(query: str, graphs: "GraphCatalogue") -> Candidates:
    """Return the query with every graph of the catalogue."""
    codes = np.arange(len(graphs))
    return _candidates(
        "graph",
        query,
        graph_names(graphs),
        types=codes,
        type_texts=tuple(entry.candidate_type or "" for entry in graphs.values()),
        graphs=codes,
        distinct_graphs=tuple(entry.graph for entry in graphs.values()),
    )


def _candidates(kind: Kind, query: str, names: tuple[str, ...], **of_rows: Any) -> Candidates:
    """Return one group without a key, of the query and candidates of these names."""
    none = np.zeros(1, dtype=np.int64)
    return Candidates(
        kind=kind,
        offsets=np.array([0, len(names)]),
        traces=none,
        trace_ids=("",),
        node_ids=("",),
        queries=none,
        query_texts=(query,),
        names=np.arange(len(names)),
        name_texts=names,
        lines=np.zeros(len(names), dtype=np.int64),
        **of_rows,
    )


def with_rows(candidates: Candidates, groups: IntArray, rows: IntArray, sizes: IntArray) -> Candidates:
    """Return these groups with these rows, so many each, and tables cut to what they use."""
    places: Places = {"groups": groups, "rows": rows}
    return replace(candidates, offsets=offsets_of(sizes), **at(Candidates, candidates, places, cut=True))


def rows_repeated(candidates: Candidates, times: int) -> Fields:
    """Return the columns of rows, and offsets, of so many groups that each have all rows of the candidates."""
    number = len(candidates.lines)
    rows = slice(None) if times == 1 else np.tile(np.arange(number), times)
    return {"offsets": np.arange(times + 1) * number, **at(Candidates, candidates, {"rows": rows})}


def with_tool_texts(candidates: Candidates, tools: "ToolCatalogue") -> Candidates:
    """Return the candidates; a tool without a text has that of the catalogue."""
    if candidates.kind != "tool" or candidates.features is not None:
        return candidates
    names, own = (candidates.names, candidates.name_texts), (candidates.texts, candidates.tool_texts)
    texts, tool_texts = replace_texts(names, own, lambda name, text: text if any(text) else tools.get(name, text))
    return replace(candidates, texts=texts, tool_texts=tool_texts)


def key_order(candidates: Candidates) -> IntArray:
    """The rank of each row's name among all names in byte order, which breaks ties of scores."""
    texts = candidates.name_texts  # UTF-8 keeps the order of code points, and so does Python's comparison
    ranks = np.empty(len(texts), dtype=np.int64)
    ranks[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
    return ranks[candidates.names]


def candidate_text(candidates: Candidates, row: int) -> str:
    """The name of a tool; the id of a graph with its first nodes, because an id alone says nothing."""
    name = candidates.name_texts[candidates.names[row]]
    if not candidates.graphs.size:
        return name
    texts = candidates.distinct_graphs[candidates.graphs[row]].texts
    more = ", ..." if len(texts) > LISTED_NODES else ""
    return f"{name} ({', '.join(texts[:LISTED_NODES])}{more})"
