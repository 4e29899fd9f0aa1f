"""First contact: a file that holds no samples is named for what it is, with the command or the change that mends it."""

import json

import pytest

import ltr
from ltr import audit_samples, read_groups
from ltr.errors import DataError
from tests.made import tool_rows, written

pytestmark = pytest.mark.contract

ROW = {"trace_id": "t1", "node_id": "n1", "query": "weather in Paris?", "tool": "get_weather", "label": 1}
OTHER = ROW | {"tool": "send_mail", "label": 0}
TOOLS = [{"type": "function", "function": {"name": name}} for name in ("get_weather", "send_mail")]
CALL = {"id": "1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
CHAT = {
    "messages": [{"role": "user", "content": "rain?"}, {"role": "assistant", "tool_calls": [CALL]}],
    "tools": TOOLS,
}
USES = [{"type": "tool_use", "id": "1", "name": "get_weather", "input": {}}]
ANTHROPIC = {
    "messages": [{"role": "user", "content": "rain?"}, {"role": "assistant", "content": USES}],
    "tools": [{"name": "get_weather", "input_schema": {}}, {"name": "send_mail", "input_schema": {}}],
}
POOL = {"tools": {"a": {"description": "x", "inputs": "y"}, "b": {"description": "x", "inputs": "y"}}}
GRAPHS = {"nodes": {}, "decisions": []}
FOREIGN = [
    ("log.jsonl", json.dumps(CHAT), "an OpenAI chat log", "openai"),
    ("log.json", json.dumps([CHAT, CHAT], indent=2), "an OpenAI chat log", "openai"),
    ("log of may.jsonl", json.dumps(ANTHROPIC), "an Anthropic chat log", "anthropic"),
    ("calls.json", json.dumps(GRAPHS, indent=1), "a tool pool, or calling graphs made with one", "calling-trees"),
    ("table.txt", "query,tool,label\nrain?,get_weather,1", "a table", "csv"),
    ("odd.csv", "utterance,function\nrain?,get_weather", "a table", "csv"),
    ("rank.txt", "1 qid:1 1:0.5\n0 qid:1 1:0.2", "a LETOR file", "letor"),
]
MENDED = [
    (repr(ROW), "these are Python's quotes: write each row with json.dumps(row)"),
    (
        json.dumps({**OTHER, "label": False}),
        "label: found false; 1 (right), 0 (wrong) or a grade up to 1e300 is needed",
    ),
    (json.dumps({("tool_name" if key == "tool" else key): value for key, value in ROW.items()}), "is tool meant?"),
]


def command(name, file):
    at_once = "" if file == "-" else f"; or, to train at once: ltr init --from {file}"
    return f"run: ltr import {name} {file} -o samples.jsonl{at_once}"


@pytest.mark.parametrize("name, content, title, importer", FOREIGN)
def test_every_command_that_reads_samples_names_a_foreign_file_and_the_next_command(
    cli, tmp_path, name, content, title, importer
):
    (tmp_path / name).write_text(content + "\n")
    file = f"'{name}'" if " " in name else name
    said = f"{name}: looks like {title}; {command(importer, file)}"
    written("train.jsonl", tool_rows(range(8)))
    cli.good("train", "train.jsonl", "-o", "run", "-q")
    for arguments in (
        ("train", name, "-o", "other"),
        ("train", "train.jsonl", "--test", name, "-o", "other"),
        ("evaluate", "run", name),
        ("featurize", name, "-o", "x.npz"),
        ("rank", "run", "--samples", name),
    ):
        assert cli.refused(*arguments) == (3, said), arguments
    assert cli.run("validate", name) == 3
    assert said.removeprefix(f"{name}: ") in cli.out
    assert "1 error" in cli.err


@pytest.mark.parametrize("line, mend", MENDED)
def test_what_only_looks_like_samples_gets_a_message_that_names_the_mend(tmp_path, line, mend):
    (tmp_path / "s.jsonl").write_text(line + "\n")
    with pytest.raises(DataError) as error:
        read_groups(tmp_path / "s.jsonl")
    assert mend in str(error.value)
    assert mend in audit_samples(tmp_path / "s.jsonl").findings[0].message


def test_a_list_of_tools_in_the_place_of_samples_is_named_for_what_it_is(cli, tmp_path):
    for name, content in (("list.json", TOOLS), ("mcp.json", [{"name": "a", "description": "b", "inputSchema": {}}])):
        (tmp_path / name).write_text(json.dumps(content))
        said = f"{name}: looks like a list of tools, which is named with --tools beside samples"
        assert cli.refused("train", name, "-o", "run") == (3, said)
        assert cli.refused("init", "--from", name) == (3, said)
    (tmp_path / "pool.json").write_text(json.dumps(POOL))
    assert cli.refused("train", "pool.json", "-o", "run")[1].endswith(said.partition(": ")[2])
    assert "or name it with --tools beside samples" in cli.refused("init", "--from", "pool.json")[1]


def test_init_names_a_mend_as_other_commands_do(cli, tmp_path):
    for line, mend in MENDED:
        (tmp_path / "s.jsonl").write_text(line + "\n")
        code, said = cli.refused("init", "--from", "s.jsonl")
        assert code == 3
        assert mend in said


def test_stdin_is_known_by_its_first_line(cli, monkeypatch):
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(json.dumps(CHAT).encode() + b"\n")))
    assert cli.refused("train", "-", "-o", "run")[1] == (
        f"<stdin>: looks like an OpenAI chat log; {command('openai', '-')}"
    )


