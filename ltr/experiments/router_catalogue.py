"""Which tools a router ranks when a query comes alone."""

from ltr.data.candidates import Candidates
from ltr.data.catalogues.tools import ToolCatalogue, read_tools
from ltr.data.config import DataConfig
from ltr.data.tool_texts import ToolText


def tools_to_rank(candidates: Candidates, data: DataConfig) -> ToolCatalogue | None:
    """What a router ranks when a query comes alone: the tools of the training samples, and all of data.tools.

    Of two texts that the samples give a tool the first counts. None for graphs.
    """
    if candidates.kind != "tool":
        return None
    tools: dict[str, ToolText] = {}
    for name, text in zip(candidates.names.tolist(), candidates.texts.tolist(), strict=True):
        tools.setdefault(candidates.name_texts[name], candidates.tool_texts[text])
    if data.tools is None or candidates.features is not None:  # columns hold their texts: no catalogue was read
        return tools
    return {**tools, **read_tools(data.tools)}
