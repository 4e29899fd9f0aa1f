"""catalogues: the texts of tools and the trees of graphs, given once."""

import json

import pytest

from ltr import read_graphs, read_tools
from ltr.catalogues import Graph, GraphEntry, ToolText
from ltr.errors import DataError, FileError


def tools(tmp_path, content: str | bytes) -> dict[str, ToolText]:
    path = tmp_path / "tools.json"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_tools(path)


def graphs(tmp_path, *lines: object) -> dict[tuple[str, str, str], GraphEntry]:
    path = tmp_path / "graphs.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return read_graphs(path)


def refusal(read, tmp_path, *content) -> str:
    with pytest.raises(DataError) as error:
        read(tmp_path, *content)
    return str(error.value).replace(f"{tmp_path}/", "")


def test_tools_by_name_in_one_document(tmp_path):
    document = {"tools": {"a": {"description": "does a", "inputs": {"city": "str"}}, "b": {"inputs": "x, y"}}}
    expected = {"a": ToolText("does a", '{"city":"str"}'), "b": ToolText("", "x, y")}
    assert tools(tmp_path, json.dumps(document)) == expected
    assert tools(tmp_path, json.dumps(document, indent=2)) == expected
    assert tools(tmp_path, b"\xef\xbb\xbf" + json.dumps(document).encode()) == expected


def test_tools_one_a_line(tmp_path):
    content = '{"name": "a", "description": "does a"}\r\n\n{"name": "b", "description": null, "other": 1}\n'
    assert tools(tmp_path, content) == {"a": ToolText("does a"), "b": ToolText()}
    assert tools(tmp_path, '{"name": "a"}') == {"a": ToolText()}


NEEDED = 'a list of tools (OpenAI, Anthropic, MCP tools/list), {"tools": ...}, or a tool a line is needed'
TOOL = 'an object such as {"name": ..., "description": ...} is needed'


@pytest.mark.parametrize(
    "content, problem",
    [
        ("", f"tools.json: not JSON: it ends too soon; {NEEDED}"),
        ("{", f"tools.json: not JSON: it ends too soon; {NEEDED}"),
        ("3", f"tools.json: found 3; {NEEDED}"),
        ("[3]", f"tools.json: [0]: found 3; {TOOL}"),
        ("[]", "tools.json: no tools; at least one is needed"),
        ('{"tools": {}}', "tools.json: no tools; at least one is needed"),
        (
            '{"tools": {"a": {"description": 3}}}',
            "tools.json: tools.a.description: found 3; a text is needed",
        ),
        ('{"tools": {"a": "x"}}', f"tools.json: tools.a: found 'x'; {TOOL}"),
        ('{"tools": {"": {}}}', "tools.json: tools.'': found ''; the name of a tool is needed"),
        ('{"name": "a"}\n{"name": 3}', "tools.json:2: name: found 3; the name of a tool is needed"),
        ('{"name": "a"}\n{"description": "b"}', "tools.json:2: name: missing; the name of a tool is needed"),
        ('{"name": "a"}\n\n{"name": "a"}', "tools.json:3: found 'a' again; one entry a tool is needed"),
        ('{"name": "a"}\n{', "tools.json:2: not JSON: it ends too soon; one JSON object a line is needed"),
        (
            '{"tools": {"a": {"inputs": NaN}}}',
            "tools.json: tools.a.inputs: found NaN; a finite number is needed",
        ),
        (b'{"tools": {"a\xff": {}}}', "tools.json: byte 14 is not UTF-8"),
        ("[" * 10_000, f"tools.json: nested too deep; {NEEDED}"),
    ],
)
def test_a_tool_catalogue_that_cannot_be_used_says_where(tmp_path, content, problem):
    assert refusal(tools, tmp_path, content) == problem


LINE = {"trace_id": 1, "node_id": "n", "candidate_id": "g0", "tree": {"nodes": [{"id": 1, "name": "a"}]}}


def test_graphs_by_trace_node_and_candidate(tmp_path):
    one = Graph(("a",), ("a",), ("",), ())
    assert graphs(tmp_path, LINE, LINE | {"candidate_id": 7, "candidate_type": "chain"}) == {
        ("1", "n", "g0"): GraphEntry(one, None),
        ("1", "n", "7"): GraphEntry(one, "chain"),
    }


@pytest.mark.parametrize(
    "lines, problem",
    [
        ([], "graphs.jsonl: no graphs; at least one is needed"),
        ([LINE, LINE], "graphs.jsonl:2: candidate_id: found 'g0' again; one entry a candidate is needed"),
        ([LINE | {"tree": None}],
         'graphs.jsonl:1: tree: missing; an object {"nodes": [...], "edges": [...]} is needed'),
        ([LINE | {"tree": {"edges": [[1, 2]]}}],
         "graphs.jsonl:1: tree.edges[0]: found 1; the id of a node is needed"),
        ([LINE | {"node_id": True}], "graphs.jsonl:1: node_id: found true; a text or an integer is needed"),
        ([3], "graphs.jsonl:1: found 3; one JSON object a line is needed"),
    ],
)  # fmt: skip
def test_a_graph_catalogue_that_cannot_be_used_says_where(tmp_path, lines, problem):
    assert refusal(graphs, tmp_path, *lines) == problem


def test_a_tool_that_stands_twice_in_a_mapping_is_refused(tmp_path):
    path = tmp_path / "tools.json"
    path.write_text('{"tools": {"a": {"description": "x"}, "a": {"description": "y"}}}')
    with pytest.raises(FileError, match=r"tools.json: 'a': stands twice in one object: keep one of them"):
        read_tools(path)
