"""samples: every line is read as it is meant, or refused with file, line, field and what would be right."""

import json
import math
import random

import numpy as np
import pytest

from ltr.errors import DataError, SampleError
from ltr.files import write_lines
from ltr.samples.reader import Samples, read_samples

TOOL = {"trace_id": "t1", "node_id": "n1", "query": "weather in Paris?", "tool": "get_weather", "label": 1}
GRAPH = {
    "trace_id": "t1",
    "node_id": "n2",
    "query": "q",
    "candidate_id": "g0",
    "tree": {"nodes": []},
    "label": 0,
}


def tool(**fields: object) -> str:
    return json.dumps(TOOL | fields)


def read(tmp_path, *lines, labels_required=True) -> Samples:
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"\n".join(line if isinstance(line, bytes) else line.encode() for line in lines))
    return read_samples([path], labels_required=labels_required)


def refusal(tmp_path, *lines, **options) -> str:
    with pytest.raises(DataError) as error:
        read(tmp_path, *lines, **options)
    return str(error.value).replace(f"{tmp_path}/", "")


def test_a_tool_line_becomes_a_row_of_every_column(tmp_path):
    samples = read(tmp_path, tool(tool_description="Tells the weather."), "", tool(tool="sum", label=0.5, other=[{}]))
    assert samples.kind == "tool"
    assert [samples.name_texts[code] for code in samples.names] == ["get_weather", "sum"]
    assert [samples.description_texts[code] for code in samples.descriptions] == ["Tells the weather.", ""]
    assert samples.labels.tolist() == [1, 0.5]
    assert samples.lines.tolist() == [1, 3]
    assert samples.groups.tolist() == [0, 0]
    assert (samples.trace_ids, samples.node_ids, samples.query_texts) == (
        ("t1",),
        ("n1",),
        ("weather in Paris?",),
    )
    assert samples.features is None
    assert samples.weights is None
    assert samples.times is None


def test_a_graph_line_keeps_type_and_tree(tmp_path):
    samples = read(tmp_path, json.dumps(GRAPH | {"candidate_type": "chain"}), json.dumps(GRAPH | {"candidate_id": 7}))
    assert samples.kind == "graph"
    assert [samples.name_texts[code] for code in samples.names] == ["g0", "7"]
    assert [samples.type_texts[code] for code in samples.types] == ["chain", ""]
    assert samples.trees.tolist() == [0, 0]
    assert [json.loads(tree) for tree in samples.tree_texts] == [{"nodes": []}]


def test_a_line_may_hold_a_whole_group(tmp_path):
    candidates = [
        {"tool": "a", "label": 0, "features": [1, 2]},
        {"tool": "b", "label": 1, "features": [3, 4]},
    ]
    samples = read(tmp_path, json.dumps({"trace_id": 1, "node_id": 2, "query": "q", "candidates": candidates}))
    assert samples.labels.tolist() == [0, 1]
    assert samples.features.tolist() == [[1, 2], [3, 4]]
    assert samples.lines.tolist() == [1, 1]


def test_an_integer_id_is_its_decimal_text(tmp_path):
    samples = read(tmp_path, tool(trace_id=12), tool(trace_id="12", tool="sum"), tool(trace_id=10**40, tool="x"))
    assert samples.trace_ids == ("12", "1" + "0" * 40)
    assert samples.groups.tolist() == [0, 0, 1]


def test_lines_are_counted_through_all_files_and_each_file_is_fingerprinted(tmp_path):
    write_lines(tmp_path / "a.jsonl", [tool().encode()])
    write_lines(tmp_path / "b.jsonl.gz", [b"", tool(tool="sum").encode()])
    samples = read_samples([tmp_path / "a.jsonl", tmp_path / "b.jsonl.gz"])
    assert samples.lines.tolist() == [1, 3]
    assert [(file.before, file.line_count, file.byte_count) for file in samples.files] == [
        (0, 1, len(tool()) + 1),
        (1, 2, len(tool(tool="sum")) + 2),
    ]
    assert all(len(file.sha256) == 64 for file in samples.files)


def test_weight_and_time_belong_to_the_group(tmp_path):
    lines = [
        tool(weight=2, time="1970-01-02T00:00:00Z"),
        tool(tool="sum", weight=2.0, time=86400),
        tool(node_id="n2"),
    ]
    samples = read(tmp_path, *lines)
    assert samples.weights.tolist() == [2, 1]
    assert samples.times[0] == 86400
    assert math.isnan(samples.times[1])


