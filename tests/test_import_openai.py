"""Logs of Chat Completions and of the Responses API: each trap of the formats, with hand counts."""

import json
import sys
from pathlib import Path

import pytest

from ltr.errors import DataError
from tests import reasons as why
from tests.chats import TOOLS, call, exchange, imported, labels, result, right, said, user


def test_a_request_with_its_response_is_one_decision_and_its_history_is_none(tmp_path):
    first = exchange([user("rain in Oslo?")], said(call("weather", '{"city": "Oslo"}')), response_id="chatcmpl-1")
    history = [{"role": "system", "content": "Be kind."}, user("rain in Oslo?"), said(call("weather")), result("3 mm")]
    second = exchange([*history, user("tell Ann")], said(call("mail"), call("search")), response_id="chatcmpl-2")
    groups, kept, skipped, remarks = imported("openai", [first, second], tmp_path)
    assert groups == [
        {
            "trace_id": groups[0]["trace_id"],
            "node_id": "chatcmpl-1",
            "query": "rain in Oslo?",
            "time": 7,
            "candidates": [
                {"tool": "weather", "tool_description": "weathers something", "label": 1},
                {"tool": "mail", "tool_description": "mails something", "label": 0},
                {"tool": "search", "tool_description": "searchs something", "label": 0},
            ],
        },
        groups[1],
    ]
    assert groups[1]["trace_id"] == groups[0]["trace_id"]
    assert (groups[1]["query"], groups[1]["previous"], right(groups[1])) == (
        "tell Ann",
        ["weather"],
        ["mail", "search"],
    )
    assert groups[1]["context"] == "user: rain in Oslo?\ntool: 3 mm"
    assert (kept, skipped, remarks) == ({why.ONE_TOOL: 1, why.SEVERAL_TOOLS: 1}, {}, {why.HISTORY: 1})


def test_every_answer_of_a_fine_tuning_file_is_a_decision(tmp_path):
    messages = [
        {"role": "developer", "content": "Be kind."},
        user("hello"),
        said(content="Hello!"),
        user("rain?"),
        said(call("weather", '{"city": ')),
        result("Error: no city"),
        said(call("weather", '{"city": ')),  # again
        result("3 mm"),
        said(content="3 mm."),  # done
        user("thanks"),
        said(content="Bye.", weight=0),
    ]
    groups, kept, skipped, remarks = imported("openai", [{"messages": messages, "tools": TOOLS}], tmp_path)
    assert [right(group) for group in groups] == [["none"], ["weather"]]
    assert kept == {why.NO_TOOL: 1, why.ONE_TOOL: 1}
    assert skipped == {why.RETRIED: 1, why.DONE: 1, why.NOT_TO_LEARN: 1}
    assert remarks == {why.BAD_ARGUMENTS: 1}
    assert "Be kind" not in json.dumps(groups)


def test_the_old_functions_are_tools(tmp_path):
    functions = [tool["function"] for tool in TOOLS]
    answer = {"role": "assistant", "content": None, "function_call": {"name": "mail", "arguments": "{}"}}
    line = {
        "messages": [user("a"), answer, {"role": "function", "name": "mail", "content": "sent"}],
        "functions": functions,
    }
    groups, kept, _, _ = imported("openai", [line], tmp_path)
    assert (labels(groups[0]), kept) == ({"weather": 0, "mail": 1, "search": 0}, {why.ONE_TOOL: 1})


