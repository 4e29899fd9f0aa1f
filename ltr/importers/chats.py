"""Chat logs: requests to a model and their responses, from any file that logs them; and Anthropic's form of both.

A line holds a request as it was sent, and its response beside it or under a key of its own; where it holds messages
and no response, their answers are what was decided.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from ltr.errors import FieldError
from ltr.importers.conversations import (
    CUT_OFF,
    FAILED,
    REFUSED,
    UNFINISHED,
    Conversation,
    Message,
    Role,
    Tool,
    decisions,
    repeat_rule,
)
from ltr.importers.frame import Imported, Opening, Tally, importer
from ltr.importers.logs import (
    Object,
    answer_of,
    call_of,
    content_text,
    id_text,
    log_objects,
    objects,
    result_of,
    table_of,
    text_or_empty,
)
from ltr.jsonl import FAILURES
from ltr.samples import seconds

REQUEST_KEYS = ("request", "body", "kwargs", "params", "input")
RESPONSE_KEYS = ("response", "completion", "output", "result")
TRACE_KEYS = ("conversation_id", "thread_id", "session_id", "conversation", "trace_id")  # the widest first
TIME_KEYS = ("created", "created_at", "timestamp", "time")
SPAN_KEYS = ("traceId", "run_type", "span_kind", "resourceSpans", "observations")

UNREADABLE_RESPONSE = "responses that do not say what was called"
OTHER_IDS = "lines with two ids for one trace: the first counts"
BAD_TIMES = "times that are none, left out"
NO_MESSAGES = "lines without messages"
NO_ANSWER = "requests without an answer"
UNKNOWN_ROLE = "messages of an unknown role, left out"
HISTORY = "answers inside later requests: each counts once, where the log has it as a response"


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request and what came back."""

    request: Object
    response: Object | None  # None: the log has none, or it failed
    failure: str  # why there is none, though there should be one; "" else
    place: str
    trace_id: str
    time: float | str | None

    @property
    def is_answered(self) -> bool:
        """Whether the log has what came back, if only that it failed; else the messages hold what was decided."""
        return bool(self.response or self.failure)

    def conversation(
        self, table: tuple[Tool, ...], messages: list[Message], answer: Message | None, tally: Tally
    ) -> Conversation:
        """Return the conversation; without an answer of its own, those among its messages are what was decided."""
        answers = sum(message.role == "answer" for message in messages)
        if answer:
            tally.remark(HISTORY, self.place, answers)
        elif not answers:
            tally.skip(NO_ANSWER, self.place)
        said = (*messages, answer) if answer else tuple(messages)
        decided = len(messages) if answer else 0
        return Conversation(messages=said, place=self.place, trace_id=self.trace_id, tools=table, decided=decided)


Read = Callable[[Exchange, Tally], Conversation | None]  # None: counted, and left out


def import_chats(
    files: Sequence[str], read: Read, is_whole: Callable[[Object], bool], trace: str, repeats: str
) -> Imported:
    """Return the groups of the conversations that a dialect reads of the exchanges.

    `is_whole` says whether a request holds its response itself. `trace` names the field with the id of a conversation;
    "" looks for the usual ones.
    """
    tally, rule, keys = Tally(), repeat_rule(repeats), (trace,) if trace else TRACE_KEYS
    exchanges = (_exchange(line, is_whole, keys, tally, place) for place, line in log_objects(files, tally))
    conversations = (read(exchange, tally) for exchange in exchanges)
    return Imported(decisions(filter(None, conversations), tally, rule), tally=tally)


def is_anthropic_body(body: Object) -> bool:
    """Whether a request or a response is in Anthropic's form, by what only it has."""
    blocks = (block for message in objects(body.get("messages")) for block in objects(message.get("content")))
    return (
        "anthropic_version" in body
        or ("stop_reason" in body and "content" in body)
        or any("input_schema" in tool for tool in objects(body.get("tools")))
        or any(_is(block, "tool_use", "tool_result") for block in blocks)
    )


def bodies_of(opening: Opening, *keys: str) -> list[Object]:
    """Return the first line of a chat log and what may be a body in it; nothing where it is a span of a trace."""
    line = opening.document
    if not isinstance(line, dict) or any(key in line for key in SPAN_KEYS):  # whose input may be such a request
        return []
    return [line, *(line[key] for key in keys if isinstance(line.get(key), dict))]


def _exchange(
    line: Object, is_whole: Callable[[Object], bool], keys: Sequence[str], tally: Tally, place: str
) -> Exchange:
    bodies = (_unwrapped(line.get(key)) for key in REQUEST_KEYS)
    request = next((body for body in bodies if body and ("messages" in body or "input" in body)), line)
    key = next((key for key in RESPONSE_KEYS if key in line and not isinstance(line[key], list)), "")
    response, failure = None, FAILED if line.get("error") else ""
    if key and not failure:
        response = _unwrapped(line[key])
        failure = "" if response else UNREADABLE_RESPONSE if line[key] else FAILED
    sources = (line, request, response or {})
    return Exchange(
        request=request,
        response=response or (request if is_whole(request) else None),
        failure=failure,
        place=place,
        trace_id=_trace_id(sources, keys, tally, place),
        time=_time(sources, tally, place),
    )


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
        values = [source.get(key) for source in (*sources, *metadata)]
        texts = (id_text(value.get("id") if isinstance(value, dict) else value) for value in values)
        if ids := dict.fromkeys(filter(None, texts)):
            tally.remark(OTHER_IDS, place, int(len(ids) > 1))
            return next(iter(ids))
    return ""


