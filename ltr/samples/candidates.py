"""What can be ranked, as columns without labels: of samples, or of a query and all of a catalogue."""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np

from ltr.arrays import BoolArray, Codes, FloatArray, IntArray, distinct, offsets_of, recoded
from ltr.catalogues import Graph, GraphCatalogue, ToolCatalogue, ToolText, graph_names
from ltr.errors import DataError
from ltr.samples.columns import NO_CODES, Coded, Column, Fields, Places, Table, Texts, at, json_table
from ltr.samples.draws import LOGGED, PROBABILITIES, RULES, Draws
from ltr.samples.schema import Kind

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


FRAME, LIST, DATASET = "<data frame>", "<list>", "<dataset>"  # samples that were given in Python: they have no path
GIVEN_IN_PYTHON = (FRAME, LIST, DATASET)


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file that was read, and how many lines the files before it have."""

    path: str
    before: int
    line_count: int = 0
    sha256: str = ""
    byte_count: int = 0


def place(files: Sequence[SourceFile], line: int) -> tuple[str, int]:
    """The file, and the line number in it, of a line number that counts through all files.

    >>> place([SourceFile("a.jsonl", 0), SourceFile("b.jsonl", 10)], 12)
    ('b.jsonl', 2)
    """
    source = files[bisect_left(files, line, key=lambda source: source.before) - 1]
    return source.path, line - source.before


def replace_texts(
    names: tuple[IntArray, tuple[str, ...]],
    texts: tuple[IntArray, tuple[ToolText, ...]],
    text_of: Callable[[str, ToolText], ToolText],
) -> tuple[IntArray, tuple[ToolText, ...]]:
    """A text code for each row, and the texts: `text_of` the name and the present text of the row.

    Names and texts come as codes and the table that they point into.
    """
    pairs, distinct = recoded(names[0] * len(texts[1]) + texts[0])
    codes = Codes()
    of_pair = [
        codes[text_of(names[1][name], texts[1][text])]
        for name, text in zip(*(part.tolist() for part in np.divmod(distinct, len(texts[1]))), strict=True)
    ]
    return np.array(of_pair)[pairs], tuple(codes)


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

    @classmethod
    def of_tools(cls, query: str, tools: ToolCatalogue) -> Self:
        """Return the query with every tool of the catalogue.

        >>> Candidates.of_tools("weather?", {"get_weather": ToolText("of a city")}).name_texts
        ('get_weather',)
        """
        texts = {"texts": np.arange(len(tools)), "tool_texts": tuple(tools.values())}
        return cls._of_query("tool", query, tuple(tools), **texts)

    @classmethod
    def of_graphs(cls, query: str, graphs: GraphCatalogue) -> Self:
        """Return the query with every graph of the catalogue."""
        codes = np.arange(len(graphs))
        types = {"types": codes, "type_texts": tuple(entry.candidate_type or "" for entry in graphs.values())}
        trees = {"graphs": codes, "distinct_graphs": tuple(entry.graph for entry in graphs.values())}
        return cls._of_query("graph", query, graph_names(graphs), **types, **trees)

    @classmethod
    def _of_query(cls, kind: Kind, query: str, names: tuple[str, ...], **of_rows: Any) -> Self:
        """Return one group without a key, of the query and candidates of these names."""
        none = np.zeros(1, dtype=np.int64)
        return cls(
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

    @property
    def known_past(self) -> Past | None:
        """What the past of the queries is made of; None where nothing is known of it."""
        return None if self.previous is None else self.past

    def past_lists(self) -> list[tuple[str, ...]]:
        """Return what was done before each group."""
        if self.previous is None:
            return [()] * len(self.node_ids)
        return [self.previous_lists[code] for code in self.previous.tolist()]

    def take(self, groups: IntArray, rows: IntArray, sizes: IntArray) -> Self:
        """Return these groups with these rows, so many each, and tables cut to what they use."""
        places: Places = {"groups": groups, "rows": rows}
        return replace(self, offsets=offsets_of(sizes), **at(Candidates, self, places, cut=True))

    def rows_repeated(self, times: int) -> Fields:
        """Return the columns of rows, and offsets, of so many groups that each have all rows of these candidates."""
        number = len(self.lines)
        rows = slice(None) if times == 1 else np.tile(np.arange(number), times)
        return {"offsets": np.arange(times + 1) * number, **at(Candidates, self, {"rows": rows})}

    def with_texts(self, tools: ToolCatalogue) -> Self:
        """Return the candidates; a tool without a text has that of the catalogue."""
        if self.kind != "tool" or self.features is not None:
            return self
        names, own = (self.names, self.name_texts), (self.texts, self.tool_texts)
        texts, tool_texts = replace_texts(names, own, lambda name, text: text if any(text) else tools.get(name, text))
        return replace(self, texts=texts, tool_texts=tool_texts)

    def first_texts(self, rows: IntArray | None = None) -> dict[str, ToolText]:
        """Return each tool with the text of its first row, in order of these rows, or of all."""
        names, texts = self.names, self.texts
        if rows is not None:
            names, texts = names[rows], texts[rows]
        first = np.unique(distinct(names)[0])
        pairs = zip(names[first].tolist(), texts[first].tolist(), strict=True)
        return {self.name_texts[name]: self.tool_texts[text] for name, text in pairs}

    def key_order(self) -> IntArray:
        """Return the rank of each row's name among all names in byte order, which breaks ties of scores."""
        texts = self.name_texts  # UTF-8 keeps the order of code points, and so does Python's comparison
        ranks = np.empty(len(texts), dtype=np.int64)
        ranks[sorted(range(len(texts)), key=texts.__getitem__)] = np.arange(len(texts))
        return ranks[self.names]

    def text(self, row: int) -> str:
        """Return the name of a tool; the id of a graph with its first nodes, because an id alone says nothing."""
        name = self.name_texts[self.names[row]]
        if not self.graphs.size:
            return name
        texts = self.distinct_graphs[self.graphs[row]].texts
        more = ", ..." if len(texts) > LISTED_NODES else ""
        return f"{name} ({', '.join(texts[:LISTED_NODES])}{more})"


