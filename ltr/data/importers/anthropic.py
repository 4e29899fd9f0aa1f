"""Logs of Anthropic's Messages."""

from collections.abc import Iterator, Sequence

from ltr.data.importers.chat_requests import (
    NO_MESSAGES,
    UNKNOWN_ROLE,
    Exchange,
    conversation_of,
    exchanges,
    is_anthropic_body,
    is_span,
)
from ltr.data.importers.conversations import (
    CUT_OFF,
    FAILED,
    NAMELESS,
    REFUSED,
    UNFINISHED,
    Call,
    Conversation,
    Message,
    content_text,
)
from ltr.data.importers.file_beginning import Opening
from ltr.data.importers.groups_from_conversations import decisions, repeat_rule
from ltr.data.importers.json_objects import Object, objects, text_or_empty
from ltr.data.importers.offered_tools_and_calls import allowed, call_of, table_of
from ltr.data.importers.registry import Imported, importer
from ltr.data.importers.tally import Tally

STOPS = {"max_tokens": CUT_OFF, "model_context_window_exceeded": CUT_OFF, "refusal": REFUSED}
OF_OPENAI = "lines in OpenAI's form: import them with openai"


def is_anthropic(opening: Opening) -> bool:
    """Whether the first value is a line of such a log."""
    line = opening.document
    if not isinstance(line, dict) or is_span(line):
        return False
    bodies = [line, *(line[key] for key in ("request", "body", "input", "response") if isinstance(line.get(key), dict))]
    return any("messages" in body for body in bodies) and any(map(is_anthropic_body, bodies))


@importer("anthropic", title="an Anthropic chat log", looks_like=is_anthropic)
def import_anthropic(files: Sequence[str], *, trace: str = "", repeats: str = "") -> Imported:
    """A group for each answer of a log of Anthropic's Messages.

    `trace`: the field with the id of a conversation. Without one, the usual fields are tried; where a line has none,
    conversations that begin with the same message of a user are one trace.

    `repeats`: once or all. Without it, identical requests without an id count each time, and a conversation that the
    log holds again when it has grown counts once.
    """
    tally, rule = Tally(), repeat_rule(repeats)
    return Imported(decisions(_conversations(files, tally, trace), tally, rule), tally=tally)


def _conversations(files: Sequence[str], tally: Tally, trace: str) -> Iterator[Conversation]:
    for exchange in exchanges(files, tally, trace):
        listed = exchange.request.get("messages")
        if not isinstance(listed, list):
            tally.skip(NO_MESSAGES, exchange.place)
        elif any(entry.get("tool_calls") or entry.get("role") == "tool" for entry in objects(listed)):
            tally.skip(OF_OPENAI, exchange.place)
        else:
            yield _conversation(exchange, listed, tally)


def _conversation(exchange: Exchange, listed: Sequence[object], tally: Tally) -> Conversation:
    request, place = exchange.request, exchange.place
    table, forced = allowed(table_of(request.get("tools") or [], tally, place), request.get("tool_choice"))
    messages = [message for entry in listed for message in _messages(entry, forced, tally, place)]
    response = exchange.response or (request if "stop_reason" in request else None)
    if not response and not exchange.failure:
        return conversation_of(exchange, table, messages, None, tally)
    if messages and messages[-1].role == "answer" and not messages[-1].calls:
        del messages[-1]  # a prefill: the response goes on with its text
    return conversation_of(exchange, table, messages, lambda: _response(response, exchange, forced), tally)


def _messages(entry: object, forced: str, tally: Tally, place: str) -> Iterator[Message]:
    """The messages of one entry: the results of tools stand in a message of the user."""
    role = entry.get("role") if isinstance(entry, dict) else None
    if not isinstance(entry, dict) or role not in ("user", "assistant", "system"):
        tally.remark(UNKNOWN_ROLE, place)
        return
    content = entry.get("content")
    if role == "assistant":
        yield _answer(content, forced)
        return
    yield from map(_result, (block for block in objects(content) if _is(block, "tool_result")))
    rest = [block for block in content if not _is(block, "tool_result")] if isinstance(content, list) else content
    if rest or not content:
        yield Message(role="user" if role == "user" else "instruction", text=content_text(rest))


def _result(block: Object) -> Message:
    call_id, is_error = text_or_empty(block.get("tool_use_id")), block.get("is_error") is True
    return Message(role="result", text=content_text(block.get("content")), call_id=call_id, is_error=is_error)


def _is(block: object, ending: str) -> bool:
    """Whether it is a block of the type, or of one that servers of Anthropic or of MCP make."""
    return isinstance(block, dict) and text_or_empty(block.get("type")).endswith(ending)


def _answer(content: object, no_decision: str, node_id: str = "", time: float | str | None = None) -> Message:
    blocks = objects(content)
    listed = [block for block in blocks if _is(block, "tool_use")]
    calls = tuple(call for block in listed if (call := _call(block)))
    if listed and not calls:
        no_decision = no_decision or NAMELESS
    text = content if isinstance(content, str) else "\n".join(_texts(blocks))
    return Message(role="answer", text=text, calls=calls, no_decision=no_decision, node_id=node_id, time=time)


def _texts(blocks: Sequence[Object]) -> Iterator[str]:
    return (text for block in blocks if block.get("type") == "text" and (text := content_text(block.get("text"))))


def _call(block: Object) -> Call | None:
    return call_of(block.get("name"), block.get("input"), block.get("id"))


def _response(response: Object | None, exchange: Exchange, forced: str) -> Message:
    """The answer that a response holds."""
    if response is None or response.get("type") == "error" or response.get("error"):
        return Message(role="answer", no_decision=exchange.failure or FAILED)
    stop, content = response.get("stop_reason"), response.get("content")
    reason = STOPS.get(stop, "") if isinstance(stop, str) else ""
    if not isinstance(content, str | list):
        reason = reason or UNFINISHED
    if stop == "pause_turn" and not any(_is(block, "tool_use") for block in objects(content)):
        reason = UNFINISHED
    return _answer(content, reason or forced, text_or_empty(response.get("id")), exchange.time)