@pytest.mark.parametrize(
    "line, reason",
    [
        (exchange([user("a")], said(call("mail")), finish="length"), why.CUT_OFF),
        (exchange([user("a")], said(call("mail")), finish="content_filter"), why.REFUSED),
        (exchange([user("a")], said(refusal="I cannot.")), why.REFUSED),
        (exchange([user("a")], said(content=[{"type": "refusal", "refusal": "No."}])), why.REFUSED),
        (exchange([user("a")], said(call("mail")), tool_choice="none"), why.FORCED),
        (
            exchange([user("a")], said(call("mail")), tool_choice={"type": "function", "function": {"name": "mail"}}),
            why.FORCED,
        ),
        (exchange([user("a")], said(call("mail")), function_call={"name": "mail"}), why.FORCED),
        (exchange([user("a")], said(call(""))), why.NAMELESS),
        (exchange([user("a")], said(call("fly"))), why.NOT_ON_TABLE),
        (exchange([user("a")], said(call("mail")), tools=[]), why.NO_TABLE),
        (exchange([{"role": "system", "content": "a"}], said(call("mail"))), why.NO_QUERY),
        (exchange([user([{"type": "image_url", "image_url": {"url": "data:,"}}])], said(call("mail"))), why.NO_QUERY),
        (exchange([user("a"), said(call("mail")), result("sent")], said(content="Done.")), why.DONE),
        ({"messages": [user("a")], "tools": TOOLS}, why.NO_ANSWER),
        ({"messages": [user("a")], "tools": TOOLS, "error": {"code": 500}}, why.FAILED),
        ({"request": {"messages": [user("a")], "tools": TOOLS}, "response": None}, why.FAILED),
        ({"request": {"messages": [user("a")], "tools": TOOLS}, "response": {"error": {"code": 500}}}, why.FAILED),
        ({"messages": [user("a")], "tools": TOOLS, "response": "It rains."}, why.UNREADABLE_RESPONSE),
        ({"messages": [user("a")], "tools": TOOLS, "choices": [{"delta": {"content": "I"}}]}, why.UNFINISHED),
        ({"id": "chatcmpl-1", "choices": [{"message": said(call("mail"))}]}, why.NO_MESSAGES),
        ({"messages": [user("a")], "tools": [{"name": "a", "input_schema": {}}]}, why.OF_ANTHROPIC),
        ("{'messages': []}", why.NOT_JSON),
        ("[1]", why.NO_OBJECT),
        ('{"messages": [', why.NOT_JSON),
    ],
)
def test_what_is_no_decision_is_skipped_under_its_reason(tmp_path, line, reason):
    good = exchange([user("good")], said(call("mail")))
    groups, kept, skipped, _ = imported("openai", [good, line], tmp_path)
    assert [group["query"] for group in groups] == ["good"]
    assert (kept, skipped) == ({why.ONE_TOOL: 1}, {reason: 1})


def test_tool_choice_may_leave_some_of_the_tools(tmp_path):
    inner = {"mode": "auto", "tools": [{"type": "function", "function": {"name": name}} for name in ("mail", "search")]}
    choice = {"type": "allowed_tools", "allowed_tools": inner}
    groups, *_ = imported("openai", [exchange([user("a")], said(call("mail")), tool_choice=choice)], tmp_path)
    assert labels(groups[0]) == {"mail": 1, "search": 0}
    groups, *_ = imported("openai", [exchange([user("a")], said(call("mail")), tool_choice="required")], tmp_path)
    assert len(labels(groups[0])) == 3


def test_what_changes_a_group_is_counted(tmp_path):
    two = exchange([user("a"), {"role": "ipython", "content": "x"}], said(call("mail"), call("fly")))
    two["response"]["choices"].append({"message": said(call("search"))})
    lone = exchange([user("b")], said(call("mail")), tools=[*TOOLS[1:2], {"type": "function"}, 7])
    late = exchange([user("c")], said(call("mail")))
    late["response"]["created"] = "yesterday"
    groups, kept, skipped, remarks = imported("openai", [two, lone, late], tmp_path)
    assert [right(group) for group in groups] == [["mail"]] * 3
    assert "time" not in groups[2]
    assert (kept, skipped) == ({why.ONE_TOOL: 3}, {})
    assert remarks == {
        why.MORE_CHOICES: 1,
        why.UNKNOWN_ROLE: 1,
        why.CALL_DROPPED: 1,
        why.NOT_A_TOOL: 2,
        why.LONE: 1,
        why.BAD_TIMES: 1,
    }


def test_the_id_of_the_conversation_is_the_trace(tmp_path):
    lines = [
        exchange([user("a")], said(call("mail")), metadata={"session_id": "s1"}) | {"trace_id": "r1"},
        exchange([user("b")], said(call("mail")), metadata={"session_id": 7}) | {"session_id": "s2"},
        exchange([user("c")], said(call("mail"))) | {"my": "m1"},
    ]
    groups, _, _, remarks = imported("openai", lines, tmp_path)
    assert [group["trace_id"] for group in groups[:2]] == ["s1", "s2"]
    assert remarks == {why.OTHER_IDS: 1}
    groups, *_ = imported("openai", lines, tmp_path, trace="my")
    assert groups[2]["trace_id"] == "m1"


def test_requests_and_responses_are_found_where_logs_put_them(tmp_path):
    request, response = exchange([user("a")], said(call("mail"))).values()
    lines = [
        {**request, "response": response},
        {**request, "choices": response["choices"]},
        {"body": request, "response": {"status_code": 200, "body": response}},
        {"request": json.dumps(request), "response": json.dumps(response)},
        {"input": request, "output": response},
        {"kwargs": request, "completion": response["choices"][0]["message"]},
        {"request": request, "response": {"message": said(call("mail")), "done_reason": "stop"}},
    ]
    lines = [line | {"session_id": str(number)} for number, line in enumerate(lines)]
    groups, kept, skipped, _ = imported("openai", lines, tmp_path)
    assert [right(group) for group in groups] == [["mail"]] * len(lines)
    assert (kept, skipped) == ({why.ONE_TOOL: len(lines)}, {})


