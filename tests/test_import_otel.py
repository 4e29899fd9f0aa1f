"""OTLP/JSON and Phoenix: which spans become groups, by OpenInference and OTel GenAI, with the traps of the formats."""

import json
from pathlib import Path

import pytest

from ltr import import_samples
from ltr.errors import DataError
from ltr.importers import recognise
from tests import reasons as why
from tests.chats import labels
from tests.spans import chat, counts, document, importing, inference, messages, schema, span, tool


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


imported = importing("otel")


def test_a_span_of_a_model_is_a_group_with_the_tools_of_that_call():
    tools = {"llm.tools.0.tool.json_schema": schema("weather", "Rain."), "llm.tools.1.tool.json_schema": schema("mail")}
    _, (group,) = imported(document(span("LLM", 10, inference("rain?", "weather", tools=()) | tools, trace="AB" * 16)))
    assert group == {
        "trace_id": "ab" * 16,  # hexadecimal of any case
        "node_id": "000000000000000a",
        "query": "rain?",
        "time": 10.0,
        "candidates": [{"tool": "weather", "tool_description": "Rain.", "label": 1}, {"tool": "mail", "label": 0}],
    }


FIXTURE = (  # two lines, the later spans first, one trace in both
    document(
        span("chat m", 30, chat("tell Ann", "mail", "weather")),  # kept: parallel calls
        span("invoke_agent", 1, {"gen_ai.operation.name": "invoke_agent", "gen_ai.tool.definitions": "[]"}),
        span("chat m", 40, chat("bye", text="Bye.")),  # kept: none of the tools
        span("chat m", 50, chat("more", "search")),  # skipped: not on the table
        span("chat m", 60, chat("more", "mail", finish="length")),  # skipped: cut off
        span("chat m", 70, chat("more", "mail", tools=())),  # skipped: definitions are opt-in
        span("chat m", 80, {"gen_ai.operation.name": "chat"}),  # skipped: messages are opt-in
        span("chat m", 90, chat("more", "mail"), code=2),  # skipped: an error
    ),
    document(
        span("execute_tool weather", 12, {"gen_ai.operation.name": "execute_tool"}, trace="A1" * 16),
        span("LLM", 10, inference("rain?", "weather")),  # kept
        span("LLM", 10, inference("rain?", "weather")),  # skipped: the log repeats it
        span("LLM", 14, inference([{"role": "user", "content": "rain?"},  # skipped: the work is done
                                   {"role": "assistant", "calls": [("c-weather", "weather")]},
                                   {"role": "tool", "tool_call_id": "c-weather", "content": "3 mm"}], text="3 mm.")),
        span("lost", 16, {}, spanId=""),  # skipped: no id
    ),
)  # fmt: skip


def test_the_fixture_gives_the_groups_and_reasons_counted_by_hand():
    summary, groups = imported(*FIXTURE)
    assert [(group["query"], labels(group), group.get("previous")) for group in groups] == [
        ("rain?", {"weather": 1, "mail": 0}, None),
        ("tell Ann", {"weather": 1, "mail": 1}, ["weather"]),
        ("bye", {"weather": 0, "mail": 0, "none": 1}, ["weather", "mail", "weather"]),
    ]
    assert counts(summary.kept) == {
        "decisions for one tool": 1,
        "decisions for several tools": 1,
        "decisions for no tool": 1,
    }
    assert counts(summary.skipped) == {
        why.SPAN_WITHOUT_ID: 1,
        "decisions that the log repeats": 1,
        "answers without a call after an earlier answer or result: the work is done": 1,
        "answers that called only tools that are not on the table": 1,
        "answers that were cut off": 1,
        "answers without tools on the table": 1,
        why.SPAN_WITHOUT_ANSWER: 1,
        "answers that ended in an error": 1,
    }


def test_the_order_of_spans_lines_and_files_changes_nothing():
    first = imported(*FIXTURE)[1]
    spans = [entry for line in FIXTURE for entry in line["resourceSpans"][0]["scopeSpans"][0]["spans"]]
    assert imported(*(document(entry) for entry in reversed(spans)))[1] == first


def test_groups_stand_in_the_order_in_which_their_traces_appear():
    groups = imported(*(document(span("LLM", at, inference("q", "mail"), trace=f"{at:032x}")) for at in (9, 5, 7)))[1]
    assert [int(group["trace_id"], 16) for group in groups] == [9, 5, 7]