def test_labels_may_be_missing_when_the_caller_says_so(tmp_path):
    samples = read(tmp_path, tool(label=None), tool(tool="sum"), labels_required=False)
    assert np.isnan(samples.labels).tolist() == [True, False]


def test_null_is_the_same_as_absent(tmp_path):
    absent = dict.fromkeys(("tool_description", "candidate_id", "candidate_type", "tree", "features"))
    samples = read(tmp_path, tool(**absent, weight=None, time=None, candidates=None))
    assert samples.features is None
    assert samples.weights is None


def deep(depth: int, value: object = 1) -> object:
    for _ in range(depth):
        value = [value]
    return value


LABEL = "1 (right), 0 (wrong) or a grade up to 1e300 is needed"
FEATURES = "a list of numbers from -1e300 to 1e300 is needed"
ID = "a text or an integer is needed"


OWN_NODE = "; each query of a trace needs a node_id of its own"


@pytest.mark.parametrize(
    "fields, problem",
    [
        ({"label": -1}, f"label: found -1; {LABEL}"),
        ({"label": True}, f"label: found true; {LABEL}; write 1 for true and 0 for false"),
        ({"label": "1"}, f"label: found '1'; {LABEL}"),
        ({"label": None}, f"label: missing; {LABEL}"),
        ({"label": [1]}, f"label: found [1]; {LABEL}"),
        ({"label": math.nan}, "label: found NaN; a finite number is needed"),
        ({"label": -math.inf}, "label: found -Infinity; a finite number is needed"),
        ({"trace_id": True}, f"trace_id: found true; {ID}"),
        ({"trace_id": 1.5}, f"trace_id: found 1.5; {ID}"),
        ({"node_id": None}, f"node_id: found null; {ID}"),
        ({"query": 3}, "query: found 3; a text is needed"),
        ({"tool": ""}, "tool: found ''; a name is needed"),
        ({"tool": " \t"}, "tool: found ' \\t'; a name is needed"),
        ({"tool": 3}, "tool: found 3; the name of a tool is needed"),
        ({"tool": None}, "tool: missing; tool, candidate_id or candidates is needed"),
        ({"candidate_id": "g"}, "candidate_id: stands beside tool; a candidate is a tool or a graph"),
        ({"candidate_id": "", "tool": None}, "candidate_id: found ''; a name is needed"),
        ({"features": [1, "2"]}, f"features[1]: found '2'; {FEATURES}"),
        ({"features": [1, True]}, f"features[1]: found true; {FEATURES}"),
        ({"features": [1, None]}, f"features[1]: found null; {FEATURES}"),
        ({"features": [1, math.inf]}, "features[1]: found Infinity; a finite number is needed"),
        ({"features": 1}, f"features: found 1; {FEATURES}"),
        ({"features": []}, f"features: found []; {FEATURES}"),
        ({"weight": 0}, "weight: found 0; a finite number above 0 is needed"),
        ({"time": "soon"}, "time: found 'soon'; seconds since 1970 or an ISO 8601 text is needed"),
        ({"tool_description": 1}, "tool_description: found 1; a text is needed"),
        ({"candidates": []}, "candidates: found []; at least one candidate is needed"),
        ({"candidates": [{"tool": "a"}]}, "tool: stands beside candidates; its place is inside one of them"),
        ({"candidates": [3]}, "candidates[0]: found 3; a list of objects with a tool or a candidate_id is needed"),
        ({"candidates": [{"label": "x"}]}, f"candidates[0].label: found 'x'; {LABEL}"),
        ({"query": "\ud800"}, "query: found half a surrogate pair in '\\ud800'; whole characters are needed"),
        ({"other": deep(800, math.nan)}, f"other{'[0]' * 19}: found NaN; a finite number is needed"),
        (
            {"other": {"a b": {"\x1b[2J": math.nan}}},
            "other.'a b'.'\\x1b[2J': found NaN; a finite number is needed",
        ),
        ({"label": "x" * 2_000_000}, f"label: found a value that cannot be used; {LABEL}"),
        (
            {"other": "\udc00x"},
            "other: found half a surrogate pair in '\\udc00x'; whole characters are needed",
        ),
    ],
)
def test_a_field_that_does_not_fit_is_refused_with_its_line(tmp_path, fields, problem):
    assert refusal(tmp_path, "", tool(**fields)) == f"s.jsonl:2: {problem}"


