"""Tools and their texts: from files that list tools, and from the objects that agents hand to a model.

A list holds tools or pages, as OpenAI, Anthropic, MCP and others write them; a page is `{"tools": [...]}` or
`{"tools": {name: {...}}}`, as it is or as the `result` of a JSON-RPC answer; a tool is flat, or stands under `function`
or, where it takes a text, under `custom`. Shapes are recognised by shape alone, and each key is read under every name
that these formats have for it.
"""

import json
from codecs import BOM_UTF8
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from ltr.errors import FieldError, FileError, UsageError
from ltr.files import read_bytes
from ltr.jsonl import FAILURES, decode_error, excerpt, is_json, key_text, records
from ltr.paths import AnyPath, shown

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
LARGEST_CATALOGUE = 256 << 20
A_LINE = {"": "one JSON object a line is needed"}
FIELDS = ("function", *NAMES, *DESCRIPTIONS, "inputs", *SCHEMAS)
LIST_NEEDED = "a list of tool objects (MCP, OpenAI or Anthropic) is needed"


class ToolText(NamedTuple):
    """The texts that describe a tool."""

    description: str = ""
    inputs: str = ""


ToolCatalogue = Mapping[str, ToolText]


def tool_text(name: str, description: str = "", inputs: str = "") -> str:
    """What an encoder reads of a tool; parts it does not have are left out.

    >>> tool_text("get_weather", "Weather of a city", "city")
    'Tool: get_weather. Description: Weather of a city Inputs: city'
    >>> tool_text("get_weather")
    'Tool: get_weather.'
    """
    parts = (("Description", description), ("Inputs", inputs))
    return " ".join([f"Tool: {name}.", *(f"{part}: {text}" for part, text in parts if text)])


def read_tools(path: AnyPath) -> dict[str, ToolText]:
    """The texts of tools by name, of a JSON document or of JSONL in any of the shapes that `listed_tools` reads.

    A name that comes twice is an error, and so is a catalogue without tools.
    """
    tools: dict[str, ToolText] = {}
    for where, document in _documents(path):
        try:
            for tool in listed_tools(document):
                if tool.name in tools:
                    raise FieldError(tool.path, f"found {excerpt(tool.name)} again; one entry a tool is needed")
                tools[tool.name] = ToolText(tool.description, tool.inputs)
        except FieldError as cause:
            raise FileError(where, str(cause)) from cause
    if not tools:
        raise FileError(shown(path), "no tools; at least one is needed")
    return tools


def all_tools(paths: Iterable[AnyPath]) -> dict[str, ToolText]:
    """The tools of several catalogues; a name that two of them have is an error."""
    tools: dict[str, ToolText] = {}
    for path in paths:
        more = read_tools(path)
        if twice := next((name for name in more if name in tools), None):
            raise FileError(shown(path), f"found {excerpt(twice)}, which another catalogue has; names must differ")
        tools |= more
    return tools


def _documents(path: AnyPath) -> Iterator[tuple[str, Any]]:
    """The one document that the content is, or that of each line; before it the place that an error names."""
    content = read_bytes(path, limit=LARGEST_CATALOGUE).removeprefix(BOM_UTF8)
    try:
        document = msgspec.json.decode(content)
        if isinstance(document, dict) and isinstance(document.get("tools"), dict):
            json.loads(content, object_pairs_hook=_refuse_repeated_keys)
        yield shown(path), document
        return
    except FieldError as cause:
        raise FileError(shown(path), str(cause)) from cause
    except FAILURES as failure:
        if not is_json(content.lstrip().split(b"\n", 1)[0]):
            raise FileError(shown(path), str(decode_error(content, failure, NEEDED))) from failure
    lines = enumerate(content.split(b"\n"), start=1)
    for number, document in records(path, lines, object, A_LINE):
        yield f"{shown(path)}:{number}", document


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of the pairs. Decoders keep the last of two equal keys in silence, and a tool would be lost."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FieldError(excerpt(twice), "stands twice in one object: keep one of them")
    return content


def foreign_catalogue(names: Collection[str], catalogue: ToolCatalogue) -> str:
    """What is wrong with a catalogue that names fewer than half of the tools: it is one of other tools; else "".

    >>> foreign_catalogue(["a", "b", "c"], {"a": ToolText("")})
    'the catalogue names 1 of 3 tools; name one that has at least half of them, or none'
    """
    named = sum(name in catalogue for name in names)
    if not catalogue or 2 * named >= len(names):
        return ""
    return f"the catalogue names {named:,} of {len(names):,} tools; name one that has at least half of them, or none"


def united(catalogues: Sequence[ToolCatalogue]) -> dict[str, ToolText]:
    """Return the tools of all catalogues, such as those of shards, each as the first of them has it.

    >>> united([{"a": ToolText("first")}, {"b": ToolText(), "a": ToolText("second")}])
    {'a': ToolText(description='first', inputs=''), 'b': ToolText(description='', inputs='')}
    """
    first, *others = catalogues or ({},)
    tools = dict(first)
    for catalogue in others:
        for name, text in catalogue.items():
            tools.setdefault(name, text)
    return tools


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
        raise UsageError(f"tools is {excerpt(tools)}; {LIST_NEEDED}")
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
