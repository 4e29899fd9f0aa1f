"""Requests to a chat model and their responses, one after the other, from any file that logs them.

A line holds a request as it was sent, and its response beside it or under a key of its own; where it holds messages
and no response, their answers are what was decided.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec

from ltr.data.importers.conversations import FAILED, FORCED, Call, Tool, usable_tools
from ltr.data.importers.tally import Tally
from ltr.data.json_stream import json_values
from ltr.data.jsonlines import FAILURES
from ltr.data.schema import seconds
from ltr.errors import FieldError
from ltr.files.reading import shown

Object = Mapping[str, Any]

REQUEST_KEYS = ("request", "body", "kwargs", "params", "input")
RESPONSE_KEYS = ("response", "completion", "output", "result")
TRACE_KEYS = ("conversation_id", "thread_id", "session_id", "conversation", "trace_id")  # the widest first
TIME_KEYS = ("created", "created_at", "timestamp", "time")
FREE_CHOICES = ("auto", "required", "any")
MOST_TABLES = 64  # distinct lists of tools that are kept read

NOT_JSON = "lines that are not JSON"
BROKEN_OFF = "values that the file ends inside of"
NO_OBJECT = "values that are no JSON object"
UNREADABLE_RESPONSE = "responses that do not say what was called"
OTHER_IDS = "lines with two ids for one trace: the first counts"
BAD_TIMES = "times that are none, left out"
NO_MESSAGES = "lines without messages"
NO_ANSWER = "requests without an answer"
UNKNOWN_ROLE = "messages of an unknown role, left out"
HISTORY = "answers inside later requests: each counts once, where the log has it as a response"
NO_TOOL = "entries of a list of tools that are no tool with a name, left out"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and what came back."""

    request: Object
    response: Object | None  # None: the log has none, or it failed
    failure: str  # why there is none, though there should be one; "" else
    place: str
    trace_id: str
    time: float | str | None


def exchanges(files: Sequence[str], tally: Tally, trace: str) -> Iterator[Exchange]:
    """Every line of the files. `trace` names the field with the id of a conversation; "" looks for the usual ones."""
    for place, line in log_objects(files, tally):
        bodies = (_unwrapped(line.get(key)) for key in REQUEST_KEYS)
        request = next((body for body in bodies if body and ("messages" in body or "input" in body)), line)
        has_response = next((key for key in RESPONSE_KEYS if key in line and not isinstance(line[key], list)), None)
        response, failure = None, FAILED if line.get("error") else ""
        if has_response and not failure:
            response = _unwrapped(line[has_response])
            failure = "" if response else UNREADABLE_RESPONSE if line[has_response] else FAILED
        sources = (line, request, response or {})
        yield Exchange(
            request=request,
            response=response,
            failure=failure,
            place=place,
            trace_id=_trace_id(sources, (trace,) if trace else TRACE_KEYS, tally, place),
            time=_time(reversed(sources), tally, place),
        )


def log_objects(files: Sequence[str], tally: Tally) -> Iterator[tuple[str, Object]]:
    """Every JSON object of the files and its place; what is none is counted."""
    for path in files:
        for value in json_values(path):
            place = f"{shown(path)}:{value.line}"
            if not value.is_whole:
                tally.skip(BROKEN_OFF, place)
                continue
            try:
                content = msgspec.json.decode(value.content)
            except FAILURES:
                tally.skip(NOT_JSON, place)
                continue
            if isinstance(content, dict):
                yield place, content
            else:
                tally.skip(NO_OBJECT, place)


def table_of(listed: object, tally: Tally, place: str) -> tuple[Tool, ...]:
    """The tools of a list, which many lines of a log repeat."""
    tools, unusable = _table(msgspec.json.encode(listed))
    tally.remark(NO_TOOL, place, unusable)
    return tools


@lru_cache(maxsize=MOST_TABLES)
def _table(listed: bytes) -> tuple[tuple[Tool, ...], int]:
    return usable_tools(msgspec.json.decode(listed))


