"""The text of a tool that learned features read."""

from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList, tools_of_rows
from ltr.features.feature_context import Context
from ltr.features.row_queries import RowTexts
from ltr.features.tokenization import pieces


def plain_tool_text(name: str, description: str = "") -> str:
    """Return the text of a tool that learned features read: the pieces of its name, then its description.

    >>> plain_tool_text("getWeather", "Weather of a city"), plain_tool_text("getWeather")
    ('get weather: Weather of a city', 'get weather')
    """
    return f"{pieces(name)}: {description}" if description else pieces(name)


def plain_texts(tools: ToolList) -> tuple[str, ...]:
    """Return the text of each tool."""
    return tuple(plain_tool_text(name, text.description) for name, text in zip(tools.names, tools.texts, strict=True))


def distinct_tools(candidates: Candidates, context: Context) -> RowTexts:
    """Return the texts of the distinct tools, each name with each of its texts, and which of them each row has."""
    tools, codes = context.shared(tools_of_rows, candidates)
    return RowTexts(plain_texts(tools), codes)