OBJECT = "one JSON object a line is needed"


@pytest.mark.parametrize(
    "line, problem",
    [
        ("[1]", f"found [1]; {OBJECT}"),
        ("3", f"found 3; {OBJECT}"),
        ("null", f"found null; {OBJECT}"),
        ("{", f"not JSON: it ends too soon; {OBJECT}"),
        (tool()[:40], f"not JSON: it ends too soon; {OBJECT}"),
        (tool() + tool(), f"not JSON: trailing characters (byte {len(tool()) + 1}); {OBJECT}"),
        (tool() + "\r" + tool(), f"not JSON: trailing characters (byte {len(tool()) + 2}); {OBJECT}"),
        ("\0", f"not JSON: invalid character (byte 0); {OBJECT}"),
        (b'{"other": "\xff"}', "byte 12 is not UTF-8"),
        (b'{"query": "\xed\xa0\x80"}', "byte 12 is not UTF-8"),
        ("{}", f"trace_id: missing; {ID}"),
        ('{"trace_id": 1, "node_id": 2}', "query: missing; a text is needed"),
        (tool().replace('"t1"', "1" * 5000), f"trace_id: found a value that cannot be used; {ID}"),
        (tool(label=7).replace("7", "1e999"), f"label: found Infinity; {LABEL}"),
        (tool(features=[7]).replace("7", "-1e999"), f"features[0]: found -Infinity; {FEATURES}"),
        (tool(other=7).replace("7", "[" * 10_000), f"nested too deep; {OBJECT}"),
        (tool(other=7).replace("7", "[" * 10_000 + "]" * 10_000), f"nested too deep; {OBJECT}"),
    ],
)  # fmt: skip
def test_a_line_that_is_not_a_sample_is_refused_with_its_line(tmp_path, line, problem):
    assert refusal(tmp_path, tool(), line) == f"s.jsonl:2: {problem}"


@pytest.mark.parametrize("core", ["1", "NaN"])
@pytest.mark.parametrize("depth", range(700, 1100, 9))
def test_nesting_around_the_limit_of_the_interpreter_is_one_clear_line(tmp_path, depth, core):
    nested = "[" * depth + core + "]" * depth
    text = refusal(tmp_path, f'{{"label": {nested}}}')
    assert text.startswith("s.jsonl:1: ")
    assert len(text) < 300


def test_a_number_of_features_that_changes_names_both_numbers(tmp_path):
    lines = [tool(tool=f"t{n}", features=[n, 2]) for n in range(11)]
    problem = "s.jsonl:12: features: found 3 numbers; the candidates before have 2 numbers"
    assert refusal(tmp_path, *lines, tool(features=[1, 2, 3])) == problem


def test_features_are_given_for_all_candidates_or_for_none(tmp_path):
    given, missing = tool(features=[1, 2]), tool(tool="sum")
    problem = "s.jsonl:2: features: found none; the candidates before have 2 numbers"
    assert refusal(tmp_path, given, missing) == problem
    problem = "s.jsonl:2: features: found 2 numbers; the candidates before have none"
    assert refusal(tmp_path, missing, given) == problem


def test_one_input_has_one_kind(tmp_path):
    problem = "s.jsonl:2: candidate_id: found a graph; the candidates before it are tools, and one kind is needed"
    assert refusal(tmp_path, tool(), json.dumps(GRAPH)) == problem
    problem = "s.jsonl:2: tool: found a tool; the candidates before it are graphs, and one kind is needed"
    assert refusal(tmp_path, json.dumps(GRAPH), tool()) == problem


@pytest.mark.parametrize(
    "fields, problem",
    [
        (
            {"query": "x" * 99},
            f"query: found '{'x' * 56}...; s.jsonl:1 has 'weather in Paris?' for the same group{OWN_NODE}",
        ),
        ({"weight": 3}, "weight: found 3.0; s.jsonl:1 has 2.0 for the same group"),
        ({"time": 5}, "time: found 5.0; s.jsonl:1 has 4.0 for the same group"),
    ],
)
def test_lines_of_one_group_must_agree_and_both_are_named(tmp_path, fields, problem):
    first, other = tool(weight=2, time=4), tool(node_id="n2")
    assert refusal(tmp_path, first, other, tool(**fields, tool="sum")) == f"s.jsonl:3: {problem}"


