"""Requests to a chat model and their responses, one after the other, from any file that logs them.

A line holds a request as it was sent, and its response beside it or under a key of its own; where it holds messages
and no response, their answers are what was decided.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import msgspec

from ltr.data.importers.conversations import FAILED, Conversation, Message, Tool
from ltr.data.importers.json_objects import Object, id_text, log_objects, objects, text_or_empty
from ltr.data.importers.tally import Tally
from ltr.data.json_decode_errors import FAILURES
from ltr.data.schema import seconds
from ltr.errors import FieldError

REQUEST_KEYS = ("request", "body", "kwargs", "params", "input")
RESPONSE_KEYS = ("response", "completion", "output", "result")
TRACE_KEYS = ("conversation_id", "thread_id", "session_id", "conversation", "trace_id")  # the widest first
TIME_KEYS = ("created", "created_at", "timestamp", "time")

UNREADABLE_RESPONSE = "responses that do not say what was called"
OTHER_IDS = "lines with two ids for one trace: the first counts"
BAD_TIMES = "times that are none, left out"
NO_MESSAGES = "lines without messages"
NO_ANSWER = "requests without an answer"
UNKNOWN_ROLE = "messages of an unknown role, left out"
HISTORY = "answers inside later requests: each counts once, where the log has it as a response"

Response = Callable[[], Message]


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and what came back."""

    request: Object
    response: Object | None  # None: the log has none, or it failed
    failure: str  # why there is none, though there should be one; "" else
    place: str
    trace_id: str
    time: float | str | None


def conversation_of(
    exchange: Exchange,
    table: tuple[Tool, ...],
    messages: list[Message],
    answer: Callable[[], Message] | None,
    tally: Tally,
) -> Conversation:
    """Return the conversation of a request; without a response the answers among its messages are what was decided."""
    decided, place = len(messages) if answer else 0, exchange.place
    tally.remark(HISTORY, place, sum(message.role == "answer" for message in messages[:decided]))
    if answer:
        messages = [*messages, answer()]
    elif not any(message.role == "answer" for message in messages):
        tally.skip(NO_ANSWER, place)
    return Conversation(messages=tuple(messages), place=place, trace_id=exchange.trace_id, tools=table, decided=decided)


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
