"""The text of a tool that learned features read."""

from ltr.features.tokenization import pieces


def plain_tool_text(name: str, description: str = "") -> str:
    """The text of a tool that learned features read: the pieces of its name, then its description.

    >>> plain_tool_text("getWeather", "Weather of a city"), plain_tool_text("getWeather")
    ('get weather: Weather of a city', 'get weather')
    """
    return f"{pieces(name)}: {description}" if description else pieces(name)