def test_previous_holds_what_was_called_before_the_span_began_and_never_its_own_call():
    spans = [
        span("LLM", 10, inference("a", "weather"), seconds=100),  # still at work when the next begin
        span("LLM", 20, inference("b", "mail"), seconds=0),
        span("LLM", 20, inference("c", "mail"), seconds=-15, spanId="ff" * 8),  # ends before it begins
        span("search", 30, tool("search")),  # called by nobody that the log knows
        span("LLM", 120, inference("d", "mail")),
    ]
    groups = imported(document(*spans))[1]
    assert [(group["query"], group.get("previous")) for group in groups] == [
        ("a", None), ("b", None), ("c", ["mail"]), ("d", ["mail", "mail", "search", "weather"]),
    ]  # fmt: skip


@pytest.mark.parametrize("call_id", ["", "c-mail"])
def test_a_clock_that_is_late_lets_no_call_into_its_own_past(call_id):
    ran = span("mail", 5, tool("mail", **{"tool.id": call_id}))  # by the clock of another machine
    groups = imported(document(span("LLM", 10, inference("a", "mail")), ran, span("LLM", 20, inference("b", "mail"))))[
        1
    ]
    assert [(group["query"], group.get("previous")) for group in groups] == [("a", None), ("b", ["mail"])]


def test_a_tool_that_runs_while_the_answer_is_still_written_is_its_call():
    spans = [span("LLM", 10, inference("a", "mail"), seconds=9), span("mail", 12, tool("mail"))]
    groups = imported(document(*spans, span("LLM", 20, inference("b", "mail"))))[1]
    assert groups[1]["previous"] == ["mail"]


def test_the_input_of_a_later_span_is_no_query():
    later = span("chain", 5, {"openinference.span.kind": "CHAIN", "input.value": "run mail"})
    attributes = {key: value for key, value in inference("", "mail").items() if "input_messages" not in key}
    with pytest.raises(DataError, match="answers without a text of a user before them: 1"):
        imported(document(span("LLM", 2, attributes), later))


def test_without_times_the_order_of_the_log_counts():
    bare = [span("LLM", at, inference(f"q{at}", "mail")) for at in (1, 2)]
    for entry in bare:
        del entry["startTimeUnixNano"], entry["endTimeUnixNano"]
    assert [group.get("previous") for group in imported(document(*bare))[1]] == [None, ["mail"]]


@pytest.mark.parametrize("parent", ["000000000000000a", "ffffffffffffffff", "0000000000000014", ""])
def test_a_span_that_lies_about_its_parents_changes_nothing(parent):
    honest = [span("LLM", 10, inference("a", "mail")), span("mail", 20, tool("mail"), parent="000000000000000a")]
    honest.append(span("LLM", 30, inference("b", "mail")))
    lying = [{**entry, "parentSpanId": parent} for entry in honest]
    assert imported(document(*lying))[1] == imported(document(*honest))[1]


def test_one_call_in_two_spans_below_each_other_counts_once():
    spans = [
        span("execute_tool weather", 10, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}),
        span("tools/call weather", 11, {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather",
             "mcp.method.name": "tools/call"}, parent=f"{10:016x}"),
        span("LLM", 20, inference("q", "mail")),
    ]  # fmt: skip
    assert imported(document(*spans))[1][0]["previous"] == ["weather"]


@pytest.mark.parametrize(
    "name, attributes",
    [
        ("execute_tool weather", {"gen_ai.operation.name": "execute_tool"}),
        ("running tool: weather", {"openinference.span.kind": "TOOL"}),
        ("weather", {"openinference.span.kind": "TOOL"}),
        ("anything", {"openinference.span.kind": "tool", "tool.name": "weather"}),
        ("anything", {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "weather"}),
        ("weather.tool", {"traceloop.span.kind": "tool", "traceloop.entity.name": "weather"}),
    ],
)
def test_the_name_of_a_tool_is_its_attribute_else_in_the_name_of_the_span(name, attributes):
    groups = imported(document(span(name, 1, attributes), span("LLM", 9, inference("q", "mail"))))[1]
    assert groups[0]["previous"] == ["weather"]


