"""Lists of tools as OpenAI, Anthropic, MCP and others write them, recognised by shape alone.

A list holds tools or pages; a page is `{"tools": [...]}` or `{"tools": {name: {...}}}`, as it is or as the `result`
of a JSON-RPC answer; a tool is flat or stands under `function`. Keys go by every name they are known under.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import msgspec

from ltr.data.jsonlines import FAILURES, excerpt, step
from ltr.errors import FieldError

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
    inputs: str  # the names of its parameters, or what the list gives in their place


def listed(document: Any) -> Iterator[ListedTool]:
    """Every tool of a document in any of the shapes, in its order; a FieldError names what cannot be used.

    >>> [tool.name for tool in listed([{"type": "function", "function": {"name": "add"}}, {"name": "sum"}])]
    ['add', 'sum']
    """
    if not isinstance(document, list):
        yield from _page("", document)
        return
    for index, value in enumerate(document):
        yield from _page(f"[{index}]", value)


def _page(path: str, value: Any) -> Iterator[ListedTool]:
    """The tools of a page, or the one tool that the value is."""
    if isinstance(value, dict) and "jsonrpc" in value:
        path, value = _joined(path, "result"), value.get("result", value.get("error"))
        if not (isinstance(value, dict) and "tools" in value):
            raise FieldError(path, f"found {excerpt(value)}; {NEEDED['result']}")
    elif isinstance(value, dict) and isinstance(value.get("result"), dict):
        path, value = _joined(path, "result"), value["result"]
    tools = value.get("tools") if isinstance(value, dict) else None
    if isinstance(tools, dict):
        for name, tool in tools.items():
            yield _tool(_joined(path, f"tools.{step(name)}"), tool, {"name": name})
    elif isinstance(tools, list):
        for index, tool in enumerate(tools):
            yield _tool(_joined(path, f"tools[{index}]"), tool)
    else:
        yield _tool(path, value)


def _tool(path: str, value: Any, known: dict[str, Any] | None = None) -> ListedTool:
    if not isinstance(value, dict):
        raise FieldError(path, f"found {excerpt(value)}; {NEEDED['tool' if path else '']}")
    if isinstance(value.get("function"), dict):
        path, value = _joined(path, "function"), value["function"]
    key, name = _first({**value, **(known or {})}, NAMES)
    if name is None:
        raise FieldError(_joined(path, key), f"missing; {NEEDED['name']}")
    if not isinstance(name, str) or not name.strip():
        raise FieldError(path if known else _joined(path, key), f"found {excerpt(name)}; {NEEDED['name']}")
    of = "" if known else f" for the tool {excerpt(name)}"
    key, description = _first(value, DESCRIPTIONS)
    if not isinstance(description, str | None):
        raise FieldError(_joined(path, key), f"found {excerpt(description)}{of}; {NEEDED['description']}")
    return ListedTool(path, name, description or "", _inputs(path, value, of))


def _inputs(path: str, tool: dict[str, Any], of: str) -> str:
    """Our own `inputs`, a text or JSON; else the names of the schema's parameters."""
    own = tool.get("inputs")
    if isinstance(own, str):
        return own
    if own is not None:
        names = parameters(own)
        return ", ".join(names) if names else msgspec.json.encode(own).decode()
    key, schema = _first(tool, SCHEMAS)
    if isinstance(schema, str):
        schema = _decoded(schema)
    if not isinstance(schema, dict | bool | None):
        raise FieldError(_joined(path, key), f"found {excerpt(tool[key])}{of}; {NEEDED['schema']}")
    return ", ".join(parameters(schema))


def parameters(schema: Any) -> list[str]:
    """The names of a JSON Schema's properties in their order, those of its branches after its own.

    >>> parameters({"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}})
    ['city', 'days']
    """
    if not isinstance(schema, dict):
        return []
    branches = [branch for key in BRANCHES if isinstance(schema.get(key), list) for branch in schema[key]]
    held = [part.get("properties") for part in (schema, *branches) if isinstance(part, dict)]
    return list(dict.fromkeys(name for properties in held if isinstance(properties, dict) for name in properties))


def _decoded(text: str) -> Any:
    """The schema that stands in a text, or the text itself where none does."""
    try:
        return msgspec.json.decode(text) if text.strip() else None
    except FAILURES:
        return text


def _first(tool: dict[str, Any], keys: tuple[str, ...]) -> tuple[str, Any]:
    """The first of the keys that says something, and what it says."""
    return next(((key, tool[key]) for key in keys if tool.get(key) is not None), (keys[0], None))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