def test_a_log_may_be_an_array_and_may_break_off(tmp_path):
    lines = [exchange([user(text)], said(call("mail"))) for text in "abc"]
    groups, _, skipped, _ = imported("openai", [json.dumps(lines, indent=1)[:-40]], tmp_path)
    assert ([group["query"] for group in groups], skipped) == (["a", "b"], {why.BROKEN_OFF: 1})


def test_a_log_without_any_decision_is_refused_with_what_was_skipped(tmp_path):
    with pytest.raises(
        DataError, match=r"no sample for the importer openai; skipped: lines that are not JSON: 1 \(.*:1\)"
    ):
        imported("openai", ["{'messages': []}"], tmp_path)
    assert not (tmp_path / "out.jsonl").exists()


# The Responses API

FLAT = [{"type": "function", "name": name, "description": name, "parameters": {}} for name in ("weather", "mail")]


def response(output, response_id="resp_1", given="rain?", tools=FLAT, **more):
    """A request to the Responses API with its response, in one object."""
    return {
        "model": "m",
        "input": given,
        "tools": tools,
        "id": response_id,
        "status": "completed",
        "output": output,
    } | more


def function_call(name, call_id="c1"):
    return {"type": "function_call", "id": "fc", "call_id": call_id, "name": name, "arguments": "{}"}


MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "3 mm"}]}
OUTPUT = {"type": "function_call_output", "call_id": "c1", "output": "3 mm"}


def test_all_calls_of_a_response_are_one_decision(tmp_path):
    output = [{"type": "reasoning", "summary": []}, function_call("weather"), function_call("mail", "c2")]
    groups, kept, skipped, _ = imported("openai", [response(output)], tmp_path)
    assert (right(groups[0]), groups[0]["query"]) == (["weather", "mail"], "rain?")
    assert (kept, skipped) == ({why.SEVERAL_TOOLS: 1}, {})


def test_a_response_goes_on_from_the_one_that_it_names(tmp_path):
    lines = [
        response([function_call("weather")]),
        response([MESSAGE], "resp_2", [OUTPUT], previous_response_id="resp_1"),
        response([function_call("mail")], "resp_3", "mail it", previous_response_id="resp_2"),
        response([function_call("mail")], "resp_5", "again", previous_response_id="resp_4"),
    ]
    groups, kept, skipped, remarks = imported("openai", lines, tmp_path)
    assert [group["query"] for group in groups] == ["rain?", "mail it", "again"]
    assert groups[0]["trace_id"] == groups[1]["trace_id"]
    assert (groups[1]["context"], groups[1]["previous"]) == ("user: rain?\ntool: 3 mm\nassistant: 3 mm", ["weather"])
    assert groups[2]["trace_id"] == "resp_4"
    assert (kept, skipped, remarks) == ({why.ONE_TOOL: 3}, {why.DONE: 1}, {why.UNKNOWN_BEFORE: 1})


def test_items_of_the_input_are_history_and_unknown_ones_are_counted(tmp_path):
    given = [user("rain?"), function_call("weather"), OUTPUT, {"type": "dance"}, {"type": "item_reference", "id": "x"}]
    groups, kept, _, remarks = imported("openai", [response([function_call("mail")], given=given)], tmp_path)
    assert (groups[0]["previous"], groups[0]["context"], right(groups[0])) == (["weather"], "tool: 3 mm", ["mail"])
    assert (kept, remarks) == ({why.ONE_TOOL: 1}, {why.UNKNOWN_ITEM: 1, why.HISTORY: 1})


def test_built_in_tools_and_those_of_servers_are_tools(tmp_path):
    tools = [*FLAT, {"type": "web_search_preview_2025_03_11"}, {"type": "mcp", "server_label": "s"}]
    listed = {"type": "mcp_list_tools", "server_label": "s", "tools": [{"name": "ask", "input_schema": {}}]}
    lines = [
        response([listed, {"type": "web_search_call", "id": "w"}, MESSAGE], tools=tools),
        response([listed, {"type": "mcp_call", "name": "ask", "arguments": "{}"}], "resp_2", tools=tools),
        response([{"type": "custom_tool_call", "name": "mail", "input": "hi"}], "resp_3", tools=tools),
    ]
    groups, _, _, remarks = imported("openai", lines, tmp_path)
    assert [right(group) for group in groups] == [["web_search"], ["ask"], ["mail"]]
    assert [list(labels(group)) for group in groups[1:]] == [
        ["weather", "mail", "web_search", "ask"],
        ["weather", "mail", "web_search"],
    ]
    assert remarks == {}


