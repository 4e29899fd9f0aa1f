"""The Responses API of OpenAI: items in, items out, and chains of responses that name the one before."""

import re
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Literal

import msgspec

from ltr.data.importers.chat_requests import HISTORY, Exchange
from ltr.data.importers.conversations import (
    CUT_OFF,
    FAILED,
    NAMELESS,
    REFUSED,
    UNFINISHED,
    Call,
    Conversation,
    Message,
    Role,
    content_text,
    looks_failed,
)
from ltr.data.importers.json_objects import Object, objects, text_or_empty
from ltr.data.importers.offered_tools_and_calls import allowed, call_of, table_of
from ltr.data.importers.past import Past
from ltr.data.importers.tally import Tally

MOST_CHAINS = 1_000  # conversations that are kept to be gone on with
MOST_KEPT = 20_000  # characters of each of their messages
VERSION = re.compile(r"(?:_use)?_(?:preview|20\d\d).*")  # web_search_preview_2025_03_11 is web_search
INSTRUCTIONS = ("system", "developer")
WITHOUT_WORDS = ("item_reference", "compaction", "mcp_list_tools", "mcp_approval_response")
STATUSES = {"failed": FAILED, "cancelled": FAILED, "in_progress": UNFINISHED, "queued": UNFINISHED}

UNKNOWN_BEFORE = "responses to one that the log does not hold before them: what was said there is not known"
UNKNOWN_ITEM = "items of an unknown type, left out"


class Chains:
    """The last conversations by the id of their last response, each with its trace."""

    def __init__(self) -> None:
        self._ends: OrderedDict[str, tuple[str, Past]] = OrderedDict()

    def get(self, response_id: str) -> tuple[str, Past] | None:
        """Trace and past up to the response."""
        return self._ends.get(response_id)

    def keep(self, response_id: str, trace_id: str, before: Past | None, messages: Iterable[Message]) -> None:
        """Remember a response and what went before it; the oldest is forgotten where there are too many."""
        past = before.copy() if before else Past()
        for message in messages:
            past.see(_shortened(message))
        self._ends[response_id] = trace_id, past
        if len(self._ends) > MOST_CHAINS:
            self._ends.popitem(last=False)


def _shortened(message: Message) -> Message:
    return msgspec.structs.replace(message, text=message.text[:MOST_KEPT]) if len(message.text) > MOST_KEPT else message


def is_responses(body: Object) -> bool:
    """Whether a request or a response is one of this API."""
    request_input, output = body.get("input"), body.get("output")
    if "messages" in body:
        return False
    if isinstance(request_input, str):
        return "model" in body or "tools" in body or bool(objects(output))
    return any("type" in item or "role" in item for item in [*objects(request_input), *objects(output)])


def from_responses(exchange: Exchange, chains: Chains, tally: Tally) -> Conversation:
    """The conversation of a request, with what was said before it where the log holds that."""
    request, place = exchange.request, exchange.place
    response = exchange.response or (request if isinstance(request.get("output"), list) else None)
    body = {**request, **{key: value for key, value in (response or {}).items() if value is not None}}
    trace_id, before = _before(body, exchange, chains, tally)
    items, output = _items(request.get("input")), objects(body.get("output"))
    listed = [*objects(body.get("tools")), *(tool for item in [*items, *output] for tool in _served(item))]
    table, forced = allowed(table_of(list(map(_with_name, listed)), tally, place), body.get("tool_choice"))
    messages = list(_messages(items, forced, tally, place))
    decided = len(messages) if response or exchange.failure else 0
    tally.remark(HISTORY, place, sum(message.role == "answer" for message in messages[:decided]))
    if response or exchange.failure:
        reason = exchange.failure or _failure(response or {}) or forced
        response_id = text_or_empty((response or {}).get("id"))
        messages.append(_answer(output, reason, node_id=response_id, time=exchange.time))
        if response_id:
            chains.keep(response_id, trace_id, before, messages)
    return Conversation(
        messages=tuple(messages), place=place, trace_id=trace_id, tools=table, decided=decided, before=before
    )


def _before(body: Object, exchange: Exchange, chains: Chains, tally: Tally) -> tuple[str, Past | None]:
    """The trace, and the past up to the response that this one goes on from."""
    response_id = text_or_empty(body.get("previous_response_id"))
    if not response_id:
        return exchange.trace_id, None
    chain = chains.get(response_id)
    if chain is None:
        tally.remark(UNKNOWN_BEFORE, exchange.place)
        return exchange.trace_id or response_id, None
    trace_id, past = chain
    return exchange.trace_id or trace_id, past


def _failure(response: Object) -> str:
    """Why the response is no decision; "" if it may be one."""
    details = response.get("incomplete_details")
    status = response.get("status")
    if response.get("error"):
        return FAILED
    if status == "incomplete" or isinstance(details, dict):
        is_refused = isinstance(details, dict) and details.get("reason") == "content_filter"
        return REFUSED if is_refused else CUT_OFF
    return STATUSES.get(status, "") if isinstance(status, str) else ""


def _items(request_input: object) -> list[Object]:
    return [{"role": "user", "content": request_input}] if isinstance(request_input, str) else objects(request_input)


def _served(item: Object) -> list[Object]:
    """The tools that a server of MCP has listed."""
    return objects(item.get("tools")) if item.get("type") == "mcp_list_tools" else []


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
                text = content_text(item.get("output"))
                call_id = text_or_empty(item.get("call_id"))
                yield Message(role="result", text=text, call_id=call_id, is_error=looks_failed(text))
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
    return "instruction" if role in INSTRUCTIONS else "unknown"


def _answer(
    items: Sequence[Object], no_decision: str, *, node_id: str = "", time: float | str | None = None
) -> Message:
    """One answer of all that the model said and called."""
    made = [item for item in items if _role(item) == "answer" and item.get("role") != "assistant"]
    made = [item for item in made if item.get("type") != "reasoning"]
    calls = tuple(call for item in made if (call := _call(item)))
    parts = [part for item in items if item.get("role") == "assistant" for part in objects(item.get("content"))]
    if any(part.get("type") == "refusal" for part in parts):
        no_decision = REFUSED
    if made and not calls:
        no_decision = no_decision or NAMELESS
    texts = [content_text(item.get("content")) for item in items if item.get("role") == "assistant"]
    text = "\n".join(filter(None, texts))
    return Message(role="answer", text=text, calls=calls, no_decision=no_decision, node_id=node_id, time=time)


def _call(item: Object) -> Call | None:
    """The call of an item: one with a name, or of a built-in tool."""
    kind = text_or_empty(item.get("type"))
    is_named = "name" in item or kind in ("function_call", "custom_tool_call")
    name = item.get("name") if is_named else kind.removesuffix("_call")
    arguments = item.get("arguments") if kind != "custom_tool_call" else {"input": item.get("input")}
    return call_of(name, arguments, item.get("call_id"))