BASE = {"openinference.span.kind": "LLM"} | messages("llm.input_messages", [{"role": "user", "content": "q"}])
CALLED = messages("llm.output_messages", [{"role": "assistant", "calls": [("c", "mail")]}])
TOOLS = {f"llm.tools.{at}.tool.json_schema": schema(name) for at, name in enumerate(("weather", "mail"))}
GEN_AI = chat("q", "mail")
SHAPES = {
    "schema with a name alone": BASE | CALLED | {
        "llm.tools.0.tool.json_schema": '{"name": "weather"}', "llm.tools.1.tool.json_schema": '{"name": "mail"}'},
    "tools by name": BASE | CALLED | {"llm.tools.0.tool.name": "weather", "llm.tools.1.tool.name": "mail"},
    "tools of the request": BASE | CALLED | {
        "llm.invocation_parameters": json.dumps({"tools": [json.loads(schema(name)) for name in ("weather", "mail")]})},
    "nested attributes": {"openinference": {"span": {"kind": "LLM"}}, "llm": {
        "input_messages": [{"message": {"role": "user", "content": "q"}}],
        "output_messages": [{"message": {"role": "assistant", "tool_calls": [
            {"tool_call": {"id": "c", "function": {"name": "mail", "arguments": "{"}}}]}}],
        "tools": [{"tool": {"json_schema": schema(name)}} for name in ("weather", "mail")]}},
    "parts of a message": {"openinference.span.kind": "LLM", **TOOLS, **CALLED,
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.contents.0.message_content.type": "text",
        "llm.input_messages.0.message.contents.0.message_content.text": "q"},
    "ordered calls": BASE | TOOLS | {
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.contents.0.message_content.type": "text",
        "llm.output_messages.0.message.contents.0.message_content.text": "I mail.",
        "llm.output_messages.0.message.contents.1.message_content.type": "tool_use",
        "llm.output_messages.0.message.contents.1.message_content.tool_call.function.name": "mail"},
    "llm.function_call": BASE | TOOLS | {"llm.function_call": '{"name": "mail", "arguments": "{}"}'},
    "a call beside the content": BASE | TOOLS | {"llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.function_call_name": "mail"},
    "input and output as JSON": {"openinference.span.kind": "LLM", **TOOLS,
        "input.value": json.dumps({"messages": [{"role": "user", "content": "q"}]}),
        "output.value": json.dumps({"choices": [{"index": 0, "finish_reason": "tool_calls", "message": {
            "role": "assistant", "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": {"name": "mail", "arguments": "{}"}}]}}]})},
    "tools of a request in a text": chat("q", "mail", tools=()) | {"model_request_parameters": json.dumps(
        {"function_tools": [{"name": name, "parameters_json_schema": {}} for name in ("weather", "mail")]})},
    "GenAI, structured": GEN_AI | {key: json.loads(GEN_AI[key]) for key in GEN_AI if GEN_AI[key].startswith("[")},
    "GenAI, before messages had parts": {"gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "q",
        "llm.request.type": "chat", "gen_ai.completion.0.role": "assistant",
        "gen_ai.completion.0.finish_reason": "tool_calls", "gen_ai.completion.0.tool_calls.0.name": "mail",
        "llm.request.functions.0.name": "weather", "llm.request.functions.1.name": "mail"},
}  # fmt: skip


@pytest.mark.parametrize("attributes", SHAPES.values(), ids=SHAPES)
def test_every_shape_of_attributes_gives_the_same_decision(attributes):
    _, (group,) = imported(document(span("LLM", 1, attributes)))
    assert (group["query"], labels(group)) == ("q", {"weather": 0, "mail": 1})


def test_messages_may_stand_in_an_event_of_the_span():
    attributes = chat("q", "mail")
    event = span("", 0, {key: attributes.pop(key) for key in [*attributes] if "messages" in key})
    event = {"name": "gen_ai.client.inference.operation.details", "attributes": event["attributes"]}
    _, (group,) = imported(document(span("chat", 1, attributes, events=[event])))
    assert labels(group) == {"weather": 0, "mail": 1}


def test_eleven_messages_stand_in_the_order_of_their_numbers():
    said = [{"role": "user", "content": f"m{at}"} for at in range(11)]
    _, (group,) = imported(document(span("LLM", 1, inference(said, "mail"))))
    assert (group["query"], group["context"].splitlines()[-1]) == ("m10", "user: m9")


def test_the_input_of_the_trace_is_the_query_where_the_model_has_no_messages():
    root = span("agent", 1, {"openinference.span.kind": "AGENT", "input.value": "rain?"})
    attributes = {key: value for key, value in inference("", "weather").items() if "input_messages" not in key}
    summary, (group,) = imported(document(span("LLM", 2, attributes), root))
    assert group["query"] == "rain?"
    assert counts(summary.remarks)["queries taken from the input of the whole trace"] == 1


AGENT = {"gen_ai.operation.name": "invoke_agent", "gen_ai.tool.definitions": '[{"name": "weather"}, {"name": "mail"}]'}


