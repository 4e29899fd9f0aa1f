"""What a decision of a log is: which answers become groups, what a group holds, and how the others are counted."""

import json

import pytest

from tests import reasons as why
from tests.chats import call, exchange, imported, labels, right, said, user

NAMES = ("weather", "mail", "search")
TABLE = [{"type": "function", "function": {"name": name}} for name in NAMES]
TABLE[0]["function"]["description"] = "Weather of a city."
GOOD = "a decision beside those that are asked for: an import without one is refused"


def answer(*names, text=None, arguments="{}"):
    return said(*(call(name, arguments) for name in names), content=text)


def result(text="done", **more):
    return {"role": "tool", "content": text, **more}


def failed(**more):
    return result("Error: no", **more)


def talk(*messages, tools=TABLE, **more):
    return {"messages": list(messages), "tools": tools, **more}


@pytest.fixture
def read(tmp_path):
    """The groups of the talks, and numbers by reason: what they are, why others are none, remarks."""

    def read(*talks):
        good = exchange([user(GOOD)], answer("mail"), tools=TABLE)
        groups, kept, skipped, remarks = imported("openai", [*talks, good], tmp_path)
        kept[why.ONE_TOOL] -= 1
        return groups[:-1], {reason: number for reason, number in kept.items() if number}, skipped, remarks

    return read


def test_a_decision_is_a_group_with_all_tools_on_the_table_and_label_1_for_what_was_called(read):
    line = exchange([user("rain?")], answer("weather"), tools=TABLE, response_id="n1", metadata={"session_id": "t1"})
    (group,), kept, *_ = read(line)
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
    assert kept == {why.ONE_TOOL: 1}


def test_parallel_calls_are_several_positives(read):
    (group,), kept, *_ = read(talk(user("rain? tell Ann"), answer("mail", "weather", "mail")))
    assert (labels(group), kept) == ({"weather": 1, "mail": 1, "search": 0}, {why.SEVERAL_TOOLS: 1})


