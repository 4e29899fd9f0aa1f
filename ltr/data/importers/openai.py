"""Logs of OpenAI's Chat Completions and Responses, and of all who speak them; fine-tuning files."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

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
    Conversation,
    Message,
    Role,
    content_text,
    looks_failed,
)
from ltr.data.importers.file_beginning import Opening
from ltr.data.importers.groups_from_conversations import decisions, repeat_rule
from ltr.data.importers.json_objects import Object, object_or_empty, objects, text_or_empty
from ltr.data.importers.offered_tools_and_calls import allowed, call_in, table_of
from ltr.data.importers.openai_responses import Chains, from_responses, is_responses
from ltr.data.importers.registry import Imported, importer
from ltr.data.importers.tally import Tally

ROLES: Mapping[object, Role] = {
    "system": "instruction",
    "developer": "instruction",
    "user": "user",
    "assistant": "answer",
    "tool": "result",
    "function": "result",
}
FINISHES = {"length": CUT_OFF, "content_filter": REFUSED, "error": FAILED}

MORE_CHOICES = "further choices of one response, left out"
NOT_TO_LEARN = "answers with weight 0 in a fine-tuning file"
OF_ANTHROPIC = "lines in Anthropic's form: import them with anthropic"


def is_openai(opening: Opening) -> bool:
    """Whether the first value is a line of such a log."""
    line = opening.document
    if not isinstance(line, dict) or is_span(line):
        return False
    bodies = [line, *(line[key] for key in ("request", "body", "input") if isinstance(line.get(key), dict))]
    is_chat = any(isinstance(body.get("messages"), list) for body in bodies)
    return (is_chat or any(map(is_responses, bodies))) and not any(map(is_anthropic_body, [*bodies, _response(line)]))


def _response(line: Object) -> Object:
    return object_or_empty(line.get("response"))


@importer("openai", title="an OpenAI chat log", looks_like=is_openai)
def import_openai(files: Sequence[str], *, trace: str = "", repeats: str = "") -> Imported:
    """A group for each answer of a chat log (Chat Completions, Responses) or a fine-tuning file.

    `trace`: the field with the id of a conversation. Without one, the usual fields are tried; where a line has none,
    conversations that begin with the same message of a user are one trace.

    `repeats`: once or all. Without it, identical requests without an id count each time, and a conversation that the
    log holds again when it has grown counts once.
    """
    tally, rule = Tally(), repeat_rule(repeats)
    return Imported(decisions(_conversations(files, tally, trace), tally, rule), tally=tally)


def _conversations(files: Sequence[str], tally: Tally, trace: str) -> Iterator[Conversation]:
    chains = Chains()
    for exchange in exchanges(files, tally, trace):
        request = exchange.request
        if is_anthropic_body(request) or (exchange.response and is_anthropic_body(exchange.response)):
            tally.skip(OF_ANTHROPIC, exchange.place)
        elif is_responses(request) or is_responses(exchange.response or {}):
            yield from_responses(exchange, chains, tally)
        elif isinstance(request.get("messages"), list):
            yield _chat(exchange, tally)
        else:
            tally.skip(NO_MESSAGES, exchange.place)


def _chat(exchange: Exchange, tally: Tally) -> Conversation:
    """The conversation of a request to Chat Completions."""
    request, place = exchange.request, exchange.place
    table = table_of([*objects(request.get("functions")), *_listed(request.get("tools"))], tally, place)
    choice = request.get("tool_choice", request.get("function_call"))
    table, forced = allowed(table, choice)
    listed = request["messages"]
    messages = [message for entry in listed if (message := _message(entry, forced, tally, place))]
    response = exchange.response or (request if isinstance(request.get("choices"), list) else None)
    has_response = bool(response or exchange.failure)
    answer = partial(_answer, response, exchange, forced, tally) if has_response else None
    return conversation_of(exchange, table, messages, answer, tally)


def _listed(tools: object) -> list[object]:
    return list(tools) if isinstance(tools, list) else []


def _message(entry: object, forced: str, tally: Tally, place: str) -> Message | None:
    role = ROLES.get(entry["role"]) if isinstance(entry, dict) and isinstance(entry.get("role"), str) else None
    if not isinstance(entry, dict) or role is None:
        tally.remark(UNKNOWN_ROLE, place)
        return None
    text = content_text(entry.get("content"))
    if role == "answer":
        return _assistant(entry, forced)
    if role == "result":
        return Message(
            role=role,
            text=text,
            call_id=text_or_empty(entry.get("tool_call_id")),
            name=text_or_empty(entry.get("name")),
            is_error=looks_failed(text),
        )
    return Message(role=role, text=text)


def _assistant(entry: Object, no_decision: str, node_id: str = "", time: float | str | None = None) -> Message:
    """A message of the assistant; `no_decision`: what is known against it already."""
    listed = objects(entry.get("tool_calls"))
    if isinstance(entry.get("function_call"), dict):
        listed = [*listed, {"function": entry["function_call"]}]
    calls = tuple(call for listed_call in listed if (call := call_in(listed_call)))
    if listed and not calls:
        no_decision = no_decision or NAMELESS
    if _is_refusal(entry):
        no_decision = REFUSED
    if entry.get("weight") == 0:
        no_decision = NOT_TO_LEARN
    text = content_text(entry.get("content"))
    return Message(role="answer", text=text, calls=calls, no_decision=no_decision, node_id=node_id, time=time)


def _is_refusal(entry: Object) -> bool:
    return bool(entry.get("refusal")) or any(part.get("type") == "refusal" for part in objects(entry.get("content")))


def _answer(response: Object | None, exchange: Exchange, forced: str, tally: Tally) -> Message:
    """The answer that a response holds: its first choice, or itself."""
    if response is None:
        return Message(role="answer", no_decision=exchange.failure)
    choices = objects(response.get("choices"))
    tally.remark(MORE_CHOICES, exchange.place, len(choices[1:]))
    first = choices[0] if choices else {}
    entry = first.get("message", response.get("message", response if response.get("role") == "assistant" else None))
    if not isinstance(entry, dict):
        is_stream = isinstance(first.get("delta"), dict)
        reason = UNFINISHED if is_stream else FAILED if response.get("error") or not choices else UNFINISHED
        return Message(role="answer", no_decision=reason)
    finish = first.get("finish_reason", response.get("finish_reason"))
    reason = FINISHES.get(finish, "") if isinstance(finish, str) else ""
    return _assistant(entry, reason or forced, text_or_empty(response.get("id")), exchange.time)
