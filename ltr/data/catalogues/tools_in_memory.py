"""Tools in memory: the objects that agents hand to a model, as MCP, OpenAI and Anthropic write them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ltr.data.catalogues.tool_list_formats import DESCRIPTIONS, NAMES, SCHEMAS, listed_tool
from ltr.data.tool_texts import ToolText
from ltr.data.value_excerpts import excerpt
from ltr.errors import FieldError, UsageError

FIELDS = ("function", *NAMES, *DESCRIPTIONS, "inputs", *SCHEMAS)
NEEDED = "a list of tool objects (MCP, OpenAI or Anthropic) is needed"


@dataclass(frozen=True, slots=True)
class OfferedTools:
    """Tools with their texts, and the objects that they came as."""

    names: tuple[str, ...]
    texts: tuple[ToolText, ...]
    objects: tuple[object, ...]


def offered_tools(tools: object) -> OfferedTools:
    """The tools of a list of mappings, or of objects with such attributes; an error names the place of a wrong one.

    The answer of an MCP server, which holds such a list under `tools`, is taken as that list.

    >>> offered_tools([{"name": "add", "description": "Adds."}, {"function": {"name": "mean"}}]).names
    ('add', 'mean')
    """
    page = tools.get("tools") if isinstance(tools, Mapping) else getattr(tools, "tools", None)
    listed = tools if page is None else page
    if isinstance(listed, str | bytes | Mapping) or not isinstance(listed, Iterable):
        raise UsageError(f"tools is {excerpt(tools)}; {NEEDED}")
    objects = tuple(listed)
    places: dict[str, int] = {}
    texts = []
    for place, tool in enumerate(objects):
        try:
            listed = listed_tool(f"tools[{place}]", _plain(tool))
        except FieldError as cause:
            raise UsageError(str(cause)) from cause
        before = places.setdefault(listed.name, place)
        if before != place:
            problem = f"found {excerpt(listed.name)} again; tools[{before}] has that name, and names must differ"
            raise UsageError(f"tools[{place}]: {problem}")
        texts.append(ToolText(listed.description, listed.inputs))
    return OfferedTools(tuple(places), tuple(texts), objects)


def _plain(tool: object) -> object:
    """The tool as a dict of the fields that say something; what has none of them as it is."""
    if isinstance(tool, Mapping):
        values = {key: tool[key] for key in FIELDS if key in tool}
    elif isinstance(tool, str | bytes | type | None):
        return tool
    else:
        values = {key: getattr(tool, key) for key in FIELDS if hasattr(tool, key)}
        if not values:
            return tool  # refused as what it is
    if values.get("function") is not None:
        values["function"] = _plain(values["function"])
    return values
