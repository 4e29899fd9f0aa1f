"""One query and a whole catalogue: a group of all its candidates."""

from typing import TYPE_CHECKING

import numpy as np

from ltr.arrays import IntArray
from ltr.data.candidates import Candidates
from ltr.data.tool_texts import ToolText

if TYPE_CHECKING:
    from ltr.data.catalogues.graphs import GraphCatalogue
    from ltr.data.catalogues.tools import ToolCatalogue
    from ltr.data.graphs import Graph
    from ltr.data.schema import Kind

NO_CODES = np.empty(0, dtype=np.int64)


def tool_candidates(query: str, tools: "ToolCatalogue") -> Candidates:
    """The query with every tool of the catalogue.

    >>> from ltr.data.tool_texts import ToolText
    >>> tool_candidates("weather?", {"get_weather": ToolText("of a city")}).name_texts
    ('get_weather',)
    """
    return _candidates("tool", query, tuple(tools), texts=np.arange(len(tools)), tool_texts=tuple(tools.values()))


def graph_names(graphs: "GraphCatalogue") -> tuple[str, ...]:
    """The ids of the graphs; whole keys where two graphs have the same id."""
    ids = tuple(candidate_id for _, _, candidate_id in graphs)
    return ids if len(set(ids)) == len(ids) else tuple("/".join(key) for key in graphs)


def graph_candidates(query: str, graphs: "GraphCatalogue") -> Candidates:
    """The query with every graph of the catalogue."""
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


def _candidates(
    kind: "Kind",
    query: str,
    names: tuple[str, ...],
    *,
    texts: IntArray = NO_CODES,
    tool_texts: "tuple[ToolText, ...]" = (),
    types: IntArray = NO_CODES,
    type_texts: tuple[str, ...] = (),
    graphs: IntArray = NO_CODES,
    distinct_graphs: "tuple[Graph, ...]" = (),
) -> Candidates:
    """One group without a key, of the query and candidates of these names."""
    return Candidates(
        kind=kind,
        offsets=np.array([0, len(names)]),
        traces=np.zeros(1, dtype=np.int64),
        trace_ids=("",),
        node_ids=("",),
        queries=np.zeros(1, dtype=np.int64),
        query_texts=(query,),
        names=np.arange(len(names)),
        name_texts=names,
        texts=texts,
        tool_texts=tool_texts,
        types=types,
        type_texts=type_texts,
        graphs=graphs,
        distinct_graphs=distinct_graphs,
        features=None,
        feature_names=(),
        lines=np.zeros(len(names), dtype=np.int64),
        files=(),
    )
