"""Messages as frameworks write them into traces: OpenAI's, Anthropic's, Gemini's, LangChain's, OpenInference's, OTel's.

A trace mixes them, and wraps them: in a text that holds JSON, in a list of lists, under `message` or `kwargs`. Each
function takes anything and leaves out what it cannot read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ltr.importers.conversations import CUT_OFF, FAILED, REFUSED, Call, Message, Role
from ltr.importers.logs import (
    Object,
    call_in,
    call_of,
    content_text,
    decoded,
    entries,
    looks_failed,
    object_or_empty,
    result_of,
    text_or_empty,
)

ROLES: Mapping[str, Role] = {
    "system": "instruction", "developer": "instruction", "systemmessage": "instruction",
    "user": "user", "human": "user", "humanmessage": "user",
    "assistant": "answer", "ai": "answer", "model": "answer", "aimessage": "answer",
    "tool": "result", "function": "result", "toolmessage": "result", "functionmessage": "result",
}  # fmt: skip
FINISHES = {
    "length": CUT_OFF, "max_tokens": CUT_OFF, "max_output_tokens": CUT_OFF, "incomplete": CUT_OFF,
    "content_filter": REFUSED, "safety": REFUSED, "refusal": REFUSED, "error": FAILED, "failed": FAILED,
}  # fmt: skip
# Where things stand, in the order in which the keys are tried.
LISTS = ("messages", "input", "prompts", "contents", "history")  # of an input
ANSWERS = (
    "generations", "choices", "candidates", "message", "output", "response", "messages", "generation",
    "content", "text",
)  # fmt: skip
WRAPPERS = ("message", "kwargs", "data", "message_content")
PARTS = ("parts", "contents", "content")
ENDINGS = ("incomplete_details", "generation_info", "response_metadata")  # what may say how an answer ended
ENDED = ("reason", "finish_reason", "stop_reason", "finishReason", "status")
RESULTS, RESULT_IDS = ("content", "response", "result"), ("tool_use_id", "id", "tool_call_id")
CALL_TYPES = ("tool_use", "tool_call", "function_call", "mcp_call")
RESULT_TYPES = ("tool_result", "tool_call_response")
TEXT_TYPES = (None, "text", "output_text", "input_text")
CHOICE = {"index", "finish_reason", "generation_info"}  # of these a choice has one beside its message
DEEPEST = 8


def messages_in(value: object, depth: int = 0) -> list[Message]:
    """Return the messages of an input: a list of them, alone or under a key; a text is what the user said."""
    value = decoded(value)
    if isinstance(value, str):
        return [Message(role="user", text=value)] if value.strip() else []
    if depth > DEEPEST:
        return []
    if listed := entries(value):
        return [message for entry in listed for message in _of_entry(entry, depth)]
    if not isinstance(value, dict):
        return []
    if _role(value):
        return list(_messages(value))
    return next((messages for key in LISTS if value.get(key) and (messages := messages_in(value[key], depth + 1))), [])


def last_user_text(messages: Sequence[Message]) -> str:
    """Return the last text of a user; "" without one.

    >>> last_user_text([Message(role="user", text="rain?"), Message(role="answer", text="no")])
    'rain?'
    """
    return next((message.text for message in reversed(messages) if message.role == "user" and message.text), "")


def _of_entry(entry: object, depth: int) -> Iterator[Message]:
    if isinstance(entry, list):
        yield from messages_in(entry, depth + 1)
    elif isinstance(entry, str) and entry.strip():
        yield Message(role="user", text=entry)
    elif isinstance(entry, dict):
        yield from _messages(entry)


def _messages(entry: Object) -> Iterator[Message]:
    """The messages of one entry: results of tools may stand inside a message of the user."""
    role, message = _role(entry), _unwrapped(entry)
    if role is None:  # a call or its result as an entry of its own, as in the Responses API; else no message
        kind = text_or_empty(message.get("type"))
        if kind.endswith("_call_output"):
            yield result_of(message.get("output"), message.get("call_id"))
        elif kind.endswith("_call") and (calls := _calls(message, ())):
            yield Message(role="answer", calls=calls)
        return
    blocks = _blocks(message)
    results = [_result(block) for block in blocks if _is_result(block)]
    yield from results
    text = _text(message, blocks)
    if role == "answer":
        yield Message(role=role, text=text, calls=_calls(message, blocks))
    elif role == "result" and not results:
        is_error = message.get("status") == "error" or looks_failed(text)
        yield result_of(text, message.get("tool_call_id"), message.get("name"), is_error=is_error)
    elif role in ("user", "instruction") and (text or not blocks):
        yield Message(role=role, text=text)


def answer_in(value: object, depth: int = 0) -> Message | None:
    """Return the answer of an output: what it says and calls, and why it is no decision, if so; None if empty."""
    value = decoded(value)
    if isinstance(value, str):
        return Message(role="answer", text=value) if value.strip() else None
    if depth > DEEPEST:
        return None
    if listed := entries(value):
        inner = [answer for entry in _first_choice(listed) if (answer := answer_in(entry, depth + 1))]
        return _joined(inner) if inner else None
    if not isinstance(value, dict) or not value:
        return None
    reason, role, message = _finish(value), _role(value), _unwrapped(value)
    if role == "answer" or (role is None and _calls(message, _blocks(message))):
        blocks = _blocks(message)
        no_decision = _finish(message) or reason or (REFUSED if message.get("refusal") else "")
        text, calls = _text(message, blocks), _calls(message, blocks)
        return Message(role="answer", text=text, calls=calls, no_decision=no_decision)
    if role is not None:
        return None
    for key in ANSWERS:
        if value.get(key) and (answer := answer_in(value[key], depth + 1)):
            return answer if answer.no_decision or not reason else msgspec.structs.replace(answer, no_decision=reason)
    return Message(role="answer", no_decision=reason) if reason else None


def _first_choice(listed: Sequence[Any]) -> Sequence[Any]:
    """Of several choices of a response the first; of messages the answers after the last message of anybody else."""
    if all(isinstance(entry, dict) and "message" in entry and CHOICE & entry.keys() for entry in listed):
        return listed[:1]
    if isinstance(listed[0], list):
        return listed[:1]
    others = [at for at, entry in enumerate(listed) if isinstance(entry, dict) and _role(entry) not in (None, "answer")]
    return listed[others[-1] + 1 :] if others else listed


def _joined(answers: Sequence[Message]) -> Message:
    """One answer of its parts."""
    return Message(
        role="answer",
        text="\n".join(answer.text for answer in answers if answer.text),
        calls=tuple(call for answer in answers for call in answer.calls),
        no_decision=next((answer.no_decision for answer in answers if answer.no_decision), ""),
    )


def _unwrapped(entry: Object) -> Object:
    """The message inside its wrappers."""
    for _ in range(DEEPEST):
        inner = next((entry[key] for key in WRAPPERS if isinstance(entry.get(key), dict)), None)
        if inner is None or "content" in entry or "role" in entry:
            return entry
        entry = inner
    return entry


def _role(entry: Object) -> Role | None:
    """Whose message it is: `role`, LangChain's `type`, or the class that its id ends in."""
    for holder in (_unwrapped(entry), entry):
        path = holder.get("id")
        own_class = path[-1:] if isinstance(path, list) else ()
        for name in (holder.get("role"), holder.get("type"), *own_class):
            if isinstance(name, str) and (role := ROLES.get(name.lower().removesuffix("chunk"))):
                return role
    return None


