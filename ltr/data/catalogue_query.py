"""A catalogue offered to a query: one group of all its candidates."""

import numpy as np

from ltr.data.catalogues.graphs import GraphCatalogue, GraphKey
from ltr.data.catalogues.tools import ToolCatalogue
from ltr.data.groups import Candidates
from ltr.data.schema import Kind

NOTHING = np.empty(0, dtype=np.int64)


def offered_tools(query: str, tools: ToolCatalogue) -> Candidates:
    """The query with every tool of the catalogue.

    >>> from ltr.data.catalogues.tools import ToolText
    >>> offered_tools("weather?", {"get_weather": ToolText("of a city")}).name_texts
    ('get_weather',)
    """
    every = np.arange(len(tools))
    return _offered("tool", query, tuple(tools), texts=every, tool_texts=tuple(tools.values()))


def offered_graphs(query: str, graphs: GraphCatalogue) -> Candidates:
    """The query with every graph of the catalogue, named by its whole key where its id alone is not enough."""
    every = np.arange(len(graphs))
    types = [entry.candidate_type or "" for entry in graphs.values()]
    return _offered(
        "graph",
        query,
        _names(list(graphs)),
        types=every,
        type_texts=tuple(types),
        graphs=every,
        distinct_graphs=tuple(entry.graph for entry in graphs.values()),
    )


def _names(keys: list[GraphKey]) -> tuple[str, ...]:
    ids = [candidate_id for _, _, candidate_id in keys]
    return tuple(ids) if len(set(ids)) == len(ids) else tuple("/".join(key) for key in keys)


def _offered(kind: Kind, query: str, names: tuple[str, ...], **columns: object) -> Candidates:
    empty = {
        "texts": NOTHING,
        "tool_texts": (),
        "types": NOTHING,
        "type_texts": (),
        "graphs": NOTHING,
        "distinct_graphs": (),
    }
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
        features=None,
        feature_names=(),
        lines=np.zeros(len(names), dtype=np.int64),
        files=(),
        **(empty | columns),  # type: ignore[arg-type]
    )
