"""Lists of tools as OpenAI, Anthropic, MCP and others write them, recognised by shape alone.

A list holds tools or pages; a page is `{"tools": [...]}` or `{"tools": {name: {...}}}`, as it is or as the `result`
of a JSON-RPC answer; a tool is flat, or stands under `function` or, where it takes a text, under `custom`. Each key
is read under every name that these formats have for it.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from ltr.data.json_decode_errors import FAILURES
from ltr.data.value_excerpts import excerpt, key_text
from ltr.errors import FieldError

HOLDERS = ("function", "custom")
NAMES = ("name", "toolName")
DESCRIPTIONS = ("description", "desc")
SCHEMAS = ("parameters", "inputSchema", "input_schema", "parameters_json_schema")
BRANCHES = ("allOf", "anyOf", "oneOf")
NEEDED = {
    "": 'a list of tools (OpenAI, Anthropic, MCP tools/list), {"tools": ...}, or a tool a line is needed',
    "tool": 'an object such as {"name": ..., "description": ...} is needed',
    "name": "the name of a tool is needed",
    "description": "a text is needed",
    "schema": 'a JSON Schema such as {"type": "object", "properties": {...}} is needed',
    "result": "the result of tools/list is needed",
}


class ListedTool(NamedTuple):
    """A tool and where in the document it stands."""

    path: str
    name: str
    description: str
    inputs: str  # the names of its parameters, or what the list has in their place


def listed_tools(document: Any) -> Iterator[ListedTool]:
    """Every tool of a document in any of the shapes, in its order; a FieldError names what cannot be used.

    >>> [tool.name for tool in listed_tools([{"type": "function", "function": {"name": "add"}}, {"name": "sum"}])]
    ['add', 'sum']
    """
    is_list = isinstance(document, list)
    for index, page in enumerate(document if is_list else [document]):
        path = f"[{index}]" if is_list else ""
        value = page
        if isinstance(page, dict) and "jsonrpc" in page:
            path, value = _joined(path, "result"), page.get("result", page.get("error"))
            if not (isinstance(value, dict) and "tools" in value):
                raise FieldError(path, f"found {excerpt(value)}; {NEEDED['result']}")
        elif isinstance(page, dict) and isinstance(page.get("result"), dict):
            path, value = _joined(path, "result"), page["result"]
        tools = value.get("tools") if isinstance(value, dict) else None
        if isinstance(tools, dict):
            for name, tool in tools.items():
                yield listed_tool(_joined(path, f"tools.{key_text(name)}"), tool, name)
        elif isinstance(tools, list):
            for number, tool in enumerate(tools):
                yield listed_tool(_joined(path, f"tools[{number}]"), tool)
        else:
            yield listed_tool(path, value)


def listed_tool(path: str, value: Any, name_of_page: str | None = None) -> ListedTool:
    """The tool at the path. A page that maps names to tools gives its name."""
    if not isinstance(value, dict):
        raise FieldError(path, f"found {excerpt(value)}; {NEEDED['tool' if path else '']}")
    if holder := next((key for key in HOLDERS if isinstance(value.get(key), dict)), ""):
        path, value = _joined(path, holder), value[holder]
    key, name = _first(value, NAMES) if name_of_page is None else ("", name_of_page)
    if name is None:
        raise FieldError(_joined(path, key), f"missing; {NEEDED['name']}")
    if not isinstance(name, str) or not name.strip():
        raise FieldError(_joined(path, key) if key else path, f"found {excerpt(name)}; {NEEDED['name']}")
    whose = f" for the tool {excerpt(name)}" if name_of_page is None else ""
    key, description = _first(value, DESCRIPTIONS)
    if not isinstance(description, str | None):
        raise FieldError(_joined(path, key), f"found {excerpt(description)}{whose}; {NEEDED['description']}")
    return ListedTool(path, name, description or "", _inputs(path, value, whose))


def _inputs(path: str, tool: Mapping[str, object], whose: str) -> str:
    """Our own key `inputs`, a text or JSON; else the names of the schema's parameters."""
    own = tool.get("inputs")
    if isinstance(own, str):
        return own
    if own is not None:
        names = parameter_names(own)
        return ", ".join(names) if names else msgspec.json.encode(own).decode()
    key, schema = _first(tool, SCHEMAS)
    if isinstance(schema, str):  # a schema may stand in a text
        with suppress(*FAILURES):
            schema = msgspec.json.decode(schema) if schema.strip() else None
    if not isinstance(schema, dict | bool | None):
        raise FieldError(_joined(path, key), f"found {excerpt(tool[key])}{whose}; {NEEDED['schema']}")
    return ", ".join(parameter_names(schema))


def parameter_names(schema: object) -> list[str]:
    """The names of a JSON Schema's properties in their order, those of its branches after its own.

    >>> parameter_names({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}})
    ['city', 'days']
    """
    if not isinstance(schema, dict):
        return []
    branches = [branch for key in BRANCHES if isinstance(schema.get(key), list) for branch in schema[key]]
    properties = [part.get("properties") for part in (schema, *branches) if isinstance(part, dict)]
    return list(dict.fromkeys(name for names in properties if isinstance(names, dict) for name in names))


def _first(tool: Mapping[str, object], keys: tuple[str, ...]) -> tuple[str, object]:
    """The first of the keys that has a value, and the value."""
    return next(((key, tool[key]) for key in keys if tool.get(key) is not None), (keys[0], None))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
