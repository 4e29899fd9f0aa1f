"""Trajectories of ATIF: one table of tools, copied steps that count once, sub-agents inside a trajectory."""

import json

import pytest

from ltr.errors import DataError
from ltr.importers import recognise
from tests import reasons as why
from tests.chats import labels
from tests.spans import counts, importing, schema


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def steps(*listed):
    return [{"step_id": number, **step} for number, step in enumerate(listed, start=1)]


def agent(*called, text="", result="done", **more):
    calls = [{"tool_call_id": f"c-{name}", "function_name": name, "arguments": {"x": 1}} for name in called]
    results = [{"source_call_id": f"c-{name}", "content": result} for name in called]
    step = {"source": "agent", "message": text, "timestamp": "2026-01-02T03:04:05Z"} | more
    return step | ({"tool_calls": calls, "observation": {"results": results}} if called else {})


def user(text):
    return {"source": "user", "message": text}


def trajectory(*listed, **more):
    tools = [json.loads(schema("bash", "Runs.")), json.loads(schema("edit"))]
    about = {"schema_version": "ATIF-v1.6", "session_id": "s1", "agent": {"name": "a", "tool_definitions": tools}}
    return about | {"steps": steps(*listed)} | more


imported = importing("atif", "log.json")


FIXTURE = trajectory(
    {"source": "system", "message": "Be kind."},
    user("fix it"),
    agent("bash"),  # kept
    agent("edit", "bash", text="I edit."),  # kept
    agent(text="Fixed."),  # skipped: done
    user("thanks"),
    agent(text="Welcome."),  # kept: none of the tools
    {"source": "robot", "message": "?"},
    user("more"),
    agent("search"),  # skipped: not on the table
)


def test_the_fixture_gives_the_groups_and_reasons_counted_by_hand():
    summary, groups = imported(FIXTURE)
    assert [(group["node_id"], group["query"], labels(group), group.get("previous")) for group in groups] == [
        ("s1 step 3", "fix it", {"bash": 1, "edit": 0}, None),
        ("s1 step 4", "fix it", {"bash": 1, "edit": 1}, ["bash"]),
        ("s1 step 7", "thanks", {"bash": 0, "edit": 0, "none": 1}, ["bash", "edit", "bash"]),
    ]
    assert groups[0]["time"] == 1767323045.0
    assert counts(summary.skipped) == {
        "answers without a call after an earlier answer or result: the work is done": 1,
        "answers that called only tools that are not on the table": 1,
    }
    assert counts(summary.remarks)[why.UNKNOWN_SOURCE] == 1
    assert "atif" in recognise("log.json")


def test_steps_copied_into_a_continuation_count_once_and_are_its_past():
    copied = [step | {"is_copied_context": True} for step in (user("fix it"), agent("bash"))]
    rest = trajectory(*copied, agent("edit"), trajectory_id="s1-cont-1")
    summary, groups = imported(trajectory(user("fix it"), agent("bash")), rest)
    assert [(group["trace_id"], labels(group), group.get("previous")) for group in groups] == [
        ("s1", {"bash": 1, "edit": 0}, None),
        ("s1", {"bash": 0, "edit": 1}, ["bash"]),
    ]
    assert counts(summary.skipped) == {why.COPIED: 1}


def test_a_sub_agent_is_a_conversation_of_the_same_trace():
    below = trajectory(user("look"), agent("edit"), session_id="s2", trajectory_id="sub")
    groups = imported(trajectory(user("fix it"), agent("bash"), subagent_trajectories=[below]))[1]
    assert [(group["trace_id"], group["node_id"], group["query"]) for group in groups] == [
        ("s1", "s1 step 2", "fix it"),
        ("s1", "sub step 2", "look"),
    ]


def test_a_call_repeated_after_it_failed_is_skipped():
    summary, groups = imported(trajectory(user("fix it"), agent("bash", result="Error: no shell"), agent("bash")))
    assert len(groups) == 1
    assert counts(summary.skipped) == {"answers that call again what failed": 1}


def test_a_file_without_steps_says_so():
    with pytest.raises(DataError, match=why.NO_TRAJECTORY):
        imported({"schema_version": "ATIF-v1.6"})
