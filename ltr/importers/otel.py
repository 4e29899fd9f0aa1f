"""Traces of OpenTelemetry: OTLP/JSON in lines or documents, and what Phoenix exports of them.

What is said stands in the attributes of a span, in the conventions of OpenInference, of OTel GenAI and of their
forerunners.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from ltr.importers.conversations import Message
from ltr.importers.frame import Opening, Tally
from ltr.importers.logs import (
    Object,
    at,
    decoded,
    entries,
    id_text,
    log_objects,
    object_or_empty,
    objects,
    table_of,
    text_or_empty,
    whole_nanoseconds,
)
from ltr.importers.messages import answer_in, last_user_text, messages_in
from ltr.importers.spans import Dialect, Kind, Span, tool_name, with_model
from ltr.importers.traces import tracer

Tree = dict[str, Any]
Value = TypeVar("Value")

MODEL_OPERATIONS = ("chat", "generate_content", "text_completion")
KINDS: Mapping[str, Kind] = {"llm": "model", "tool": "tool", "chat": "model"}
# Where attributes say something, in the order in which they are tried.
KIND_KEYS = ("openinference.span.kind", "traceloop.span.kind", "llm.request.type")
FEEDBACK_KEYS = ("feedback.score", "user.feedback", "user_feedback")
TOOL_KEYS = ("gen_ai.tool.name", "tool.name", "tool_call.function.name", "traceloop.entity.name")
CALL_KEYS = ("gen_ai.tool.call.id", "tool_call.id", "tool.id")
INPUT_KEYS = ("llm.input_messages", "gen_ai.input.messages", "gen_ai.prompt", "input.value")
OWN_TOOLS = (
    "gen_ai.tool.definitions!", "gen_ai.request.tools!", "model_request_parameters!.function_tools",
    "llm.request.functions",
)  # fmt: skip
TOOLS = (*OWN_TOOLS, "llm.invocation_parameters!.tools", "llm.invocation_parameters!.functions")  # of a model
OUTPUT_KEYS = ("llm.output_messages", "gen_ai.output.messages", "gen_ai.completion", "output.value")

HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{1,64}")
DIGITS = re.compile(r"-?\d{1,20}", re.ASCII)
ERROR_CODES = (2, "2", "STATUS_CODE_ERROR", "ERROR")
DETAILS = "gen_ai.client.inference.operation.details"  # an event that holds the messages of its span
EVALUATED, SCORE = "gen_ai.evaluation.result", "gen_ai.evaluation.score.value"  # an event, what it says of its span
MOST_PARTS = 32  # of a dotted key
DEEPEST = 16

NO_SPANS = "values without spans"
NO_SPAN = "entries of a list of spans that are none"
BAD_SCHEMA = "tools whose schema is not JSON, known by their name or left out"


def is_otel(opening: Opening) -> bool:
    """Whether the first value holds spans of OTLP or of Phoenix."""
    document = object_or_empty(opening.document)
    return "resourceSpans" in document or any(map(_is_phoenix, [document, *objects(document.get("spans"))]))


def _is_phoenix(span: Object) -> bool:
    context = span.get("context")
    ids = isinstance(context, dict) and "span_id" in context
    return "span_kind" in span and (ids or "context.span_id" in span)


@tracer("otel", title="a file of OpenTelemetry traces", looks_like=is_otel)
def _spans(files: Sequence[str], tally: Tally) -> Iterator[Span]:
    """A group for each span of a model call: OTLP/JSON or Phoenix, with attributes of OpenInference or OTel GenAI."""
    for place, document in log_objects(files, tally):
        listed = [*_entries(document)]
        for entry in listed:
            if not isinstance(entry, dict):
                tally.skip(NO_SPAN, place)
            elif "traceId" in entry or "spanId" in entry:
                events = [(event.get("name"), event.get("attributes")) for event in objects(entry.get("events"))]
                scores = [dict(_attributes(of)).get(SCORE) for name, of in events if name == EVALUATED]
                score = next((float(score) for score in scores if isinstance(score, int | float)), None)
                listed_attributes = [entry.get("attributes"), *(of for name, of in events if name == DETAILS)]
                tree = tree_of(pair for listed in listed_attributes for pair in _attributes(listed))
                span = OTLP.plain(entry, place, feedback=score)
                yield with_attributes(span, tree, text_or_empty(entry.get("name")), tally)
            else:
                tree = tree_of(entry.items())  # keys are dotted in a data frame's lines, and nest elsewhere
                attributes = tree_of(object_or_empty(at(tree, "attributes!")).items())
                span = PHOENIX.plain(tree, place)
                yield with_attributes(span, attributes, text_or_empty(tree.get("name")), tally)
        if not listed:
            tally.skip(NO_SPANS, place)


def _entries(document: Object) -> Iterator[object]:
    """The spans of TracesData, of a trace of Phoenix, or the one that the document is."""
    if isinstance(document.get("resourceSpans"), list):
        for resource in objects(document["resourceSpans"]):
            for scope in objects(resource.get("scopeSpans") or resource.get("instrumentationLibrarySpans")):
                spans = scope.get("spans")
                yield from spans if isinstance(spans, list) else ()
    elif isinstance(document.get("spans"), list):
        yield from document["spans"]
    elif isinstance(document.get("data"), list):  # a page of the REST interface
        yield from document["data"]
    elif _is_phoenix(document) or "spanId" in document:
        yield document


def _id(value: object) -> str:
    """An id; of a hexadecimal one, case says nothing."""
    text = id_text(value)
    return text.lower() if HEXADECIMAL.fullmatch(text) else text


def _whole(value: object) -> object:
    """An integer of 64 bits, which stands in a text; anything else as it is."""
    return int(value) if isinstance(value, str) and DIGITS.fullmatch(value) else value


OTLP = Dialect(
    trace="traceId",
    span="spanId",
    parent="parentSpanId",
    start="startTimeUnixNano",
    end="endTimeUnixNano",
    status="status.code",
    errors=ERROR_CODES,
    read_id=_id,
    read_time=lambda value: whole_nanoseconds(_whole(value)),
)
PHOENIX = Dialect(
    trace="context.trace_id",
    span="context.span_id",
    parent="parent_id",
    start="start_time",
    end="end_time",
    kind="span_kind",
    kinds={"llm": "model", "tool": "tool"},
    status="status_code",
    errors=ERROR_CODES,
    read_id=_id,
)


def _attributes(listed: object, depth: int = 0) -> Iterator[tuple[str, Any]]:
    for entry in objects(listed):
        if isinstance(entry.get("key"), str):
            yield entry["key"], _value(entry.get("value"), depth)


def _value(value: object, depth: int) -> Any:
    """The value of an attribute, which stands under the name of its type."""
    if not isinstance(value, dict) or depth > DEEPEST:
        return None
    for kind, content in value.items():
        if kind == "intValue":
            return _whole(content)
        if kind == "arrayValue":
            values = at(content, "values")
            return [_value(entry, depth + 1) for entry in values] if isinstance(values, list) else []
        if kind == "kvlistValue":
            return dict(_attributes(at(content, "values"), depth + 1))
        return content
    return None


def tree_of(attributes: Iterable[tuple[str, Any]]) -> Tree:
    """Return attributes with dotted keys as objects inside objects; those that nest already keep their shape.

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


