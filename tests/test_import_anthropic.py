"""Logs of Anthropic's Messages: each trap of the format, with hand counts."""

import json
from pathlib import Path

import pytest

from tests import chats
from tests import reasons as why
from tests.chats import imported, labels, right, user

pytestmark = pytest.mark.contract

TOOLS = [
    {"name": "weather", "description": "Weather of a city.", "input_schema": {"type": "object"}},
    {"name": "mail", "input_schema": {"type": "object"}},
    {"type": "web_search_20250305", "name": "web_search", "max_uses": 5},
]
TEXT = {"type": "text", "text": "Let me look."}


def use(name, call_id="u1", kind="tool_use", **given):
    return {"type": kind, "id": call_id, "name": name, "input": given}


def said(*blocks):
    return {"role": "assistant", "content": list(blocks)}


def results(*blocks):
    return {"role": "user", "content": list(blocks)}


def result(text, call_id="u1", **more):
    return {"type": "tool_result", "tool_use_id": call_id, "content": [{"type": "text", "text": text}], **more}


def exchange(messages, *blocks, stop="tool_use", response_id="", tools=TOOLS, **request):
    """A request with its response."""
    response = {"type": "message", "role": "assistant", "content": list(blocks), "stop_reason": stop}
    body = {"model": "m", "max_tokens": 9, "messages": messages, "tools": tools, **request}
    return {"request": body, "response": response | ({"id": response_id} if response_id else {})}


def test_a_request_with_its_response_is_one_decision_and_its_history_is_none(tmp_path):
    first = exchange([user("rain in Oslo?")], TEXT, use("weather", city="Oslo"), response_id="msg_1", system="Be kind.")
    history = [user("rain in Oslo?"), said(TEXT, use("weather", city="Oslo")), results(result("3 mm"))]
    second = exchange([*history, user("tell Ann")], use("mail"), use("web_search", "u2"), response_id="msg_2")
    groups, kept, skipped, remarks = imported("anthropic", [first, second], tmp_path)
    assert groups == [
        {
            "trace_id": groups[0]["trace_id"],
            "node_id": "msg_1",
            "query": "rain in Oslo?",
            "candidates": [
                {"tool": "weather", "tool_description": "Weather of a city.", "label": 1},
                {"tool": "mail", "label": 0},
                {"tool": "web_search", "label": 0},
            ],
        },
        {
            "trace_id": groups[0]["trace_id"],
            "node_id": "msg_2",
            "query": "tell Ann",
            "context": "user: rain in Oslo?\nassistant: Let me look.\ntool: 3 mm",
            "previous": ["weather"],
            "candidates": [
                {"tool": "weather", "tool_description": "Weather of a city.", "label": 0},
                {"tool": "mail", "label": 1},
                {"tool": "web_search", "label": 1},
            ],
        },
    ]
    assert (kept, skipped, remarks) == ({why.ONE_TOOL: 1, why.SEVERAL_TOOLS: 1}, {}, {why.HISTORY: 1})


def test_every_answer_of_messages_without_a_response_is_a_decision(tmp_path):
    messages = [
        user("hello"),
        said({"type": "text", "text": "Hello!"}),
        user("rain?"),
        said(use("weather", city="Osl")),
        results(result("no such city", is_error=True)),
        said(use("weather", city="Osl")),
        results(result("no such city", is_error=True), {"type": "text", "text": "Oslo, I mean"}),
        said({"type": "thinking", "thinking": "hm"}, use("weather", city="Oslo")),
        results(result("3 mm")),
        said({"type": "text", "text": "3 mm."}),
    ]
    groups, kept, skipped, _ = imported("anthropic", [{"messages": messages, "tools": TOOLS}], tmp_path)
    assert [(group["query"], right(group)) for group in groups] == [
        ("hello", ["none"]),
        ("rain?", ["weather"]),
        ("Oslo, I mean", ["weather"]),  # a text beside results is a new message of the user
    ]
    assert (kept, skipped) == ({why.NO_TOOL: 1, why.ONE_TOOL: 2}, {why.RETRIED: 1, why.DONE: 1})