def test_the_context_ends_before_the_answer_and_holds_no_arguments_and_no_instructions(read):
    groups, *_ = read(
        talk(
            {"role": "system", "content": "You are kind."},
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


def test_a_silent_answer_is_a_decision_only_as_the_first_after_a_message_of_a_user(read):
    groups, kept, skipped, _ = read(
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
    assert [right(group) for group in groups] == [["none"], ["weather"], ["none"]]
    assert groups[0]["candidates"][-1] == {"none": True, "label": 1}
    assert (kept, skipped) == ({why.NO_TOOL: 2, why.ONE_TOOL: 1}, {why.DONE: 1})


def test_a_text_before_a_call_in_the_next_message_is_not_a_decision_for_no_tool(read):
    groups, _, skipped, _ = read(talk(user("rain?"), answer(text="Let me look."), answer("weather")))
    assert [right(group) for group in groups] == [["weather"]]
    assert skipped == {why.GOES_ON: 1}


def test_a_call_repeated_after_it_failed_is_no_decision_and_one_with_other_arguments_is(read):
    groups, _, skipped, _ = read(
        talk(
            user("rain?"),
            answer("weather", arguments='{"city": "Osl"}'),
            failed(),
            answer("weather", arguments='{"city": "Osl"}'),
            failed(),
            answer("weather", arguments='{"city": "Oslo"}'),
            result("3 mm"),
            user("and once more?"),
            answer("weather", arguments='{"city": "Osl"}'),  # a new message, a new decision
        )
    )
    assert [group.get("previous", []) for group in groups] == [[], ["weather"] * 2, ["weather"] * 3]
    assert skipped == {why.RETRIED: 1}


def test_a_result_belongs_to_the_call_with_its_id_else_with_its_name(read):
    both = said(call("weather", call_id="c1"), call("mail", call_id="c2"))
    by_id = talk(user("a"), both, failed(tool_call_id="c2"), result(tool_call_id="c1"), answer("mail"))
    by_name = talk(user("b"), both, failed(name="mail"), result(name="weather"), answer("weather"))
    groups, _, skipped, _ = read(by_id, by_name)
    assert [group["query"] for group in groups] == ["a", "b", "b"]
    assert skipped == {why.RETRIED: 1}


def test_a_call_of_a_tool_that_is_not_on_the_table_is_dropped_and_without_others_the_answer_is_skipped(read):
    groups, kept, skipped, remarks = read(talk(user("a"), answer("weather", "fly")), talk(user("b"), answer("fly")))
    assert [labels(group) for group in groups] == [{"weather": 1, "mail": 0, "search": 0}]
    assert (kept, skipped, remarks) == ({why.ONE_TOOL: 1}, {why.NOT_ON_TABLE: 1}, {why.CALL_DROPPED: 1})


def test_without_tools_or_a_text_of_a_user_nothing_is_decided(read):
    groups, _, skipped, _ = read(
        talk(user("a"), answer("weather"), tools=[]), talk(answer("weather")), talk(user(" "), answer("weather"))
    )
    assert (groups, skipped) == ([], {why.NO_TABLE: 1, why.NO_QUERY: 2})


def test_one_tool_on_the_table_is_kept_and_named(read):
    (group,), _, _, remarks = read(talk(user("a"), answer("weather"), tools=TABLE[:1]))
    assert (labels(group), remarks) == ({"weather": 1}, {why.LONE: 1})


def test_a_tool_that_stands_twice_on_the_table_stands_once_in_the_group(read):
    (group,), *_ = read(talk(user("a"), answer("mail"), tools=[{"name": "mail", "description": "first"}, *TABLE[1:2]]))
    assert group["candidates"] == [{"tool": "mail", "tool_description": "first", "label": 1}]


def test_arguments_that_are_not_json_are_counted_and_the_decision_stays(read):
    bad, blank = (talk(user(query), answer("mail", arguments=text)) for query, text in (("a", '{"to": '), ("b", "")))
    groups, _, _, remarks = read(bad, blank)
    assert (len(groups), remarks) == (2, {why.BAD_ARGUMENTS: 1})


def test_a_log_that_writes_a_growing_conversation_again_and_again_counts_each_decision_once(read):
    messages = user("rain?"), answer("weather"), result("3 mm"), answer("mail"), result("sent"), answer(text="Done.")
    groups, _, skipped, _ = read(*(talk(*messages[:length]) for length in (2, 4, 6)))
    assert [right(group) for group in groups] == [["weather"], ["mail"]]
    assert len({group["trace_id"] for group in groups}) == 1
    assert skipped == {why.SEEN_BEFORE: 3, why.DONE: 1}


def test_two_answers_with_one_id_count_once_and_two_ids_make_two_decisions_of_equal_words(read):
    one, two = (exchange([user("a")], answer("mail"), tools=TABLE, response_id=name) for name in ("n1", "n2"))
    groups, _, skipped, _ = read(one, one, two)
    assert ([group["node_id"] for group in groups], skipped) == (["n1", "n2"], {why.SEEN_BEFORE: 1})


def test_history_is_read_and_makes_no_group(read):
    line = exchange([user("a"), answer("weather"), result("3 mm")], answer("mail"), tools=TABLE)
    (group,), _, _, remarks = read(line)
    assert (group["previous"], right(group), remarks) == (["weather"], ["mail"], {why.HISTORY: 1})


def test_what_is_too_long_is_cut_at_a_word_and_counted(read):
    long = "word " * why.LONGEST_QUERY
    groups, _, _, remarks = read(
        talk(user(long), answer("mail")),
        talk(*[user("a b " * why.LONGEST_MESSAGE)] * 20, user("c"), answer("mail")),
        talk(user("d"), *[answer("mail")] * (why.LONGEST_PAST + 2)),
    )
    assert groups[0]["query"] == long[: why.LONGEST_QUERY].strip()
    assert why.LONGEST_CONTEXT - why.LONGEST_MESSAGE - 20 < len(groups[1]["context"]) <= why.LONGEST_CONTEXT
    assert max(map(len, groups[1]["context"].split("user: "))) <= why.LONGEST_MESSAGE + 1
    assert groups[-1]["previous"] == ["mail"] * why.LONGEST_PAST
    assert remarks == {why.QUERY_CUT: 1, why.CONTEXT_CUT: 1, why.PREVIOUS_CUT: 1}


def test_the_text_of_content_is_that_of_its_parts(read):
    parts = [
        {"type": "text", "text": "rain?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        "plain",
        {"type": "part", "content": [{"type": "text", "text": "3 mm"}]},
        None,
        7,
    ]
    (group,), _, skipped, _ = read(talk(user(parts), answer("mail")), talk(user(None), answer("mail")))
    assert (group["query"], skipped) == ("rain?\nplain\n3 mm", {why.NO_QUERY: 1})


@pytest.mark.parametrize(
    "tools, unusable",
    [
        ([{"type": "function", "function": {"name": "a", "description": "A."}}], 0),
        ([{"type": "function", "name": "a", "description": "A.", "parameters": {}}], 0),
        ([{"name": "a", "description": "A.", "input_schema": {"type": "object"}}], 0),
        ({"a": {"description": "A."}}, 0),
        ({"tools": {"a": {"description": "A."}}}, 0),
        ([{"name": ""}, None, {"name": "a", "description": "A."}], 2),
    ],
)
def test_tools_are_read_in_every_shape_and_what_is_none_is_counted(tools, unusable, tmp_path):
    used = {"role": "assistant", "content": [{"type": "tool_use", "name": "a", "input": {}}]}
    (group,), _, _, remarks = imported("anthropic", [talk(user("x"), used, tools=tools)], tmp_path)
    assert group["candidates"] == [{"tool": "a", "tool_description": "A.", "label": 1}]
    assert remarks == {why.LONE: 1} | ({why.NOT_A_TOOL: unusable} if unusable else {})


def test_a_text_in_the_place_of_tools_is_no_table(tmp_path):
    lines = [talk(user(text), said(call("mail")), tools=tools) for text, tools in (("a", TABLE), ("b", "tools"))]
    assert imported("openai", lines, tmp_path)[2] == {why.NO_TABLE: 1}


@pytest.mark.parametrize(
    "text, is_failure",
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
def test_a_call_made_again_after_a_result_that_begins_like_an_error_is_no_decision(read, text, is_failure):
    groups, _, skipped, _ = read(talk(user("rain?"), answer("weather"), result(text), answer("weather")))
    assert (len(groups), skipped) == ((1, {why.RETRIED: 1}) if is_failure else (2, {}))
