"""What a decision of a log is: which answers become groups, what a group holds, and how the others are counted."""

import json

import pytest

from ltr.data.importers.conversations import (
    CUT_OFF,
    REFUSED,
    Call,
    Conversation,
    Message,
    Tool,
    content_text,
    looks_failed,
)
from ltr.data.importers.groups_from_conversations import (
    CALL_DROPPED,
    CONTEXT_CUT,
    DONE,
    GOES_ON,
    LONE,
    LONGEST_CONTEXT,
    LONGEST_MESSAGE,
    LONGEST_PAST,
    LONGEST_QUERY,
    NO_QUERY,
    NO_TABLE,
    NO_TOOL,
    NOT_JSON,
    NOT_ON_TABLE,
    ONE_TOOL,
    PREVIOUS_CUT,
    QUERY_CUT,
    RETRIED,
    SEEN_BEFORE,
    SEVERAL_TOOLS,
    decisions,
)
from ltr.data.importers.offered_tools_and_calls import usable_tools
from ltr.data.importers.tally import Tally

TABLE = (Tool("weather", "Weather of a city."), Tool("mail"), Tool("search"))


def user(text):
    return Message(role="user", text=text)


def answer(*names, text="", arguments="{}", **more):
    return Message(role="answer", text=text, calls=tuple(Call(name, arguments) for name in names), **more)


def result(text="", **more):
    return Message(role="result", text=text, **more)


def talk(*messages, tools=TABLE, **more):
    return Conversation(messages=messages, place=more.pop("place", "log:1"), tools=tools, **more)


def read(*conversations):
    tally = Tally()
    return list(decisions(conversations, tally)), tally


def counts(entries):
    return {entry.reason: entry.number for entry in entries}


def labels(group):
    return {candidate.get("tool", "none"): candidate["label"] for candidate in group["candidates"]}


def test_a_decision_is_a_group_with_all_tools_on_the_table_and_label_1_for_what_was_called():
    (group,), tally = read(talk(user("rain?"), answer("weather", node_id="n1", time=7), trace_id="t1"))
    assert group == {
        "trace_id": "t1",
        "node_id": "n1",
        "query": "rain?",
        "time": 7,
        "candidates": [
            {"tool": "weather", "tool_description": "Weather of a city.", "label": 1},
            {"tool": "mail", "label": 0},
            {"tool": "search", "label": 0},
        ],
    }
    assert counts(tally.kept()) == {ONE_TOOL: 1}


def test_parallel_calls_are_several_positives():
    (group,), tally = read(talk(user("rain? tell Ann"), answer("mail", "weather", "mail")))
    assert labels(group) == {"weather": 1, "mail": 1, "search": 0}
    assert counts(tally.kept()) == {SEVERAL_TOOLS: 1}


def test_the_context_ends_before_the_answer_and_holds_no_arguments_and_no_instructions():
    groups, _ = read(
        talk(
            Message(role="instruction", text="You are kind."),
            user("hello"),
            answer(text="Hello!"),
            user("rain in Oslo?"),
            answer("search", text="I search.", arguments='{"q": "secret"}'),
            result("Oslo: 60 N", name="search"),
            answer("weather", text="Now weather.", arguments='{"lat": 60}'),
        )
    )
    assert [(group["query"], group.get("context"), group.get("previous")) for group in groups] == [
        ("hello", None, None),
        ("rain in Oslo?", "user: hello\nassistant: Hello!", None),
        (
            "rain in Oslo?",
            "user: hello\nassistant: Hello!\nassistant: I search.\ntool search: Oslo: 60 N",
            ["search"],
        ),
    ]
    text = json.dumps(groups)
    assert "secret" not in text
    assert "Now weather" not in text
    assert "kind" not in text


