"""What can be ranked, as columns without labels."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.data.source_files import SourceFile, place
from ltr.data.tool_texts import ToolText, replace_texts

if TYPE_CHECKING:
    from ltr.data.catalogues.tools import ToolCatalogue
    from ltr.data.draw_rules_and_probabilities import Draws
    from ltr.data.graphs import Graph
    from ltr.data.schema import Kind

Past = Literal["logged", "labels", "own"]  # the log, right tools, a model's own first choices
NO_CODES = np.empty(0, dtype=np.int64)  # of tools, the types and graphs
LISTED_NODES = 6  # of a graph, where a person reads its name


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Candidates:
    """The columns that are known when queries are ranked, a row for each candidate; no labels.

    A code is an index into the table named beside it. A table holds each value once, and only what is used.
    """

    kind: "Kind"
    offsets: IntArray  # (groups + 1,): group g owns rows offsets[g]:offsets[g + 1], at least one
    traces: IntArray  # (groups,) codes into trace_ids
    trace_ids: tuple[str, ...]
    node_ids: tuple[str, ...]  # one a group
    queries: IntArray  # (groups,) codes into query_texts
    query_texts: tuple[str, ...]
    names: IntArray  # (rows,) codes into name_texts: tool names or candidate ids
    name_texts: tuple[str, ...]
    texts: IntArray  # (rows,) codes into tool_texts; empty for graphs
    tool_texts: "tuple[ToolText, ...]"
    types: IntArray  # (rows,) codes into type_texts; empty for tools; a graph without a type has ""
    type_texts: tuple[str, ...]
    graphs: IntArray  # (rows,) codes into distinct_graphs; empty for tools
    distinct_graphs: "tuple[Graph, ...]"
    features: FloatArray | None  # (rows, n) ready numbers
    feature_names: tuple[str, ...]
    lines: IntArray  # (rows,) line numbers counted through all files, for `place`
    files: tuple[SourceFile, ...]
    fit: str = ""  # digest of the fitted features that ready numbers come from; "": not known
    are_applied: bool = False  # ready numbers of features fitted on other samples, not cross-fitted
    catalogues: tuple[SourceFile, ...] = ()  # files that gave texts or trees of candidates
    draws: "Draws | None" = None  # which rows were added to those of the log; None: none was
    contexts: IntArray | None = None  # (groups,) codes into context_texts; None where no group has one
    context_texts: tuple[str, ...] = ()  # the conversation before a query; "" where a group has none
    previous: IntArray | None = None  # (groups,) codes into previous_lists; None where no group has one
    previous_lists: tuple[tuple[str, ...], ...] = ()  # names used before in the trace, in order; () where none is known
    repeated: str = ""  # that the samples have candidates twice, of which each counts once; "": they have not
    past: Past = "logged"  # what they are made of

    @property
    def is_logged(self) -> BoolArray:
        """Whether the log offered each row: a drawn one says nothing of how often a candidate was offered."""
        rows = int(self.offsets[-1])
        return np.ones(rows, dtype=bool) if self.draws is None else self.draws.are_logged

    def place(self, row: int) -> tuple[str, int]:
        """File and line that the row comes from."""
        return place(self.files, int(self.lines[row]))


def with_tool_texts(candidates: Candidates, tools: "ToolCatalogue") -> Candidates:
    """The candidates; a tool without a text has that of the catalogue."""
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