def _time(sources: Sequence[Object], tally: Tally, place: str) -> float | str | None:
    """When the response was made, else the request."""
    times = (source[key] for source in reversed(sources) for key in TIME_KEYS if source.get(key) is not None)
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


# Anthropic's Messages: the calls of an answer and the results of tools are blocks of contents.

ROLES: Mapping[object, Role] = {"user": "user", "assistant": "answer", "system": "instruction"}
STOPS = {"max_tokens": CUT_OFF, "model_context_window_exceeded": CUT_OFF, "refusal": REFUSED}
OF_OPENAI = "lines in OpenAI's form: import them with openai"


def is_anthropic(opening: Opening) -> bool:
    """Whether the first value is a line of such a log."""
    bodies = bodies_of(opening, "request", "body", "input", "response")
    return any("messages" in body for body in bodies) and any(map(is_anthropic_body, bodies))


@importer("anthropic", title="an Anthropic chat log", looks_like=is_anthropic)
def import_anthropic(files: Sequence[str], *, trace: str = "", repeats: str = "") -> Imported:
    """A group for each answer of a log of Anthropic's Messages.

    `trace`: the field with the id of a conversation. Without one, the usual fields are tried; where a line has none,
    conversations that begin with the same message of a user are one trace.

    `repeats`: once or all. Without it, identical requests without an id count each time, and a conversation that the
    log holds again when it has grown counts once.
    """
    return import_chats(files, _of_anthropic, lambda request: "stop_reason" in request, trace, repeats)


def _of_anthropic(exchange: Exchange, tally: Tally) -> Conversation | None:
    request, place = exchange.request, exchange.place
    listed = request.get("messages")
    if not isinstance(listed, list):
        tally.skip(NO_MESSAGES, place)
        return None
    if any(entry.get("tool_calls") or entry.get("role") == "tool" for entry in objects(listed)):
        tally.skip(OF_OPENAI, place)
        return None
    table, forced = table_of(request.get("tools") or [], request.get("tool_choice"), tally, place)
    messages = [message for entry in listed for message in _messages(entry, forced, tally, place)]
    if not exchange.is_answered:
        return exchange.conversation(table, messages, None, tally)
    if messages and messages[-1].role == "answer" and not messages[-1].calls:
        del messages[-1]  # a prefill: the response goes on with its text
    return exchange.conversation(table, messages, _response(exchange, forced), tally)


def _messages(entry: object, forced: str, tally: Tally, place: str) -> Iterator[Message]:
    """The messages of one entry: the results of tools stand in a message of the user."""
    name = entry.get("role") if isinstance(entry, dict) else None
    role = ROLES.get(name) if isinstance(name, str) else None
    if not isinstance(entry, dict) or role is None:
        tally.remark(UNKNOWN_ROLE, place)
        return
    content = entry.get("content")
    if role == "answer":
        yield _answer(content, forced)
        return
    for block in objects(content):
        if _is(block, "tool_result"):
            yield result_of(block.get("content"), block.get("tool_use_id"), is_error=block.get("is_error") is True)
    rest = [block for block in content if not _is(block, "tool_result")] if isinstance(content, list) else content
    if rest or not content:
        yield Message(role=role, text=content_text(rest))


def _is(block: object, *endings: str) -> bool:
    """Whether it is a block of the type, or of one that servers of Anthropic or of MCP make."""
    return isinstance(block, dict) and text_or_empty(block.get("type")).endswith(endings)


def _answer(content: object, no_decision: str) -> Message:
    blocks = objects(content)
    uses = (block for block in blocks if _is(block, "tool_use"))
    calls = [call_of(use.get("name"), use.get("input"), use.get("id")) for use in uses]
    texts = (content_text(block.get("text")) for block in blocks if block.get("type") == "text")
    return answer_of(content if isinstance(content, str) else "\n".join(filter(None, texts)), calls, no_decision)


def _response(exchange: Exchange, forced: str) -> Message:
    """The answer that the response holds."""
    response = exchange.response
    if response is None or response.get("type") == "error" or response.get("error"):
        return Message(role="answer", no_decision=exchange.failure or FAILED)
    stop, content = response.get("stop_reason"), response.get("content")
    reason = STOPS.get(stop, "") if isinstance(stop, str) else ""
    if not isinstance(content, str | list):
        reason = reason or UNFINISHED
    if stop == "pause_turn" and not any(_is(block, "tool_use") for block in objects(content)):
        reason = UNFINISHED
    answer = _answer(content, reason or forced)
    return msgspec.structs.replace(answer, node_id=text_or_empty(response.get("id")), time=exchange.time)