def test_a_silent_answer_is_a_decision_only_as_the_first_after_a_message_of_a_user():
    groups, tally = read(
        talk(
            user("hello"),
            answer(text="Hello!"),  # none of the tools
            user("rain?"),
            answer("weather"),
            result("3 mm"),
            answer(text="3 mm."),  # done
            user("thanks"),
            answer(text="Welcome."),  # none again: the call came before this message
        )
    )
    assert [labels(group) for group in groups] == [
        {"weather": 0, "mail": 0, "search": 0, "none": 1},
        {"weather": 1, "mail": 0, "search": 0},
        {"weather": 0, "mail": 0, "search": 0, "none": 1},
    ]
    assert groups[0]["candidates"][-1] == {"none": True, "label": 1}
    assert counts(tally.kept()) == {NO_TOOL: 2, ONE_TOOL: 1}
    assert counts(tally.skipped()) == {DONE: 1}


def test_a_text_before_a_call_in_the_next_message_is_not_a_decision_for_no_tool():
    groups, tally = read(talk(user("rain?"), answer(text="Let me look."), answer("weather")))
    assert [labels(group)["weather"] for group in groups] == [1]
    assert counts(tally.skipped()) == {GOES_ON: 1}


@pytest.mark.parametrize("reason", [REFUSED, CUT_OFF])
def test_an_answer_that_the_importer_knows_to_be_no_decision_is_counted_under_its_reason(reason):
    groups, tally = read(talk(user("rain?"), answer("weather", no_decision=reason)))
    assert groups == []
    assert counts(tally.skipped()) == {reason: 1}


def test_a_call_repeated_after_it_failed_is_no_decision_and_one_with_other_arguments_is():
    groups, tally = read(
        talk(
            user("rain?"),
            answer("weather", arguments='{"city": "Osl"}'),
            result("no such city", is_error=True),
            answer("weather", arguments='{"city": "Osl"}'),
            result("no such city", is_error=True),
            answer("weather", arguments='{"city": "Oslo"}'),
            result("3 mm"),
            user("and once more?"),
            answer("weather", arguments='{"city": "Osl"}'),  # a new message, a new decision
        )
    )
    assert [group.get("previous", []) for group in groups] == [[], ["weather"] * 2, ["weather"] * 3]
    assert counts(tally.skipped()) == {RETRIED: 1}


def test_a_result_belongs_to_the_call_with_its_id_else_with_its_name():
    calls = Call("weather", "{}", "c1"), Call("mail", "{}", "c2")
    both = Message(role="answer", calls=calls)
    by_id = talk(user("a"), both, result(call_id="c2", is_error=True), result(call_id="c1"), answer("mail"))
    by_name = talk(user("b"), both, result(name="mail", is_error=True), result(name="weather"), answer("weather"))
    groups, tally = read(by_id, by_name)
    assert [group["query"] for group in groups] == ["a", "b", "b"]
    assert counts(tally.skipped()) == {RETRIED: 1}


def test_a_call_of_a_tool_that_is_not_on_the_table_is_dropped_and_without_others_the_answer_is_skipped():
    groups, tally = read(talk(user("a"), answer("weather", "fly")), talk(user("b"), answer("fly")))
    assert [labels(group) for group in groups] == [{"weather": 1, "mail": 0, "search": 0}]
    assert counts(tally.kept()) == {ONE_TOOL: 1}
    assert counts(tally.skipped()) == {NOT_ON_TABLE: 1}
    assert counts(tally.remarks()) == {CALL_DROPPED: 1}


def test_without_tools_or_a_text_of_a_user_nothing_is_decided():
    groups, tally = read(
        talk(user("a"), answer("weather"), tools=()),
        talk(answer("weather")),
        talk(user(" "), answer("weather")),
        talk(user("a"), answer("weather", tools=())),
    )
    assert groups == []
    assert counts(tally.skipped()) == {NO_TABLE: 2, NO_QUERY: 2}


def test_an_answer_may_have_a_table_of_its_own_and_one_tool_is_kept_and_named():
    (group,), tally = read(talk(user("a"), answer("weather", tools=TABLE[:1])))
    assert labels(group) == {"weather": 1}
    assert counts(tally.remarks()) == {LONE: 1}


def test_a_tool_that_stands_twice_on_the_table_stands_once_in_the_group():
    (group,), _ = read(talk(user("a"), answer("mail"), tools=(Tool("mail", "first"), Tool("mail", "second"))))
    assert group["candidates"] == [{"tool": "mail", "tool_description": "first", "label": 1}]


