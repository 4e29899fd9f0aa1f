"""Exports of Langfuse: new columns and older attributes, JSON inside texts, lines, arrays, tables and whole traces."""

import csv
import json
from pathlib import Path

import pytest

from ltr.errors import DataError
from ltr.importers import recognise
from tests import reasons as why
from tests.chats import labels
from tests.spans import counts, importing, inference, schema

DEFINITIONS = {name: json.dumps({"description": f"Does {name}.", "parameters": {}}) for name in ("weather", "mail")}


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def observation(number, kind="GENERATION", **more):
    start = f"2026-01-02T03:{number:02}:00.000Z"
    ids = {"id": f"o{number}", "traceId": "t1", "parentObservationId": None, "type": kind, "name": "chat"}
    return ids | {"startTime": start, "endTime": start[:-5] + ".900Z", "level": "DEFAULT"} | more


def generation(number, said, *called, text="", **more):
    calls = [json.dumps({"id": f"c{number}", "name": name, "arguments": "{}", "type": "function"}) for name in called]
    given = {"messages": [{"role": "user", "content": said}]}
    columns = {"toolDefinitions": DEFINITIONS, "toolCalls": calls, "toolCallNames": [*called]}
    return observation(number, input=given, output={"role": "assistant", "content": text}, **columns, **more)


imported = importing("langfuse")


FIXTURE = (
    generation(5, "tell Ann", "mail", "weather"),  # kept; later than what follows
    observation(1, "AGENT", input={"messages": [{"role": "user", "content": "rain?"}]}, name="agent"),
    generation(2, "rain?", "weather"),  # kept
    observation(3, "TOOL", name="weather", input="{}", output="3 mm", parentObservationId="o2"),
    generation(4, "thanks", text="Welcome."),  # kept: none of the tools
    generation(6, "rain?", "search"),  # skipped: not on the table
    generation(7, "rain?", "mail", level="ERROR", statusMessage="timeout"),  # skipped: an error
    generation(8, "rain?", "mail") | {"toolDefinitions": None},  # skipped: no tools
    observation(9, "EVENT", name="note"),
)


def test_the_fixture_gives_the_groups_and_reasons_counted_by_hand():
    summary, groups = imported(*FIXTURE)
    assert [(group["node_id"], group["query"], labels(group), group.get("previous")) for group in groups] == [
        ("o2", "rain?", {"weather": 1, "mail": 0}, None),
        ("o4", "thanks", {"weather": 0, "mail": 0, "none": 1}, ["weather"]),
        ("o5", "tell Ann", {"weather": 1, "mail": 1}, ["weather"]),
    ]
    assert groups[0]["candidates"][0]["tool_description"] == "Does weather."
    assert counts(summary.skipped) == {
        "answers that called only tools that are not on the table": 1,
        "answers that ended in an error": 1,
        "answers without tools on the table": 1,
    }


def as_texts(row):
    return {key: json.dumps(value) if isinstance(value, dict | list) else value for key, value in row.items()}


def test_an_array_json_inside_texts_a_trace_and_a_table_give_the_same():
    groups = imported(*FIXTURE)[1]
    Path("log.jsonl").write_text(json.dumps(FIXTURE, indent=1))
    assert imported()[1] == groups
    assert imported(*map(as_texts, FIXTURE))[1] == groups
    trace = {"id": "t1", "observations": [{**row, "traceId": "t1"} for row in FIXTURE], "scores": []}
    assert imported(trace)[1] == groups
    assert imported({"trace": {"id": "t1", "scores": []}, "observations": [*FIXTURE]})[1] == groups
    with Path("log.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, [*FIXTURE[0], "statusMessage"])
        table.writeheader()
        table.writerows(map(as_texts, FIXTURE))
    assert "langfuse" in recognise("log.csv")
    assert imported(name="log.csv")[1] == groups


def test_older_data_has_its_tools_in_attributes_or_in_the_input():
    attributes = {f"llm.tools.{at}.tool.json_schema": schema(name) for at, name in enumerate(("weather", "mail"))}
    older = generation(2, "rain?", "weather") | {"toolDefinitions": {}, "toolCalls": []}
    called = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "weather", "arguments": "{}"}}]}
    tools = [json.loads(schema(name)) for name in ("weather", "mail")]
    given = {"messages": [{"role": "user", "content": "rain?"}], "tools": tools}
    for row in (
        older | {"metadata": {"attributes": attributes}, "output": called},
        older | {"metadata": json.dumps({"attributes": json.dumps(attributes)}), "output": json.dumps(called)},
        older | {"input": given, "output": called},
        older | {"input": json.dumps(given), "output": [called]},
    ):
        _, (group,) = imported(row)
        assert (group["query"], labels(group)) == ("rain?", {"weather": 1, "mail": 0})