@pytest.mark.parametrize(
    "line, reason",
    [
        (response([MESSAGE], status="incomplete", incomplete_details={"reason": "max_output_tokens"}), why.CUT_OFF),
        (response([MESSAGE], status="incomplete", incomplete_details={"reason": "content_filter"}), why.REFUSED),
        (response([], status="failed", error={"code": "server_error"}), why.FAILED),
        (response([], status="in_progress"), why.UNFINISHED),
        (response([{**MESSAGE, "content": [{"type": "refusal", "refusal": "No."}]}]), why.REFUSED),
        (response([function_call("mail")], tool_choice={"type": "function", "name": "mail"}), why.FORCED),
        (response([function_call("mail")], given=[]), why.NO_QUERY),
        (response([function_call("mail")], "good"), why.SEEN_BEFORE),
    ],
)
def test_a_response_that_is_no_decision_is_skipped_under_its_reason(tmp_path, line, reason):
    groups, _, skipped, _ = imported("openai", [response([MESSAGE], "good"), line], tmp_path)
    assert [right(group) for group in groups] == [["none"]]
    assert skipped == {reason: 1}


# Through the command

CUSTOM = {"type": "custom", "custom": {"name": "run_code", "description": "Runs code.", "format": {"type": "text"}}}
CUSTOM_CALL = {"id": "c1", "type": "custom", "custom": {"name": "run_code", "input": "1 + 1"}}


