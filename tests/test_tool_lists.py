"""Lists of tools as others write them: every shape gives the same two tools, and mistakes name file, tool and cure."""

import json

import pytest

from ltr import read_tools
from ltr.catalogues import ToolText
from ltr.errors import DataError

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}}
WEATHER, CLOCK = {"name": "get_weather", "description": "Weather of a city"}, {"name": "now"}
EXPECTED = {"get_weather": ToolText("Weather of a city", "city, days"), "now": ToolText()}

OPENAI_NESTED = [
    {"type": "function", "function": WEATHER | {"parameters": SCHEMA, "strict": True}},
    {"type": "function", "function": CLOCK},
]
OPENAI_FLAT = [{"type": "function", "parameters": SCHEMA} | WEATHER, {"type": "function"} | CLOCK]
ANTHROPIC = [WEATHER | {"input_schema": SCHEMA}, CLOCK | {"type": "custom", "input_schema": {"type": "object"}}]
MCP_TOOLS = [
    WEATHER | {"title": "Weather", "inputSchema": SCHEMA, "annotations": {"readOnlyHint": True}},
    CLOCK | {"inputSchema": {"type": "object", "properties": {}}, "outputSchema": SCHEMA},
]
PAGES = [{"tools": MCP_TOOLS[:1], "nextCursor": "abc"}, {"tools": MCP_TOOLS[1:]}]
ANSWERS = [{"jsonrpc": "2.0", "id": n, "result": page} for n, page in enumerate(PAGES)]
LANGFUSE = [
    {"toolName": "get_weather", "desc": "Weather of a city", "parameters_json_schema": json.dumps(SCHEMA)},
    CLOCK,
]

SHAPES = {
    "OpenAI, nested": OPENAI_NESTED,
    "OpenAI, flat": OPENAI_FLAT,
    "OpenAI, a whole request": {"model": "m", "messages": [], "tools": OPENAI_NESTED},
    "Anthropic": ANTHROPIC,
    "MCP result": {"tools": MCP_TOOLS, "nextCursor": None},
    "MCP answer": {"jsonrpc": "2.0", "id": 1, "result": {"tools": MCP_TOOLS}},
    "MCP result in a wrapper that is not JSON-RPC": {"result": {"tools": MCP_TOOLS}},
    "MCP pages": PAGES,
    "MCP answers": ANSWERS,
    "Langfuse": LANGFUSE,
    "ours": {"tools": {tool["name"]: {k: v for k, v in tool.items() if k != "name"} for tool in ANTHROPIC}},
    "ours, with schemas as inputs": {"tools": {"get_weather": WEATHER | {"inputs": SCHEMA}, "now": {}}},
}
LINES = {
    "OpenAI, nested": OPENAI_NESTED,
    "OpenAI, flat": OPENAI_FLAT,
    "Anthropic": ANTHROPIC,
    "MCP pages": PAGES,
    "MCP answers": ANSWERS,
    "MCP tools": MCP_TOOLS,
    "lists": [OPENAI_NESTED[:1], OPENAI_NESTED[1:]],
    "mixed": [PAGES[0], OPENAI_FLAT[1]],
}


def tools(tmp_path, content: str) -> dict[str, ToolText]:
    path = tmp_path / "tools.json"
    path.write_text(content, encoding="utf-8")
    return read_tools(path)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("indent", [None, 2])
def test_a_document_of_each_shape_gives_names_texts_and_parameters(tmp_path, shape, indent):
    assert tools(tmp_path, json.dumps(SHAPES[shape], indent=indent)) == EXPECTED


@pytest.mark.parametrize("shape", LINES)
def test_lines_of_each_shape_give_the_same(tmp_path, shape):
    assert tools(tmp_path, "\n".join(map(json.dumps, LINES[shape])) + "\n") == EXPECTED


def test_the_order_of_the_tools_is_that_of_the_list(tmp_path):
    assert list(tools(tmp_path, json.dumps(OPENAI_NESTED[::-1]))) == ["now", "get_weather"]


@pytest.mark.parametrize(
    "schema, inputs",
    [
        ({"type": "object"}, ""),
        (
            {"allOf": [{"properties": {"b": {}}}, {"properties": {"a": {}, "b": {}}}], "properties": {"c": {}}},
            "c, b, a",
        ),
        ({"anyOf": [{"type": "null"}, 3, {"properties": {"a": {}}}]}, "a"),
        ({"properties": [1]}, ""),
        (True, ""),
        ("", ""),
        (None, ""),
    ],
)
def test_inputs_are_the_names_of_the_properties(tmp_path, schema, inputs):
    assert tools(tmp_path, json.dumps([{"name": "a", "inputSchema": schema}])) == {"a": ToolText("", inputs)}


SCHEMA_NEEDED = 'a JSON Schema such as {"type": "object", "properties": {...}} is needed'


@pytest.mark.parametrize(
    "document, problem",
    [
        ({"foo": 1}, "name: missing; the name of a tool is needed"),
        ([{"type": "function", "function": {"description": "x"}}],
         "[0].function.name: missing; the name of a tool is needed"),
        ([{"type": "web_search"}], "[0].name: missing; the name of a tool is needed"),
        ({"tools": [{"name": "a"}, {"name": 3}]}, "tools[1].name: found 3; the name of a tool is needed"),
        ([{"toolName": "  "}], "[0].toolName: found '  '; the name of a tool is needed"),
        ({"tools": [{"name": "a", "description": 3}]},
         "tools[0].description: found 3 for the tool 'a'; a text is needed"),
        ([{"name": "a", "input_schema": [1]}], f"[0].input_schema: found [1] for the tool 'a'; {SCHEMA_NEEDED}"),
        ([{"name": "a", "parameters": "city"}], f"[0].parameters: found 'city' for the tool 'a'; {SCHEMA_NEEDED}"),
        ({"jsonrpc": "2.0", "id": 1, "error": {"code": -32601, "message": "no"}},
         'result: found {"code": -32601, "message": "no"}; the result of tools/list is needed'),
        ([*PAGES, PAGES[0]], "[2].tools[0]: found 'get_weather' again; one entry a tool is needed"),
    ],
)  # fmt: skip
def test_a_tool_that_cannot_be_used_is_named_with_what_would_be_right(tmp_path, document, problem):
    with pytest.raises(DataError) as error:
        tools(tmp_path, json.dumps(document))
    assert str(error.value) == f"{tmp_path}/tools.json: {problem}"


def test_a_page_that_cannot_be_used_is_named_by_its_line(tmp_path):
    with pytest.raises(DataError, match=r"tools.json:2: tools\[0\].name: missing; the name of a tool is needed"):
        tools(tmp_path, json.dumps(PAGES[0]) + '\n{"tools": [{}]}\n')