@dataclass(frozen=True, slots=True)
class ToolList:
    """Distinct pairs of a name and a text, in no order that means anything."""

    names: tuple[str, ...]
    texts: tuple[ToolText, ...]

    def part(self, first: int, last: int) -> "ToolList":
        """Return those of the places first:last."""
        return ToolList(self.names[first:last], self.texts[first:last])


def tools_of_rows(candidates: Candidates, _: object = None) -> tuple[ToolList, IntArray]:
    """Return the distinct tools of the rows, and which of them each row has; features share it by their context."""
    pairs = candidates.names * len(candidates.tool_texts) + candidates.texts
    first, codes = distinct(pairs)
    names, texts = (column[first].tolist() for column in (candidates.names, candidates.texts))
    of_pairs = (
        tuple(candidates.name_texts[name] for name in names),
        tuple(candidates.tool_texts[text] for text in texts),
    )
    return ToolList(*of_pairs), codes


def unnamed(count: int) -> tuple[str, ...]:
    """The names of columns that nobody named.

    >>> unnamed(2)
    ('x1', 'x2')
    """
    return tuple(f"x{number}" for number in range(1, count + 1))


def refuse_other_columns(names: tuple[str, ...], columns: tuple[str, ...]) -> None:
    """Raise unless the columns of samples are those of the model; unnamed ones need only be as many."""
    are_unnamed = columns == unnamed(len(columns)) or names == unnamed(len(names))
    if columns != names and not (are_unnamed and len(columns) == len(names)):
        raise DataError(f"the samples bear the features {', '.join(columns)}; the model has {', '.join(names)}")
