"""Catalogues: what can be ranked, with its texts, given once instead of on every line."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.catalogues.graphs import NO_TREE as NO_TREE
    from ltr.catalogues.graphs import Graph as Graph
    from ltr.catalogues.graphs import GraphCatalogue as GraphCatalogue
    from ltr.catalogues.graphs import GraphEntry as GraphEntry
    from ltr.catalogues.graphs import decode_graph as decode_graph
    from ltr.catalogues.graphs import graph_names as graph_names
    from ltr.catalogues.graphs import offered_graphs as offered_graphs
    from ltr.catalogues.graphs import read_graphs as read_graphs
    from ltr.catalogues.tools import HOLDERS as HOLDERS
    from ltr.catalogues.tools import ToolCatalogue as ToolCatalogue
    from ltr.catalogues.tools import ToolText as ToolText
    from ltr.catalogues.tools import all_tools as all_tools
    from ltr.catalogues.tools import foreign_catalogue as foreign_catalogue
    from ltr.catalogues.tools import listed_tools as listed_tools
    from ltr.catalogues.tools import offered_tools as offered_tools
    from ltr.catalogues.tools import read_tools as read_tools
    from ltr.catalogues.tools import tool_text as tool_text
    from ltr.catalogues.tools import united as united
else:
    from ltr.lazy import attach

    __getattr__, __dir__, __all__ = attach(__name__)