def test_arguments_that_are_not_json_are_counted_and_the_decision_stays():
    groups, tally = read(
        talk(user("a"), answer("mail", arguments='{"to": ')), talk(user("b"), answer("mail", arguments=""))
    )
    assert len(groups) == 2
    assert counts(tally.remarks()) == {NOT_JSON: 1}


def test_a_log_that_writes_a_growing_conversation_again_and_again_counts_each_decision_once():
    messages = user("rain?"), answer("weather"), result("3 mm"), answer("mail"), result("sent"), answer(text="Done.")
    groups, tally = read(*(talk(*messages[:length], place=f"log:{length}") for length in (2, 4, 6)))
    assert [labels(group) for group in groups] == [
        {"weather": 1, "mail": 0, "search": 0},
        {"weather": 0, "mail": 1, "search": 0},
    ]
    assert len({group["trace_id"] for group in groups}) == 1
    assert counts(tally.skipped()) == {SEEN_BEFORE: 3, DONE: 1}
    assert tally.skipped()[0].places == ("log:4", "log:6", "log:6")


def test_two_answers_with_one_id_count_once_and_two_ids_make_two_decisions_of_equal_words():
    one, two = talk(user("a"), answer("mail", node_id="n1")), talk(user("a"), answer("mail", node_id="n2"))
    groups, tally = read(one, one, two)
    assert [group["node_id"] for group in groups] == ["n1", "n2"]
    assert counts(tally.skipped()) == {SEEN_BEFORE: 1}


def test_history_is_read_and_makes_no_group():
    (group,), _ = read(talk(user("a"), answer("weather"), result("3 mm"), answer("mail"), decided=3))
    assert (group["previous"], labels(group)["mail"]) == (["weather"], 1)


def test_what_is_too_long_is_cut_at_a_word_and_counted():
    long = "word " * LONGEST_QUERY
    groups, tally = read(
        talk(user(long), answer("mail")),
        talk(*[user("a b " * LONGEST_MESSAGE)] * 20, user("c"), answer("mail")),
        talk(user("d"), *[answer("mail")] * (LONGEST_PAST + 2)),
    )
    assert groups[0]["query"] == long[:LONGEST_QUERY].strip()
    assert LONGEST_CONTEXT - LONGEST_MESSAGE - 20 < len(groups[1]["context"]) <= LONGEST_CONTEXT
    assert max(map(len, groups[1]["context"].split("user: "))) <= LONGEST_MESSAGE + 1
    assert groups[-1]["previous"] == ["mail"] * LONGEST_PAST
    assert counts(tally.remarks()) == {QUERY_CUT: 1, CONTEXT_CUT: 1, PREVIOUS_CUT: 1}


def test_the_text_of_content_is_that_of_its_parts():
    parts = [
        {"type": "text", "text": "rain?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        "plain",
        {"type": "tool_result", "content": [{"type": "text", "text": "3 mm"}]},
        None,
        7,
    ]
    assert content_text(parts) == "rain?\nplain\n3 mm"
    assert content_text(None) == ""


def test_tools_are_read_in_every_shape_and_what_is_none_is_counted():
    shapes = [
        [{"type": "function", "function": {"name": "a", "description": "A."}}],
        [{"type": "function", "name": "a", "description": "A.", "parameters": {}}],
        [{"name": "a", "description": "A.", "input_schema": {"type": "object"}}],
        {"a": {"description": "A."}},
        {"tools": {"a": {"description": "A."}}},
    ]
    assert [usable_tools(shape) for shape in shapes] == [((Tool("a", "A."),), 0)] * 5
    assert usable_tools([{"name": ""}, None, {"name": "b"}]) == ((Tool("b"),), 2)
    assert usable_tools("tools") == ((), 0)


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Error: no such city", True),
        ("ValueError: no such city", True),
        ("Traceback (most recent call last):", True),
        ('{"error": {"code": 404}}', True),
        ('{"success": false}', True),
        ('{"status": "error", "message": "x"}', True),
        ('{"error": null, "rain": 3}', False),
        ('{"error": "", "rain": 3}', False),
        ("no errors were found", False),
        ("terrorists", False),
        ("", False),
    ],
)
def test_a_result_that_begins_like_an_error_failed(text, expected):
    assert looks_failed(text) is expected