def test_a_sample_with_an_error_is_no_foreign_file(tmp_path):
    lines = [{**ROW, "messages": [], "label": -1}, OTHER]
    with pytest.raises(DataError, match=r"s.jsonl:2: label: found -1"):
        read_groups(written(tmp_path / "s.jsonl", [OTHER, lines[0]]))


@pytest.mark.parametrize("indent", [None, 2])
def test_a_json_array_around_the_file_is_read_as_its_lines_are(tmp_path, indent):
    rows = list(tool_rows(range(12)))
    (tmp_path / "s.json").write_text("\n " + json.dumps(rows, indent=indent))
    lines, array = (read_groups(path) for path in (written(tmp_path / "s.jsonl", rows), tmp_path / "s.json"))
    assert array.labels.tolist() == lines.labels.tolist()
    assert array.candidates.name_texts == lines.candidates.name_texts
    assert audit_samples(tmp_path / "s.json").counts["groups"] == 24


def test_errors_in_an_array_name_the_line_on_which_the_value_begins(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps([ROW, {**OTHER, "label": -1}], indent=1))
    with pytest.raises(DataError, match=r"s.json:9: label: found -1"):
        read_groups(tmp_path / "s.json")


def test_an_array_that_is_cut_off_is_refused(tmp_path):
    (tmp_path / "s.json").write_text(json.dumps([ROW, OTHER])[:-20])
    with pytest.raises(DataError, match=r"s.json:1: not JSON"):
        read_groups(tmp_path / "s.json")


def test_an_array_can_be_featurised_to_lines(cli, tmp_path):
    rows = list(tool_rows(range(12)))
    (tmp_path / "s.json").write_text(json.dumps(rows, indent=2))
    written("s.jsonl", rows)
    for name in ("s.json", "s.jsonl"):
        cli.good("featurize", name, "-o", f"x.{name}l" if name.endswith("json") else f"y.{name}")
    assert (
        read_groups("x.s.jsonl").candidates.features.tolist() == read_groups("y.s.jsonl").candidates.features.tolist()
    )


def test_equal_errors_are_one_finding_with_a_count_and_three_places(tmp_path):
    rows = [{**ROW, "node_id": f"n{number}", "label": f"x{number}"} for number in range(20)]
    rows += [{**ROW, "node_id": f"m{number}", "query": number} for number in range(4)]
    path = written(tmp_path / "s.jsonl", rows)
    findings = audit_samples(path).findings
    assert [(finding.count, len(finding.where)) for finding in findings] == [(20, 3), (4, 3)]
    assert findings[0].message.startswith("label: found 'x0'; 1 (right), 0 (wrong) or a grade up to 1e300 is needed")
    assert findings[0].where == tuple(f"{path}:{line}" for line in (1, 2, 3))


def test_the_public_reader_answers_the_same(tmp_path):
    (tmp_path / "log.jsonl").write_text(json.dumps(CHAT) + "\n")
    with pytest.raises(DataError, match="looks like an OpenAI chat log"):
        ltr.read_groups(tmp_path / "log.jsonl")