def by_command(cli, lines, *flags):
    """The groups that `ltr import` writes for the lines, and the numbers of its summary by reason."""
    Path("log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    shown = cli.good("import", "openai", "log.jsonl", "-o", "x.jsonl", "--overwrite", "--format", "json", *flags)
    counted = (entry for part in ("kept", "skipped", "remarks") for entry in json.loads(shown)[part])
    return [json.loads(line) for line in Path("x.jsonl").read_text().splitlines()], {
        entry["reason"]: entry["number"] for entry in counted
    }


def test_custom_tools_of_chat_completions_are_tools(cli):
    tools, choice = [*TOOLS, CUSTOM], {"type": "custom", "custom": {"name": "run_code"}}
    lines = [
        exchange([user("1 + 1?")], said(CUSTOM_CALL), tools=tools),
        exchange([user("mail it")], said(call("mail")), tools=tools),
        exchange([user("again")], said(CUSTOM_CALL), tools=tools, tool_choice=choice),
    ]
    groups, counted = by_command(cli, lines)
    assert [right(group) for group in groups] == [["run_code"], ["mail"]]
    assert groups[0]["candidates"][-1] == {"tool": "run_code", "tool_description": "Runs code.", "label": 1}
    assert counted == {why.ONE_TOOL: 2, why.FORCED: 1}


def test_custom_tools_stand_in_a_catalogue(cli):
    Path("tools.json").write_text(json.dumps([*TOOLS, CUSTOM]))
    rows = [{"trace_id": f"t{at}", "node_id": "n", "query": "1 + 1?", "tool": name, "label": int(name == "run_code")}
            for at in range(8) for name in ("run_code", "mail")]  # fmt: skip
    Path("s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    shown = cli.good("validate", "s.jsonl", "--tools", "tools.json", "--format", "json")
    assert "not in" not in shown


def python_calls(work):
    """How many calls of functions the work takes: what a clock would say, the same on every machine."""
    number = 0

    def count(frame, event, argument):
        nonlocal number
        number += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(before)
    return number


def chain(length):
    """Lines of one conversation, each of which names the response before it."""
    for at in range(length):
        given = f"step {at} " + "word " * 100
        more = {"previous_response_id": f"resp_{at - 1}"} if at else {}
        yield response([function_call(("weather", "mail")[at % 2], f"c{at}")], f"resp_{at}", given, **more)


def test_the_work_for_a_chain_of_responses_grows_like_its_length(cli):
    by_command(cli, chain(2))  # what is loaded once
    numbers = [python_calls(lambda length=length: by_command(cli, chain(length))) for length in (20, 100, 300)]
    first, second = numbers[1] - numbers[0], numbers[2] - numbers[1]  # of 80 lines, then of 200
    assert second < 1.2 * first * 200 / 80
    groups, counted = by_command(cli, chain(300))
    assert (counted[why.ONE_TOOL], len(groups[-1]["previous"]), len({group["trace_id"] for group in groups})) == (
        300,
        299,
        1,
    )


def test_two_responses_that_go_on_from_one_have_pasts_of_their_own(cli):
    lines = [
        response([function_call("weather")]),
        response([function_call("mail")], "resp_2", "mail it", previous_response_id="resp_1"),
        response([function_call("mail")], "resp_3", "write it", previous_response_id="resp_1"),
        response([function_call("mail")], "resp_4", "again", previous_response_id="resp_2"),
    ]
    groups, _ = by_command(cli, lines)
    assert [group.get("previous") for group in groups] == [None, ["weather"], ["weather"], ["weather", "mail"]]
    assert groups[3]["context"] == "user: rain?\nuser: mail it"


ASKED = exchange([user("rain?")], said(call("weather")))
SHORT = {"messages": [user("rain?"), said(call("weather"))], "tools": TOOLS}
LONG = {"messages": [*SHORT["messages"], result("3 mm"), said(call("mail"))], "tools": TOOLS}
FLAGS = {"": (), "once": ("--repeats", "once"), "all": ("--repeats", "all")}


@pytest.mark.parametrize(
    "lines, numbers",  # of groups, by the rule
    [
        ([ASKED] * 3, {"": 3, "once": 1, "all": 3}),
        ([ASKED, ASKED, exchange([user("rain?")], said(call("mail")))], {"": 3, "once": 2, "all": 3}),
        ([SHORT, LONG], {"": 2, "once": 2, "all": 3}),  # it has grown
        ([LONG, SHORT], {"": 2, "once": 2, "all": 3}),
        ([SHORT, SHORT, LONG], {"": 3, "once": 2, "all": 4}),  # one of the two has grown
        ([LONG, LONG], {"": 4, "once": 2, "all": 4}),
        ([SHORT, LONG, SHORT, LONG], {"": 4, "once": 2, "all": 6}),
        ([line | {"session_id": "s"} for line in (ASKED, ASKED)], {"": 1, "once": 1, "all": 2}),
        ([line | {"session_id": str(at)} for at, line in enumerate([ASKED, ASKED])], {"": 2, "once": 2, "all": 2}),
        ([exchange([user("rain?")], said(call("weather")), response_id="r")] * 2, {"": 1, "once": 1, "all": 1}),
    ],
)
@pytest.mark.parametrize("rule", FLAGS)
def test_identical_requests_without_ids_count_each_time_and_a_conversation_that_grows_counts_once(
    cli, lines, numbers, rule
):
    groups, _ = by_command(cli, lines, *FLAGS[rule])
    assert len(groups) == numbers[rule]
    assert len({(group["trace_id"], group["node_id"]) for group in groups}) == len(groups)


def test_the_summary_says_how_many_repeats_count_and_how_many_do_not(cli):
    lines = [ASKED, ASKED, ASKED, {**SHORT, "messages": [user("hi"), said(call("mail"))]}]
    lines.append({**SHORT, "messages": [user("hi"), said(call("mail")), user("bye"), said(content="Bye.")]})
    _, counted = by_command(cli, lines)
    assert counted == {why.ONE_TOOL: 4, why.NO_TOOL: 1, why.REPEATS_COUNTED: 2, why.SEEN_BEFORE: 1}
    _, counted = by_command(cli, lines, "--repeats", "once")
    assert counted == {why.ONE_TOOL: 2, why.NO_TOOL: 1, why.SEEN_BEFORE: 3}


def test_repeated_groups_are_samples_that_can_be_trained_on(cli):
    asked = [exchange([user(text)], said(call(name))) for name, text in (("mail", "mail Ann"), ("weather", "rain?"))]
    asked += [exchange([user(f"find {city}")], said(call("search"))) for city in ("Oslo", "Rome", "Lima")]
    by_command(cli, asked * 3)
    cli.good("train", "x.jsonl", "-o", "run", "--encoder", "hash", "-q")


def test_a_rule_for_repeats_that_is_none_is_refused(cli):
    Path("log.jsonl").write_text(json.dumps(ASKED))
    refused = cli.refused("import", "openai", "log.jsonl", "-o", "x.jsonl", "--repeats", "onse")
    assert refused == (2, "repeats 'onse'; did you mean once?; once or all is needed")
    code, problem = cli.refused("import", "csv", "log.jsonl", "-o", "x.jsonl", "--repeats", "once")
    assert (code, "importer csv has no option 'repeats'" in problem) == (2, True)
