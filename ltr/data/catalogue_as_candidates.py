"""One query and a whole catalogue: a group of all its candidates."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ltr.data.candidates import Candidates

if TYPE_CHECKING:
    from ltr.data.catalogues.graphs import GraphCatalogue
    from ltr.data.catalogues.tools import ToolCatalogue
    from ltr.data.schema import Kind


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


def _candidates(kind: "Kind", query: str, names: tuple[str, ...], **of_rows: Any) -> Candidates:
    """One group without a key, of the query and candidates of these names."""
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