def test_tools_that_only_the_agent_lists_are_on_the_table_of_the_models_below_it():
    spans = [
        span("agent", 1, AGENT),
        span("step", 2, {}, parent=f"{1:016x}"),
        span("chat", 3, chat("q", "mail", tools=()), parent=f"{2:016x}"),
        span("chat", 4, chat("q", "mail", tools=("mail", "search")), parent=f"{1:016x}"),
        span("chat", 5, chat("q", "mail", tools=())),  # below no agent: no tools
    ]
    summary, groups = imported(document(*spans))
    assert [labels(group) for group in groups] == [{"weather": 0, "mail": 1}, {"mail": 1, "search": 0}]
    assert counts(summary.remarks)[why.FROM_AGENT] == 1


@pytest.mark.parametrize("parents", [(1, 2), (2, 1), (3, 3), (9, 9)])
def test_parents_that_lead_round_in_a_circle_end_the_search(parents):
    above = [span("step", at, {}, parent=f"{parent:016x}") for at, parent in zip((1, 2), parents, strict=True)]
    with pytest.raises(DataError, match="answers without tools on the table: 1"):
        imported(document(*above, span("chat", 3, chat("q", "mail", tools=()), parent=f"{1:016x}")))


def test_a_call_that_the_request_forced_is_no_decision():
    forced = {"llm.invocation_parameters": '{"tool_choice": {"type": "function", "function": {"name": "mail"}}}'}
    summary, (_,) = imported(
        document(span("LLM", 1, inference("q", "mail") | forced), span("LLM", 2, inference("q", "mail")))
    )
    assert counts(summary.skipped) == {"answers that had to call one tool, or none (tool_choice)": 1}


PHOENIX = {
    "name": "ChatCompletion", "span_kind": "LLM", "parent_id": None, "status_code": "OK", "status_message": "",
    "start_time": "2026-01-02T03:04:05.678901+00:00", "end_time": "2026-01-02T03:04:06+00:00",
}  # fmt: skip


def nested(attributes):
    """Attributes with dotted keys as objects inside objects."""
    tree = {}
    for key, value in attributes.items():
        *path, last = key.split(".")
        node = tree
        for part in path:
            node = node.setdefault(part, {})
        node[last] = value
    return tree


@pytest.mark.parametrize("shape", ["nested", "dotted", "trace", "page"])
def test_exports_of_phoenix_are_read(shape):
    attributes = nested(BASE | CALLED | TOOLS)
    context = {"trace_id": "AB" * 16, "span_id": "CD" * 8}
    own = PHOENIX | {"context": context, "attributes": attributes}
    dotted = PHOENIX | {f"context.{key}": value for key, value in context.items()}
    dotted |= {f"attributes.{key}": value for key, value in (BASE | CALLED | TOOLS).items()}
    whole = {
        "nested": own,
        "dotted": dotted,
        "trace": {"traceId": "x", "spans": [own]},
        "page": {"data": [own]},
    }
    _, (group,) = imported(whole[shape])
    assert (group["trace_id"], group["node_id"]) == ("ab" * 16, "cd" * 8)
    assert (group["query"], labels(group)) == ("q", {"weather": 0, "mail": 1})
    assert group["time"] == pytest.approx(1767323045.678901)
    assert shape == "page" or "otel" in recognise("log.jsonl")


def test_a_document_over_many_lines_is_read_like_a_line():
    Path("log.json").write_text(json.dumps(FIXTURE[0], indent=1))
    assert "otel" in recognise("log.json")
    assert import_samples("otel", ["log.json"], "y.jsonl").groups == 2


@pytest.mark.parametrize(
    "lines, skipped",
    [
        ('{"resourceSpans": [', "values that the file ends inside of: 1 (log.jsonl:1)"),
        ('{"resourceSpans": []}\n', "values without spans: 1 (log.jsonl:1)"),
        ('{"a": 1}\n[1]\n', "values without spans: 1 (log.jsonl:1); values that are no JSON object: 1 (log.jsonl:2)"),
        ('{"a": 1}\n{"resourceSp\n', "values without spans: 1 (log.jsonl:1); lines that are not JSON: 1 (log.jsonl:2)"),
        ('{"resourceSpans": [{"scopeSpans": [{"spans": [1]}]}]}\n', "entries of a list of spans that are none: 1"),
    ],
)
def test_what_cannot_be_read_is_skipped_and_counted(lines, skipped):
    Path("log.jsonl").write_text(lines)
    with pytest.raises(DataError) as refused:
        import_samples("otel", ["log.jsonl"], "x.jsonl")
    assert f"no sample for the importer otel; skipped: {skipped}" in str(refused.value)


SILENT = {key: value for key, value in inference("", "weather").items() if "input_messages" not in key}
TEXT_ALONE = {key: value for key, value in inference("", text="3 mm.").items() if "input_messages" not in key}
ROOT = span("agent", 1, {"openinference.span.kind": "AGENT", "input.value": "rain?"})
DONE = "answers without a call after an earlier answer or result: the work is done"