def _finish(value: Object) -> str:
    """Why the answer is no decision, by how it ended."""
    holders = [value[key] for key in ENDINGS if isinstance(value.get(key), dict)]
    for name in (holder.get(key) for holder in (*holders, value) for key in ENDED):
        if isinstance(name, str) and (reason := FINISHES.get(name.lower())):
            return reason
    return ""


def _blocks(message: Object) -> list[Object]:
    """The parts of a message's content that are objects, then those that are texts."""
    listed = next(filter(None, (entries(message.get(key)) for key in PARTS)), [])
    blocks = [_unwrapped(block) for block in listed if isinstance(block, dict)]
    return [*blocks, *({"type": "text", "text": block} for block in listed if isinstance(block, str))]


def _is_result(block: Object) -> bool:
    return text_or_empty(block.get("type")).endswith(RESULT_TYPES) or "function_response" in block


def _result(block: Object) -> Message:
    inner = block.get("function_response")
    holder = inner if isinstance(inner, dict) else block
    text = content_text(next((holder[key] for key in RESULTS if holder.get(key)), ""))
    call_id = next(filter(None, (text_or_empty(holder.get(key)) for key in RESULT_IDS)), "")
    is_error = holder.get("is_error") is True or looks_failed(text)
    return result_of(text, call_id, holder.get("name"), is_error=is_error)


def _text(message: Object, blocks: Sequence[Object]) -> str:
    """The text of a message, whose parts are the blocks; parts of one line each, without calls, results, thoughts."""
    if not blocks:
        return content_text(message.get("content"))
    said = [block for block in blocks if block.get("type") in TEXT_TYPES]
    said = [block for block in said if not _is_result(block) and "function_call" not in block]
    return "\n".join(filter(None, (content_text(block.get("text") or block.get("content")) for block in said)))


def _calls(message: Object, blocks: Sequence[Object]) -> tuple[Call, ...]:
    """The calls of an answer, under whatever key."""
    holders = (message, object_or_empty(message.get("additional_kwargs")))
    listed = next(filter(None, (entries(holder.get("tool_calls")) for holder in holders)), [])
    calls = [call_in(entry.get("tool_call", entry)) for entry in listed if isinstance(entry, dict)]
    calls = calls or [
        call_in(holder["function_call"]) for holder in holders if isinstance(holder.get("function_call"), dict)
    ]
    if not calls and message.get("function_call_name"):
        calls = [call_of(message["function_call_name"], message.get("function_call_arguments_json"), "")]
    if not calls:
        if text_or_empty(message.get("type")).endswith(CALL_TYPES):
            calls = [call_in(message)]
        for block in blocks:
            inner = block.get("function_call") or block.get("tool_call")
            if isinstance(inner, dict):
                calls.append(call_in(inner))
            elif text_or_empty(block.get("type")).endswith(CALL_TYPES):
                calls.append(call_in(block))
    return tuple(call for call in calls if call)
