"""What the attributes of a span say, in the conventions of OpenInference, of OTel GenAI and of their forerunners."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from ltr.data.importers.conversations import Message, last_user_text
from ltr.data.importers.json_objects import decoded, entries, object_or_empty
from ltr.data.importers.message_formats import answer_in, messages_in
from ltr.data.importers.offered_tools_and_calls import allowed, table_of
from ltr.data.importers.span import Kind, Span, answer_of_span, tool_name
from ltr.data.importers.tally import Tally

Tree = dict[str, Any]

MOST_PARTS = 32  # of a dotted key
MODEL_OPERATIONS = ("chat", "generate_content", "text_completion")
KINDS: Mapping[str, Kind] = {"llm": "model", "tool": "tool", "chat": "model"}
FEEDBACK_KEYS = ("feedback.score", "user.feedback", "user_feedback")

BAD_SCHEMA = "tools whose schema is not JSON, known by their name or left out"


def tree_of(attributes: Iterable[tuple[str, Any]]) -> Tree:
    """Attributes with dotted keys as objects inside objects; those that nest already keep their shape.

    >>> tree_of([("llm.tools.0.tool.json_schema", "{}"), ("llm", {"model_name": "m"})])
    {'llm': {'tools': {'0': {'tool': {'json_schema': '{}'}}}, 'model_name': 'm'}}
    """
    tree: Tree = {}
    waiting = [(tree, key, value) for key, value in reversed([*attributes])]
    while waiting:
        node, key, value = waiting.pop()
        *path, last = key.split(".", MOST_PARTS)
        for part in path:
            inner = node.get(part)
            if not isinstance(inner, dict):
                inner = node[part] = {}
            node = inner
        if not isinstance(value, dict):
            if not isinstance(node.get(last), dict):  # a key that has keys below it is an object
                node[last] = value
            continue
        if not isinstance(node.get(last), dict):
            node[last] = {}
        waiting += [(node[last], str(inner), entry) for inner, entry in reversed(value.items())]
    return tree


def at(tree: Any, path: str) -> Any:
    """The value at the dotted path; None where there is none."""
    for part in path.split("."):
        tree = tree.get(part) if isinstance(tree, dict) else None
    return tree


def kind_of(tree: Tree) -> Kind:
    """What the attributes say that the span is."""
    for path in ("openinference.span.kind", "traceloop.span.kind", "llm.request.type"):
        kind = at(tree, path)
        if isinstance(kind, str):
            return KINDS.get(kind.lower(), "other")
    operation = at(tree, "gen_ai.operation.name")
    if operation == "execute_tool":
        return "tool"
    return "model" if operation in MODEL_OPERATIONS else "other"


def span_of(tree: Tree, span: Span, name: str, tally: Tally) -> Span:
    """The span with what its attributes say; `name` is the span's own."""
    replaced = msgspec.structs.replace
    kind = span.kind if span.kind != "other" else kind_of(tree)
    feedback = next((score for key in FEEDBACK_KEYS if (score := _score(at(tree, key))) is not None), span.feedback)
    if kind == "tool":
        named = _first_text(tree, ("gen_ai.tool.name", "tool.name", "tool_call.function.name", "traceloop.entity.name"))
        call_id = _first_text(tree, ("gen_ai.tool.call.id", "tool_call.id", "tool.id"))
        tool = named.strip() or tool_name(name)
        return replaced(span, kind="tool" if tool else "other", tool=tool, call_id=call_id, feedback=feedback)
    if kind != "model":
        user_text = last_user_text(messages_in(at(tree, "input.value") or at(tree, "gen_ai.input.messages")))
        table = table_of(_tools(tree, None, tally, span.place), tally, span.place)
        return replaced(span, kind=kind, user_text=user_text, feedback=feedback, tools=table)
    parameters = decoded(at(tree, "llm.invocation_parameters"))
    choice = parameters.get("tool_choice") if isinstance(parameters, dict) else None
    table, forced = allowed(table_of(_tools(tree, parameters, tally, span.place), tally, span.place), choice)
    answer = answer_of_span(_answer(tree), forced, has_failed=span.has_failed)
    messages = tuple(_messages(tree))
    return replaced(span, kind="model", tools=table, answer=answer, messages=messages, feedback=feedback)


def _first_text(tree: Tree, paths: Sequence[str]) -> str:
    """The text under the first of the paths that has one; "" without."""
    return next((text for path in paths if isinstance(text := at(tree, path), str) and text.strip()), "")


def _messages(tree: Tree) -> list[Message]:
    """The conversation before the answer, under the first of the keys that has it."""
    listed = (
        at(tree, "llm.input_messages"),
        at(tree, "gen_ai.input.messages"),
        at(tree, "gen_ai.prompt"),
        at(tree, "input.value"),
    )
    return next((messages for value in listed if value and (messages := messages_in(value))), [])


def _answer(tree: Tree) -> Message | None:
    """The answer, under the first of the keys that has it."""
    listed = (
        at(tree, "llm.output_messages"),
        at(tree, "gen_ai.output.messages"),
        at(tree, "gen_ai.completion"),
        at(tree, "output.value"),
    )
    answer = next((answer for value in listed if value and (answer := answer_in(value))), None)
    if (answer is None or not answer.calls) and (legacy := decoded(at(tree, "llm.function_call"))):
        called = answer_in({"role": "assistant", "function_call": legacy})
        answer = called if called is not None and called.calls else answer
    ended = at(tree, "gen_ai.response.finish_reasons") or at(tree, "llm.finish_reason")
    ended = entries(decoded(ended)) or [ended]
    if answer is not None and not answer.no_decision and isinstance(ended[0], str):
        reason = answer_in({"finish_reason": ended[0]})
        answer = msgspec.structs.replace(answer, no_decision=reason.no_decision) if reason else answer
    return answer


def _tools(tree: Tree, parameters: Any, tally: Tally, place: str) -> list[Any]:
    """The tools on the table, as a list that `table_of` reads."""
    tools = []
    for entry in entries(at(tree, "llm.tools")):
        tool = object_or_empty(object_or_empty(entry).get("tool", entry))
        schema = tool.get("json_schema")
        read = decoded(schema)
        if isinstance(read, dict):
            tools.append(read)
        elif tool.get("name"):
            tools.append({"name": tool["name"], "description": tool.get("description")})
        if schema is not None and not isinstance(read, dict):
            tally.remark(BAD_SCHEMA, place)
    if tools:
        return tools
    own = decoded(at(tree, "gen_ai.tool.definitions")) or decoded(at(tree, "gen_ai.request.tools"))
    own = own or at(decoded(at(tree, "model_request_parameters")), "function_tools")
    listed = entries(own) or entries(at(tree, "llm.request.functions"))
    if not listed and isinstance(parameters, dict):
        listed = entries(parameters.get("tools")) or entries(parameters.get("functions"))
    return [decoded(tool) for tool in listed]


def _score(value: object) -> float | None:
    return float(value) if isinstance(value, bool | int | float) and value == value else None