def test_a_span_of_a_framework_without_types_is_known_by_its_attributes_and_its_name():
    model = observation(2, "SPAN", metadata={"attributes": inference("rain?", "weather")})
    ran = observation(3, "SPAN", name="execute_tool weather", level="ERROR")
    _, (group,) = imported(model, ran, outcome="span-status")
    assert labels(group) == {"weather": 1, "mail": 0}  # a SPAN has no status of a tool
    _, (group,) = imported(model, ran | {"type": "TOOL"}, outcome="span-status")
    assert labels(group) == {"weather": 0, "mail": 0}


@pytest.mark.parametrize("write", [json.dumps, lambda tool: tool])
def test_tools_among_the_messages_of_langchain_are_on_the_table(write):
    tools = [{"role": "tool", "content": write(json.loads(schema(name)))} for name in ("weather", "mail")]
    said = {"mail Ann": generation(2, "", "mail"), "hello": generation(4, "", text="Hello!")}
    rows = [
        row | {"input": [{"role": "user", "content": text}, *tools], "toolDefinitions": None}
        for text, row in said.items()
    ]
    groups = imported(*rows)[1]
    assert [labels(group) for group in groups] == [{"weather": 0, "mail": 1}, {"weather": 0, "mail": 0, "none": 1}]


def test_a_forced_call_is_no_decision():
    forced = generation(2, "rain?", "mail", modelParameters={"tool_choice": '{"type": "function", "name": "mail"}'})
    free = generation(4, "rain?", "mail", modelParameters=json.dumps({"tool_choice": "auto"}))
    summary, (_,) = imported(forced, free)
    assert counts(summary.skipped) == {"answers that had to call one tool, or none (tool_choice)": 1}


def test_items_of_the_responses_api_are_calls_and_results_of_the_past():
    items = [
        {"role": "user", "content": "rain?"},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": {"city": "Oslo"}},
        {"type": "function_call_output", "call_id": "c1", "output": "3 mm"},
    ]
    outputs = [
        {"object": "response", "status": "completed", "output": [
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "call_id": "c2", "name": "mail", "arguments": "{}"}]},
        {"object": "response", "status": "completed", "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "3 mm."}]}]},
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}, "output": [
            {"type": "function_call", "call_id": "c2", "name": "mail", "arguments": "{"}]},
        {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I"}]}]},
    ]  # fmt: skip
    rows = [
        generation(at, "") | {"input": items, "output": output, "toolCalls": []} for at, output in enumerate(outputs)
    ]
    summary, (group,) = imported(*rows)
    assert (group["query"], labels(group), group["previous"]) == ("rain?", {"weather": 0, "mail": 1}, ["weather"])
    assert counts(summary.skipped) == {
        "answers without a call after an earlier answer or result: the work is done": 1,
        "answers that were cut off": 1,
        "refusals": 1,
    }


def test_a_trace_that_keeps_only_its_top_says_what_to_export():
    with pytest.raises(DataError, match=why.TOP_LEVEL):
        imported({"id": "t1", "name": "chat", "observations": []})


def test_feedback_of_users_stands_in_the_scores_of_a_trace():
    observations = [generation(2, "rain?", "weather"), generation(4, "tell Ann", "mail")]
    trace = {"id": "t1", "observations": observations}
    about = [{"name": "user-feedback", "value": 0, "observationId": "o2"}]
    whole = [{"name": "user-feedback", "value": 0}, {"name": "toxicity", "value": 1}]
    whole.append({"name": "user feedback, guessed", "source": "EVAL", "value": 1})
    for scores, right in ((about, [0, 1]), (whole, [0, 0]), ([], [1, 1])):
        _, groups = imported(trace | {"scores": scores}, outcome="feedback")
        assert [max(labels(group).values()) for group in groups] == right


def test_the_answer_after_a_call_teaches_no_none_where_generations_do_not_repeat_the_history(cli):
    rows = (generation(1, "rain?", "weather"), observation(2, "TOOL", name="weather", output="3 mm"))
    Path("log.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in (*rows, generation(3, "rain?", text="3 mm.")))
    )
    cli.good("import", "langfuse", "log.jsonl", "-o", "x.jsonl")
    assert [labels(json.loads(line)) for line in Path("x.jsonl").read_text().splitlines()] == [
        {"weather": 1, "mail": 0}
    ]