def allowed(table: tuple[Tool, ...], choice: object) -> tuple[tuple[Tool, ...], str]:
    """The tools among which `tool_choice` leaves a choice, and why there is none where there is none."""
    kind = choice.get("type", FORCED) if isinstance(choice, dict) else choice
    if kind is None or kind in FREE_CHOICES:
        return table, ""
    if not isinstance(choice, dict) or kind != "allowed_tools":
        return table, FORCED
    inner = choice.get("allowed_tools")
    listed = inner.get("tools") if isinstance(inner, dict) else choice.get("tools")
    names = {name for tool in objects(listed) for name in (tool.get("name"), function_of(tool).get("name")) if name}
    return tuple(tool for tool in table if tool.name in names), ""


def function_of(entry: Object) -> Object:
    """What stands under `function`, or under `custom` of a tool that takes a text; the entry itself without them."""
    inner = entry.get("function", entry.get("custom"))
    return inner if isinstance(inner, dict) else entry


def call_of(name: object, arguments: object, call_id: object) -> Call | None:
    """A call, whatever its arguments are; None without a name."""
    if not isinstance(name, str) or not name.strip():
        return None
    if arguments is None or arguments == "":
        text = ""
    else:
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return Call(name, text, call_id if isinstance(call_id, str) else "")


def objects(value: object) -> list[Object]:
    """The objects of a list; what else stands there is left out."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def text_or_empty(value: object) -> str:
    """The value, if it is a text."""
    return value if isinstance(value, str) else ""


def object_or_empty(value: object) -> Object:
    """The value, if it is an object."""
    return value if isinstance(value, dict) else {}


def is_anthropic_body(body: Object) -> bool:
    """Whether a request or a response is in Anthropic's form, by what only it has."""
    tools = objects(body.get("tools"))
    blocks = [block for message in objects(body.get("messages")) for block in objects(message.get("content"))]
    return (
        "anthropic_version" in body
        or ("stop_reason" in body and "content" in body)
        or any("input_schema" in tool for tool in tools)
        or any(text_or_empty(block.get("type")).endswith(("tool_use", "tool_result")) for block in blocks)
    )


def is_span(line: Object) -> bool:
    """Whether a line is a span of a trace, whose input may be such a request: other importers read those."""
    return any(key in line for key in ("traceId", "run_type", "span_kind", "resourceSpans", "observations"))


def _unwrapped(value: object) -> Object | None:
    """The object that a log holds as it is, as JSON in a text, or as the body of an HTTP message."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = msgspec.json.decode(value)
        except FAILURES:
            return None
    if not isinstance(value, dict):
        return None
    return _unwrapped(value["body"]) if isinstance(value.get("body"), dict | str) else value


def _trace_id(sources: Sequence[Object], keys: Sequence[str], tally: Tally, place: str) -> str:
    """The id under the first of the keys that has one, in any of the objects or their metadata."""
    metadata = [source["metadata"] for source in sources if isinstance(source.get("metadata"), dict)]
    for key in keys:
        ids = dict.fromkeys(filter(None, (_id(source.get(key)) for source in (*sources, *metadata))))
        if ids:
            tally.remark(OTHER_IDS, place, int(len(ids) > 1))
            return next(iter(ids))
    return ""


def _id(value: object) -> str:
    """An id as a text, or that of an object with an id; "" for anything else."""
    return id_text(value.get("id") if isinstance(value, dict) else value)


def id_text(value: object) -> str:
    """An id as a text, of a number its digits; "" for anything else.

    >>> id_text(7), id_text("a"), id_text(None)
    ('7', 'a', '')
    """
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def _time(sources: "Iterator[Object]", tally: Tally, place: str) -> float | str | None:
    """When the response was made, else the request."""
    times = (source[key] for source in sources for key in TIME_KEYS if source.get(key) is not None)
    time = next(times, None)
    if time is None:
        return None
    try:
        if not isinstance(time, bool) and isinstance(time, str | int | float) and math.isfinite(seconds(time)):
            return time
    except (FieldError, OverflowError):
        pass
    tally.remark(BAD_TIMES, place)
    return None


def call_in(entry: object) -> Call | None:
    """The call that an entry of an answer's list of calls holds; None without a name."""
    if not isinstance(entry, dict):
        return None
    function = function_of(entry)
    name = function.get("name", function.get("toolName"))
    arguments = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
    call_id = next((entry[key] for key in ("id", "call_id", "toolCallId") if entry.get(key)), "")
    return call_of(name, arguments, call_id)