def with_attributes(span: Span, tree: Tree, name: str, tally: Tally) -> Span:
    """Return the span with what its attributes say; `name` is the span's own."""
    kind = span.kind if span.kind != "other" else _kind(tree)
    score = next((value for key in FEEDBACK_KEYS if _is_number(value := at(tree, key))), None)
    span = span if score is None else msgspec.structs.replace(span, feedback=float(score))
    if kind == "tool":
        tool = (_first(tree, TOOL_KEYS, _text) or "").strip() or tool_name(name)
        call_id = _first(tree, CALL_KEYS, _text) or ""
        return msgspec.structs.replace(span, kind="tool" if tool else "other", tool=tool, call_id=call_id)
    if kind == "other":
        user_text = last_user_text(messages_in(at(tree, "input.value") or at(tree, "gen_ai.input.messages")))
        table, _ = table_of(_tools(tree, tally, span.place, OWN_TOOLS), None, tally, span.place)
        return msgspec.structs.replace(span, kind=kind, user_text=user_text, tools=table)
    choice = at(tree, "llm.invocation_parameters!.tool_choice")
    offered = table_of(_tools(tree, tally, span.place), choice, tally, span.place)
    return with_model(span, _first(tree, INPUT_KEYS, messages_in) or [], _answer(tree), offered)


def _kind(tree: Tree) -> Kind:
    """What the attributes say that the span is."""
    for key in KIND_KEYS:
        kind = at(tree, key)
        if isinstance(kind, str):
            return KINDS.get(kind.lower(), "other")
    operation = at(tree, "gen_ai.operation.name")
    if operation == "execute_tool":
        return "tool"
    return "model" if operation in MODEL_OPERATIONS else "other"


def _first(tree: Tree, keys: Sequence[str], read: Callable[[object], Value]) -> Value | None:
    """What is read under the first of the keys that has something."""
    return next((found for key in keys if (value := at(tree, key)) and (found := read(value))), None)


def _text(value: object) -> str:
    return value if isinstance(value, str) and value.strip() else ""


def _is_number(value: object) -> bool:
    return isinstance(value, bool | int | float) and value == value


def _answer(tree: Tree) -> Message | None:
    """The answer, and how it ended, which may stand apart."""
    answer = _first(tree, OUTPUT_KEYS, answer_in)
    if (answer is None or not answer.calls) and (legacy := decoded(at(tree, "llm.function_call"))):
        called = answer_in({"role": "assistant", "function_call": legacy})
        answer = called if called is not None and called.calls else answer
    ended = at(tree, "gen_ai.response.finish_reasons") or at(tree, "llm.finish_reason")
    ended = entries(decoded(ended)) or [ended]
    if answer is not None and not answer.no_decision and isinstance(ended[0], str):
        reason = answer_in({"finish_reason": ended[0]})
        answer = msgspec.structs.replace(answer, no_decision=reason.no_decision) if reason else answer
    return answer


def _tools(tree: Tree, tally: Tally, place: str, keys: Sequence[str] = TOOLS) -> list[Any]:
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
    return tools or list(map(decoded, _first(tree, keys, entries) or []))