def test_the_field_of_a_candidate_inside_a_line_says_which_one(tmp_path):
    line = {
        "trace_id": 1,
        "node_id": 1,
        "query": "q",
        "candidates": [{"tool": "a", "label": 1}, {"tool": "b"}],
    }
    assert refusal(tmp_path, json.dumps(line)) == f"s.jsonl:1: candidates[1].label: missing; {LABEL}"


@pytest.mark.parametrize("lines", [[], ["", " \t\r", ""]])
def test_no_samples_at_all_is_an_error(tmp_path, lines):
    assert refusal(tmp_path, *lines) == "s.jsonl: no samples; at least one line is needed"


def test_crlf_a_byte_order_mark_and_u2028_change_nothing(tmp_path):
    plain = read(tmp_path, tool(query="a\u2028b", other="\u2028"), tool(tool="sum", query="a\u2028b"))
    lines = [
        json.dumps(TOOL | {"query": "a\u2028b", "tool": name}, ensure_ascii=False) for name in ("get_weather", "sum")
    ]
    odd = read(tmp_path, b"\xef\xbb\xbf" + "\r\n".join(lines).encode() + b"\r\n")
    assert odd.query_texts == plain.query_texts == ("a\u2028b",)
    assert odd.name_texts == plain.name_texts


def test_garbage_collection_is_on_again_after_a_refusal(tmp_path):
    import gc

    refusal(tmp_path, "{")
    assert gc.isenabled()


def rows_of(samples: Samples) -> list[tuple[object, ...]]:
    keys = [
        (samples.trace_ids[t], samples.node_ids[n], samples.query_texts[q])
        for t, n, q in zip(samples.traces, samples.nodes, samples.queries, strict=True)
    ]
    return [
        (*keys[group], samples.name_texts[name], samples.description_texts[text], label, tuple(features))
        for group, name, text, label, features in zip(
            samples.groups, samples.names, samples.descriptions, samples.labels, samples.features, strict=True
        )
    ]


def some_text(generator: random.Random) -> str:
    alphabet = 'ab"\\/\n\t\x00\x1f\x7f\x85é天\u2028\U0001f600 '
    return "".join(generator.choice(alphabet) for _ in range(generator.randrange(1, 12)))


def test_valid_rows_are_read_as_the_standard_library_reads_them(tmp_path):
    generator, lines = random.Random(0), []
    for n in range(20_000):
        group = generator.randrange(3000)
        numbers = [generator.choice([n, -n, 0, 1.5e-300 * n, 10**20, 2**63]), generator.gauss(0, 1)]
        row = {
            "trace_id": group % 100,
            "node_id": f"n{group}",
            "query": f"q{group}\u2028",
            "tool": "x" + some_text(generator),
            "tool_description": some_text(generator),
            "label": generator.choice([0, 1, 0.25, 3e30]),
            "features": numbers,
            some_text(generator): [some_text(generator), None, {}],
        }
        keys = list(row)
        generator.shuffle(keys)
        ordered = {key: row[key] for key in keys}
        lines.append(json.dumps(ordered, ensure_ascii=generator.random() < 0.5).encode())
    expected = [
        (str(row["trace_id"]), row["node_id"], row["query"], row["tool"], row["tool_description"],
         float(row["label"]), tuple(map(float, row["features"])))
        for row in map(json.loads, lines)
    ]  # fmt: skip
    assert rows_of(read(tmp_path, *lines)) == expected


def test_a_sample_error_tells_its_parts(tmp_path):
    with pytest.raises(SampleError) as error:
        read(tmp_path, tool(label=-1))
    assert error.value.args == (f"{tmp_path}/s.jsonl", 1, "label", f"found -1; {LABEL}")


def test_of_a_key_that_stands_twice_in_a_line_the_last_counts(tmp_path):
    samples = read(tmp_path, '{"trace_id": "t", "node_id": "n", "query": "q", "tool": "a", "label": 0, "label": 1}')
    assert samples.labels.tolist() == [1]
