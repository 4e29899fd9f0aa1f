"""Logs of OpenAI's two APIs, and of all who speak them: Chat Completions with fine-tuning files, and Responses."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Literal

import msgspec

from ltr.importers.chats import (
    HISTORY,
    NO_MESSAGES,
    UNKNOWN_ROLE,
    Exchange,
    bodies_of,
    import_chats,
    is_anthropic_body,
)
from ltr.importers.conversations import CUT_OFF, FAILED, REFUSED, UNFINISHED, Call, Conversation, Message, Past, Role
from ltr.importers.frame import Imported, Opening, Tally, importer
from ltr.importers.logs import (
    Object,
    answer_of,
    at,
    call_in,
    call_of,
    content_text,
    object_or_empty,
    objects,
    result_of,
    table_of,
    text_or_empty,
)

ROLES: Mapping[object, Role] = {
    "system": "instruction", "developer": "instruction", "user": "user", "assistant": "answer",
    "tool": "result", "function": "result",
}  # fmt: skip
FINISHES = {"length": CUT_OFF, "content_filter": REFUSED, "error": FAILED}
STATUSES = {"failed": FAILED, "cancelled": FAILED, "in_progress": UNFINISHED, "queued": UNFINISHED}
WITHOUT_WORDS = ("item_reference", "compaction", "mcp_list_tools", "mcp_approval_response")  # items of Responses
VERSION = re.compile(r"(?:_use)?_(?:preview|20\d\d).*")  # web_search_preview_2025_03_11 is web_search
MOST_CHAINS = 1_000  # conversations that are kept to be gone on with
MOST_KEPT = 20_000  # characters of each of their messages

MORE_CHOICES = "further choices of one response, left out"
NOT_TO_LEARN = "answers with weight 0 in a fine-tuning file"
OF_ANTHROPIC = "lines in Anthropic's form: import them with anthropic"
UNKNOWN_BEFORE = "responses to one that the log does not hold before them: what was said there is not known"
UNKNOWN_ITEM = "items of an unknown type, left out"

Chains = OrderedDict[str, tuple[str, Past]]  # the last conversations by the id of their last response: trace and past


def is_openai(opening: Opening) -> bool:
    """Whether the first value is a line of such a log."""
    bodies = bodies_of(opening, "request", "body", "input")
    is_chat = any(isinstance(body.get("messages"), list) for body in bodies)
    response = object_or_empty(at(opening.document, "response"))
    return (is_chat or any(map(_is_responses, bodies))) and not any(map(is_anthropic_body, [*bodies, response]))


@importer("openai", title="an OpenAI chat log", looks_like=is_openai)
def import_openai(files: Sequence[str], *, trace: str = "", repeats: str = "") -> Imported:
    """A group for each answer of a chat log (Chat Completions, Responses) or a fine-tuning file.

    `trace`: the field with the id of a conversation. Without one, the usual fields are tried; where a line has none,
    conversations that begin with the same message of a user are one trace.

    `repeats`: once or all. Without it, identical requests without an id count each time, and a conversation that the
    log holds again when it has grown counts once.
    """
    return import_chats(files, partial(_of_openai, Chains()), _is_whole, trace, repeats)


def _is_whole(request: Object) -> bool:
    return isinstance(request.get("choices" if "messages" in request else "output"), list)


def _of_openai(chains: Chains, exchange: Exchange, tally: Tally) -> Conversation | None:
    request, response = exchange.request, exchange.response or {}
    if is_anthropic_body(request) or is_anthropic_body(response):
        tally.skip(OF_ANTHROPIC, exchange.place)
    elif _is_responses(request) or _is_responses(response):
        return _of_responses(exchange, chains, tally)
    elif isinstance(request.get("messages"), list):
        return _of_chat(exchange, tally)
    else:
        tally.skip(NO_MESSAGES, exchange.place)
    return None


def _of_chat(exchange: Exchange, tally: Tally) -> Conversation:
    """The conversation of a request to Chat Completions."""
    request, place, tools = exchange.request, exchange.place, exchange.request.get("tools")
    listed = [*objects(request.get("functions")), *(tools if isinstance(tools, list) else [])]
    table, forced = table_of(listed, request.get("tool_choice", request.get("function_call")), tally, place)
    messages = [message for entry in request["messages"] if (message := _message(entry, forced, tally, place))]
    answer = _choice(exchange, forced) if exchange.is_answered else None
    conversation = exchange.conversation(table, messages, answer, tally)
    tally.remark(MORE_CHOICES, place, len(objects((exchange.response or {}).get("choices"))[1:]))
    return conversation


def _message(entry: object, forced: str, tally: Tally, place: str) -> Message | None:
    role = ROLES.get(entry["role"]) if isinstance(entry, dict) and isinstance(entry.get("role"), str) else None
    if not isinstance(entry, dict) or role is None:
        tally.remark(UNKNOWN_ROLE, place)
        return None
    if role == "answer":
        return _assistant(entry, forced)
    if role == "result":
        return result_of(entry.get("content"), entry.get("tool_call_id"), entry.get("name"))
    return Message(role=role, text=content_text(entry.get("content")))


def _assistant(entry: Object, no_decision: str) -> Message:
    """A message of the assistant; `no_decision`: what is known against it already."""
    listed = objects(entry.get("tool_calls"))
    if isinstance(entry.get("function_call"), dict):
        listed = [*listed, {"function": entry["function_call"]}]
    if entry.get("refusal") or _is_refusal(entry.get("content")):
        no_decision = REFUSED
    if entry.get("weight") == 0:
        no_decision = NOT_TO_LEARN
    return answer_of(content_text(entry.get("content")), list(map(call_in, listed)), no_decision)


def _is_refusal(content: object) -> bool:
    return any(part.get("type") == "refusal" for part in objects(content))


def _choice(exchange: Exchange, forced: str) -> Message:
    """The answer that the response holds: its first choice, or itself."""
    response = exchange.response
    if response is None:
        return Message(role="answer", no_decision=exchange.failure)
    choices = objects(response.get("choices"))
    first = choices[0] if choices else {}
    entry = first.get("message", response.get("message", response if response.get("role") == "assistant" else None))
    if not isinstance(entry, dict):
        has_failed = not isinstance(first.get("delta"), dict) and (response.get("error") or not choices)
        return Message(role="answer", no_decision=FAILED if has_failed else UNFINISHED)
    finish = first.get("finish_reason", response.get("finish_reason"))
    reason = FINISHES.get(finish, "") if isinstance(finish, str) else ""
    return msgspec.structs.replace(
        _assistant(entry, reason or forced), node_id=text_or_empty(response.get("id")), time=exchange.time
    )


# Responses: items go in and items come out, and a request may name the response that it goes on from.


def _is_responses(body: Object) -> bool:
    """Whether a request or a response is one of the Responses API."""
    request_input, output = body.get("input"), body.get("output")
    if "messages" in body:
        return False
    if isinstance(request_input, str):
        return "model" in body or "tools" in body or bool(objects(output))
    return any("type" in item or "role" in item for item in [*objects(request_input), *objects(output)])


def _of_responses(exchange: Exchange, chains: Chains, tally: Tally) -> Conversation:
    """The conversation of a request, with what was said before it where the log holds that."""
    request, response, place = exchange.request, exchange.response or {}, exchange.place
    body = {**request, **{key: value for key, value in response.items() if value is not None}}
    trace_id, before = exchange.trace_id, None
    if named := text_or_empty(body.get("previous_response_id")):
        own_trace, before = chains.get(named, (named, None))
        trace_id = trace_id or own_trace
        tally.remark(UNKNOWN_BEFORE, place, int(before is None))
    said, output = request.get("input"), objects(body.get("output"))
    items = [{"role": "user", "content": said}] if isinstance(said, str) else objects(said)
    served = [item for item in (*items, *output) if item.get("type") == "mcp_list_tools"]  # by a server of MCP
    listed = [*objects(body.get("tools")), *(tool for item in served for tool in objects(item.get("tools")))]
    table, forced = table_of(list(map(_with_name, listed)), body.get("tool_choice"), tally, place)
    messages = list(_messages(items, forced, tally, place))
    decided = len(messages) if exchange.is_answered else 0
    tally.remark(HISTORY, place, sum(message.role == "answer" for message in messages[:decided]))
    if exchange.is_answered:
        answer = _answer(output, exchange.failure or _failure(response) or forced)
        response_id = text_or_empty(response.get("id"))
        messages.append(msgspec.structs.replace(answer, node_id=response_id, time=exchange.time))
        if response_id:
            _keep(chains, response_id, trace_id, before, messages)
    return Conversation(
        messages=tuple(messages), place=place, trace_id=trace_id, tools=table, decided=decided, before=before
    )


def _keep(chains: Chains, response_id: str, trace_id: str, before: Past | None, messages: Iterable[Message]) -> None:
    """Remember a response and what went before it; the oldest is forgotten where there are too many."""
    past = before.copy() if before else Past()
    for message in messages:
        past.see(msgspec.structs.replace(message, text=message.text[:MOST_KEPT]))
    chains[response_id] = trace_id, past
    if len(chains) > MOST_CHAINS:
        chains.popitem(last=False)


def _failure(response: Object) -> str:
    """Why the response is no decision; "" if it may be one."""
    details, status = response.get("incomplete_details"), response.get("status")
    if response.get("error"):
        return FAILED
    if status == "incomplete" or isinstance(details, dict):
        return REFUSED if at(details, "reason") == "content_filter" else CUT_OFF
    return STATUSES.get(status, "") if isinstance(status, str) else ""


def _with_name(tool: Object) -> Object:
    """A built-in tool has a type for a name; a server of MCP lists its tools elsewhere."""
    kind = text_or_empty(tool.get("type"))
    if kind == "mcp":
        return {"tools": []}
    is_named = bool(tool.get("name") or tool.get("function") or tool.get("tools"))
    return tool if is_named or kind in ("", "function", "custom") else {"name": VERSION.sub("", kind)}


def _messages(items: Iterable[Object], forced: str, tally: Tally, place: str) -> Iterator[Message]:
    """The messages of items; what the model said and called between two others is one answer."""
    for role, group in groupby(items, _role):
        if role == "answer":
            yield _answer(list(group), forced)
            continue
        for item in group:
            if role == "result":
                yield result_of(item.get("output"), item.get("call_id"))
            elif role == "unknown":
                tally.remark(UNKNOWN_ITEM, place)
            elif role == "user" or role == "instruction":
                yield Message(role=role, text=content_text(item.get("content")))


def _role(item: Object) -> Role | Literal["", "unknown"]:
    kind, role = text_or_empty(item.get("type")), item.get("role")
    if kind in WITHOUT_WORDS:
        return ""
    if role == "assistant" or kind == "reasoning" or kind.endswith("_call") or kind == "mcp_approval_request":
        return "answer"
    if kind.endswith("_output"):
        return "result"
    if role == "user":
        return "user"
    return "instruction" if role in ("system", "developer") else "unknown"


def _answer(items: Sequence[Object], no_decision: str) -> Message:
    """One answer of all that the model said and called."""
    said = [item.get("content") for item in items if item.get("role") == "assistant"]
    made = [item for item in items if _role(item) == "answer" and item.get("role") != "assistant"]
    calls = [_call(item) for item in made if item.get("type") != "reasoning"]
    text = "\n".join(filter(None, map(content_text, said)))
    return answer_of(text, calls, REFUSED if any(map(_is_refusal, said)) else no_decision)


def _call(item: Object) -> Call | None:
    """The call of an item: one with a name, or of a built-in tool."""
    kind = text_or_empty(item.get("type"))
    is_named = "name" in item or kind in ("function_call", "custom_tool_call")
    name = item.get("name") if is_named else kind.removesuffix("_call")
    arguments = item.get("arguments") if kind != "custom_tool_call" else {"input": item.get("input")}
    return call_of(name, arguments, item.get("call_id"))
