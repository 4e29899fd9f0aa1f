"""Catalogues give the texts of candidates once, instead of on every line."""

from ltr.data.catalogues.graphs import (
    GraphCatalogue,
    GraphEntry,
    GraphKey,
    graph_columns,
    key_of,
    own_graph,
    read_graphs,
)
from ltr.data.catalogues.tools import ToolCatalogue, ToolText, read_tools, retold, tool_columns

__all__ = [
    "GraphCatalogue",
    "GraphEntry",
    "GraphKey",
    "ToolCatalogue",
    "ToolText",
    "graph_columns",
    "key_of",
    "own_graph",
    "read_graphs",
    "read_tools",
    "retold",
    "tool_columns",
]
