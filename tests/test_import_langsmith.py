"""Runs of LangSmith: tools of the invocation, calls of a generation, children inside or beside, and dotted orders."""

import json
from pathlib import Path

import pytest

from ltr import import_samples
from ltr.errors import DataError
from ltr.importers import recognise
from tests import reasons as why
from tests.chats import labels
from tests.spans import counts, importing, schema

TOOLS = [json.loads(schema("weather", "Rain.")), {"name": "mail", "description": "Mails.", "input_schema": {}}]


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def serialised(kind, **kwargs):
    """A message as LangChain writes it."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", kind], "kwargs": kwargs}


def run(number, kind="llm", **more):
    time = f"2026-01-02T03:{number:02}:00"
    order = f"20260102T030000000000Zroot.20260102T03{number:02}00000000Zr{number}"
    ids = {"id": f"r{number}", "trace_id": "root", "parent_run_id": "root", "run_type": kind, "name": "ChatOpenAI"}
    return ids | {"dotted_order": order, "start_time": time, "end_time": time + ".900", "error": None} | more


def model(number, said, *called, text="", tools=TOOLS, finish="stop", **more):
    calls = [{"name": name, "args": {}, "id": f"c{number}-{name}", "type": "tool_call"} for name in called]
    message = serialised("AIMessage", content=text, tool_calls=calls)
    given = [serialised("SystemMessage", content="Be kind."), serialised("HumanMessage", content=said)]
    generated = {"text": text, "message": message, "generation_info": {"finish_reason": finish}}
    return run(
        number,
        inputs={"messages": [given]},
        outputs={"generations": [[generated]], "llm_output": None},
        extra={"invocation_params": {"model": "m", "tools": tools}},
        **more,
    )


imported = importing("langsmith")


ROOT = run(0, "chain", id="root", parent_run_id=None, inputs={"input": "rain?"})
FIXTURE = (
    model(5, "tell Ann", "mail", "weather"),  # kept; later than what follows
    ROOT,
    model(2, "rain?", "weather"),  # kept
    run(3, "tool", name="weather", inputs={"input": "{}"}, outputs={"output": "3 mm"}),
    model(4, "thanks", text="Welcome."),  # kept: none of the tools
    model(6, "rain?", "search"),  # skipped: not on the table
    model(7, "rain?", error="Timeout", status="error"),  # skipped: an error
    model(8, "rain?", "mail", tools=[]),  # skipped: an OTel export dropped the tools
    model(9, "rain?", "mail", finish="length"),  # skipped: cut off
    model(10, "rain?") | {"outputs": None, "end_time": None},  # skipped: not ended
    {"name": "no run"},  # skipped
)


def test_the_fixture_gives_the_groups_and_reasons_counted_by_hand():
    summary, groups = imported(*FIXTURE)
    assert [(group["node_id"], group["query"], labels(group), group.get("previous")) for group in groups] == [
        ("r2", "rain?", {"weather": 1, "mail": 0}, None),
        ("r4", "thanks", {"weather": 0, "mail": 0, "none": 1}, ["weather"]),
        ("r5", "tell Ann", {"weather": 1, "mail": 1}, ["weather"]),
    ]
    assert groups[0]["trace_id"] == "root"
    assert [entry["tool_description"] for entry in groups[0]["candidates"]] == ["Rain.", "Mails."]
    assert counts(summary.skipped) == {
        why.NO_RUN: 1,
        "answers that called only tools that are not on the table": 1,
        "answers that ended in an error": 1,
        "answers without tools on the table": 1,
        "answers that were cut off": 1,
        "answers that had not ended": 1,
    }


def test_children_inside_their_parents_give_the_same():
    tree = ROOT | {"child_runs": [row for row in FIXTURE if "run_type" in row and row is not ROOT]}
    assert imported(tree)[1] == imported(*FIXTURE)[1]
    assert "langsmith" in recognise("log.jsonl")


def test_children_below_children_are_read_however_deep():
    text = json.dumps(model(1, "q", "mail"))
    Path("log.jsonl").write_text('{"run_type": "chain", "id": "a", "child_runs": [' * 400 + text + "]}" * 400)
    assert import_samples("langsmith", ["log.jsonl"], "x.jsonl").groups == 1


def test_a_run_without_a_time_has_that_of_its_dotted_order():
    rows = [{**row, "start_time": None, "end_time": None} for row in (model(5, "b", "mail"), model(2, "a", "weather"))]
    groups = imported(*rows)[1]
    assert [(group["query"], group.get("previous"), group["time"]) for group in groups] == [
        ("a", None, 1767322920.0),
        ("b", ["weather"], 1767323100.0),
    ]


@pytest.mark.parametrize(
    "outputs",
    [
        {"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {"role": "assistant", "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "mail", "arguments": "{}"}}]}}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I mail."},
            {"type": "tool_use", "id": "c", "name": "mail", "input": {}}], "stop_reason": "tool_use"},
        {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I mail."}]},
            {"type": "function_call", "call_id": "c", "name": "mail", "arguments": "{}"}]},
        {"candidates": [{"content": {"role": "model", "parts": [{"function_call": {"name": "mail", "args": {}}}]}}]},
        {"generations": [[{"message": serialised("AIMessageChunk", content="", additional_kwargs={
            "tool_calls": [{"id": "c", "function": {"name": "mail", "arguments": "{}"}}]})}]]},
        {"generations": [[{"message": serialised("AIMessage", content="", additional_kwargs={
            "function_call": {"name": "mail", "arguments": "{}"}})}]]},
        {"message": {"type": "ai", "content": "", "tool_calls": [{"name": "mail", "args": {}, "id": "c"}]}},
        {"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "tool_calls": [{"name": "mail"}]}]},
    ],
)  # fmt: skip
def test_every_shape_of_outputs_is_the_same_answer(outputs):
    _, (group,) = imported(model(1, "q") | {"outputs": outputs})
    assert labels(group) == {"weather": 0, "mail": 1}


@pytest.mark.parametrize(
    "inputs",
    [
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}]},
        {"messages": [{"type": "human", "content": "q"}]},
        {"messages": [{"type": "human", "data": {"content": "q", "type": "human"}}]},
        {"messages": [[serialised("HumanMessage", content="q")]]},
        {"input": [{"role": "user", "content": "q"}]},
        {"prompts": ["q"]},
        {"input": "q"},
        {"contents": [{"role": "user", "parts": [{"text": "q"}]}]},
    ],
)
def test_every_shape_of_inputs_is_the_same_query(inputs):
    _, (group,) = imported(model(1, "", "mail") | {"inputs": inputs})
    assert group["query"] == "q"


def test_results_inside_messages_of_the_user_end_a_turn():
    used = {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "weather", "input": {}}]}
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "content": "3 mm"}]}
    inputs = {"messages": [{"role": "user", "content": "rain?"}, used, result]}
    with pytest.raises(DataError, match="the work is done: 1"):
        imported(model(1, "", text="3 mm.") | {"inputs": inputs})


@pytest.mark.parametrize("score, right", [(0.0, 0), (1.0, 1), (0.5, 1)])
def test_feedback_of_users_stands_in_the_statistics_of_a_run(score, right):
    stats = {"user_score": {"n": 1, "avg": score}}
    for rows in (
        (model(2, "q", "mail", feedback_stats=stats),),
        (model(2, "q", "mail"), ROOT | {"feedback_stats": stats}),
    ):
        _, (group,) = imported(*rows, outcome="feedback")
        assert labels(group)["mail"] == right