def test_tools_that_a_server_runs_are_tools(tmp_path):
    searched = {"type": "web_search_tool_result", "tool_use_id": "u1", "content": []}
    line = exchange([user("a")], use("web_search", kind="server_tool_use"), searched, TEXT, stop="end_turn")
    groups, kept, *_ = imported("anthropic", [line], tmp_path)
    assert (right(groups[0]), kept) == (["web_search"], {why.ONE_TOOL: 1})


def test_a_response_goes_on_with_the_beginning_that_a_request_gave_it(tmp_path):
    line = exchange([user("a"), {"role": "assistant", "content": "The answer is"}], TEXT, stop="end_turn")
    groups, kept, *_ = imported("anthropic", [line], tmp_path)
    assert (right(groups[0]), kept) == (["none"], {why.NO_TOOL: 1})


@pytest.mark.parametrize(
    "line, reason",
    [
        (exchange([user("a")], use("mail"), stop="max_tokens"), why.CUT_OFF),
        (exchange([user("a")], TEXT, stop="model_context_window_exceeded"), why.CUT_OFF),
        (exchange([user("a")], TEXT, stop="refusal"), why.REFUSED),
        (exchange([user("a")], TEXT, stop="pause_turn"), why.UNFINISHED),
        (exchange([user("a")], use("mail"), tool_choice={"type": "tool", "name": "mail"}), why.FORCED),
        (exchange([user("a")], TEXT, stop="end_turn", tool_choice={"type": "none"}), why.FORCED),
        (exchange([user("a")], use("")), why.NAMELESS),
        (exchange([user("a")], use("fly")), why.NOT_ON_TABLE),
        (exchange([user("a")], use("mail"), tools=[]), why.NO_TABLE),
        (exchange([user("a"), said(use("mail")), results(result("sent"))], TEXT, stop="end_turn"), why.DONE),
        ({"messages": [user("a")], "tools": TOOLS}, why.NO_ANSWER),
        (
            {"request": {"messages": [user("a")], "tools": TOOLS}, "response": {"type": "error", "error": {}}},
            why.FAILED,
        ),
        ({"request": {"messages": [user("a")], "tools": TOOLS}, "response": None}, why.FAILED),
        ({"request": {"messages": [user("a")], "tools": TOOLS}, "response": "sent"}, why.UNREADABLE_RESPONSE),
        ({"tools": TOOLS}, why.NO_MESSAGES),
        (
            {"messages": [user("a"), said(TEXT), said(use("fly"))], "tools": TOOLS[:0]},
            {why.GOES_ON: 1, why.NO_TABLE: 1},
        ),
        (chats.exchange([user("a"), chats.said(chats.call("mail"))], chats.said()), why.OF_OPENAI),
        (exchange([user("good")], use("mail"), response_id="good"), why.SEEN_BEFORE),
    ],
)
def test_what_is_no_decision_is_skipped_under_its_reason(tmp_path, line, reason):
    good = exchange([user("good")], use("mail"), response_id="good")
    groups, kept, skipped, _ = imported("anthropic", [good, line], tmp_path)
    assert [group["query"] for group in groups] == ["good"]
    assert (kept, skipped) == ({why.ONE_TOOL: 1}, reason if isinstance(reason, dict) else {reason: 1})


def test_any_of_the_tools_is_a_free_choice(tmp_path):
    groups, *_ = imported("anthropic", [exchange([user("a")], use("mail"), tool_choice={"type": "any"})], tmp_path)
    assert labels(groups[0]) == {"weather": 0, "mail": 1, "web_search": 0}


def test_identical_requests_without_ids_count_each_time(cli):
    Path("log.jsonl").write_text((json.dumps(exchange([user("rain?")], use("weather"))) + "\n") * 3)
    assert "in 3 groups" in cli.good("import", "anthropic", "log.jsonl", "-o", "x.jsonl")
    assert "in 1 group " in cli.good("import", "anthropic", "log.jsonl", "-o", "y.jsonl", "--repeats", "once")