def by_command(cli, *documents):
    """The groups that `ltr import` writes for the documents, and the numbers of its summary by reason."""
    Path("log.jsonl").write_text("".join(json.dumps(entry) + "\n" for entry in documents), encoding="utf-8")
    summary = json.loads(cli.good("import", "otel", "log.jsonl", "-o", "x.jsonl", "--overwrite", "--format", "json"))
    groups = [json.loads(line) for line in Path("x.jsonl").read_text(encoding="utf-8").splitlines()]
    return groups, {entry["reason"]: entry["number"] for entry in (*summary["kept"], *summary["skipped"])}


@pytest.mark.parametrize(
    "spans",
    [
        (span("LLM", 10, inference("rain?", "weather")), span("LLM", 14, inference("rain?", text="3 mm."))),
        (ROOT, span("LLM", 10, SILENT), span("LLM", 14, TEXT_ALONE)),
        (span("chat", 10, chat("rain?", "weather")), span("chat", 14, chat("rain?", text="3 mm."))),
    ],
    ids=["the user's message alone", "no messages", "GenAI"],
)
@pytest.mark.parametrize("ran", [(), (span("weather", 12, tool("weather")),)], ids=["", "its tool has a span"])
def test_the_answer_after_a_call_teaches_no_none_where_spans_do_not_repeat_the_history(cli, spans, ran):
    groups, counted = by_command(cli, document(*spans, *ran))
    assert [labels(group) for group in groups] == [{"weather": 1, "mail": 0}]
    assert counted == {"decisions for one tool": 1, DONE: 1}


def test_calls_of_an_earlier_turn_stand_before_the_message_of_the_user(cli):
    spans = [
        span("LLM", 10, inference("rain?", "weather")),
        span("LLM", 14, inference("rain?", text="3 mm.")),
        span("LLM", 20, inference("thanks", text="Welcome.")),  # none of the tools
        span("LLM", 30, inference("mail it", "mail")),
        span("LLM", 34, inference("mail it", text="Sent.")),
        span("LLM", 40, inference("thanks", text="Welcome.")),  # the same words, another turn
    ]
    groups, counted = by_command(cli, document(*spans))
    assert [(group["query"], labels(group).get("none", 0), group.get("previous")) for group in groups] == [
        ("rain?", 0, None), ("thanks", 1, ["weather"]), ("mail it", 0, ["weather"]), ("thanks", 1, ["weather", "mail"]),
    ]  # fmt: skip
    assert counted == {"decisions for one tool": 2, "decisions for no tool": 2, DONE: 2}


def test_an_agent_that_works_between_two_spans_of_another_does_not_end_its_turn(cli):
    spans = [
        span("LLM", 10, inference("rain?", "weather")),
        span("LLM", 12, inference("Look up Oslo", "search", tools=("search", "mail"))),
        span("LLM", 14, inference("Look up Oslo", text="3 mm", tools=("search", "mail"))),
        span("LLM", 16, inference("rain?", text="3 mm.")),
    ]
    groups, counted = by_command(cli, document(*spans))
    assert [group["query"] for group in groups] == ["rain?", "Look up Oslo"]
    assert counted == {"decisions for one tool": 2, DONE: 2}


def test_history_that_shows_earlier_turns_alone_does_not_hide_the_calls_of_this_one(cli):
    earlier = [
        {"role": "user", "content": "rain in Oslo?"},
        {"role": "assistant", "calls": [("c1", "weather")]},
        {"role": "tool", "tool_call_id": "c1", "content": "3 mm"},
        {"role": "assistant", "content": "3 mm."},
        {"role": "user", "content": "and in Rome?"},
    ]
    spans = [
        span("LLM", 10, inference("rain in Oslo?", "weather")),
        span("LLM", 20, inference(earlier, "weather")),
        span("LLM", 24, inference(earlier, text="0 mm.")),
    ]
    groups, counted = by_command(cli, document(*spans))
    assert [group.get("previous") for group in groups] == [None, ["weather"]]
    assert counted == {"decisions for one tool": 2, DONE: 1}


def test_parallel_calls_stand_in_previous_in_the_order_in_which_they_were_made(cli):
    tools = ("weather", "mail", "calendar")
    spans = [span("LLM", 10, inference("plan", "weather", "calendar", "mail", tools=tools))]
    groups, _ = by_command(cli, document(*spans, span("LLM", 20, inference("next", "mail", tools=tools))))
    assert groups[1]["previous"] == ["weather", "calendar", "mail"]
