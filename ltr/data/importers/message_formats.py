"""Messages as frameworks write them into traces: OpenAI's, Anthropic's, Gemini's, LangChain's, OpenInference's, OTel's.

A trace mixes them, and wraps them: in a text that holds JSON, in a list of lists, under `message` or `kwargs`. Each
function takes anything and leaves out what it cannot read.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ltr.data.importers.conversations import CUT_OFF, FAILED, REFUSED, Call, Message, Role, content_text, looks_failed
from ltr.data.importers.json_objects import Object, decoded, entries, object_or_empty, text_or_empty
from ltr.data.importers.offered_tools_and_calls import call_in, call_of

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
LISTS = ("messages", "input", "prompts", "contents", "history")  # of an input, in the order in which they are tried
ANSWERS = ("generations", "choices", "candidates", "message", "output", "response", "messages", "generation")
CALL_TYPES = ("tool_use", "tool_call", "function_call", "mcp_call")
WRAPPERS = ("message", "kwargs", "data", "message_content")
ENDINGS = ("incomplete_details", "generation_info", "response_metadata")  # what may say how an answer ended
ENDED = ("reason", "finish_reason", "stop_reason", "finishReason", "status")
CHOICE = {"index", "finish_reason", "generation_info"}  # of these a choice has one beside its message
DEEPEST = 8


def messages_in(value: object, depth: int = 0) -> list[Message]:
    """The messages of an input: a list of them, alone or under a key; a text is what the user said."""
    value = decoded(value)
    if isinstance(value, str):
        return [Message(role="user", text=value)] if value.strip() else []
    if depth > DEEPEST:
        return []
    if listed := entries(value):
        return [message for entry in listed for message in _of_entry(entry, depth)]
    if isinstance(value, dict):
        if _role(value):
            return list(_messages(value))
        return next(
            (messages for key in LISTS if value.get(key) and (messages := messages_in(value[key], depth + 1))), []
        )
    return []


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
    if role is None:
        yield from _item(message)
        return
    blocks = _blocks(message)
    for block in blocks:
        if (result := _result(block)) is not None:
            yield result
    text = _text(message, blocks)
    if role == "answer":
        yield Message(role=role, text=text, calls=_calls(message, blocks))
    elif role == "result" and not any(map(_is_result, blocks)):
        call_id, name = text_or_empty(message.get("tool_call_id")), text_or_empty(message.get("name"))
        is_error = message.get("status") == "error" or looks_failed(text)
        yield Message(role=role, text=text, call_id=call_id, name=name, is_error=is_error)
    elif role in ("user", "instruction") and (text or not blocks):
        yield Message(role=role, text=text)


def _item(item: Object) -> Iterator[Message]:
    """A call or its result as an entry of its own, as in the Responses API; anything else is no message."""
    kind, call_id = text_or_empty(item.get("type")), text_or_empty(item.get("call_id"))
    if kind.endswith("_call_output"):
        text = content_text(item.get("output"))
        yield Message(role="result", text=text, call_id=call_id, is_error=looks_failed(text))
    elif kind.endswith("_call") and (calls := _calls(item, ())):
        yield Message(role="answer", calls=calls)


def answer_in(value: object, depth: int = 0) -> Message | None:
    """The answer of an output: what it says, what it calls, and why it is no decision if it says so; None if empty."""
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
    reason = _finish(value)
    if _role(value) == "answer" or (_role(value) is None and _calls(_unwrapped(value), _blocks(_unwrapped(value)))):
        message = _unwrapped(value)
        blocks = _blocks(message)
        refusal = REFUSED if message.get("refusal") else ""
        calls = _calls(message, blocks)
        no_decision = _finish(message) or reason or refusal
        return Message(role="answer", text=_text(message, blocks), calls=calls, no_decision=no_decision)
    if _role(value) is not None:
        return None
    for key in (*ANSWERS, "content", "text"):
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
    message = _unwrapped(entry)
    for holder in (message, entry):
        for name in (holder.get("role"), holder.get("type"), *_class(holder)):
            if isinstance(name, str) and (role := ROLES.get(name.lower().removesuffix("chunk"))):
                return role
    return None


def _class(entry: Object) -> Iterator[object]:
    path = entry.get("id")
    if isinstance(path, list) and path:
        yield path[-1]


def _finish(value: Object) -> str:
    """Why the answer is no decision, by how it ended."""
    holders = [value[key] for key in ENDINGS if isinstance(value.get(key), dict)]
    for name in (holder.get(key) for holder in (*holders, value) for key in ENDED):
        if isinstance(name, str) and (reason := FINISHES.get(name.lower())):
            return reason
    return ""


def _blocks(message: Object) -> list[Object]:
    """The parts of a message's content that are objects."""
    for key in ("parts", "contents", "content"):
        listed = entries(message.get(key))
        if listed:
            return [_unwrapped(block) for block in listed if isinstance(block, dict)] + [
                {"type": "text", "text": block} for block in listed if isinstance(block, str)
            ]
    return []


def _is_result(block: Object) -> bool:
    kind = text_or_empty(block.get("type"))
    return kind.endswith(("tool_result", "tool_call_response")) or "function_response" in block


def _result(block: Object) -> Message | None:
    if not _is_result(block):
        return None
    inner = block.get("function_response")
    holder = inner if isinstance(inner, dict) else block
    text = content_text(next((holder[key] for key in ("content", "response", "result") if holder.get(key)), ""))
    call_id = next(filter(None, (text_or_empty(holder.get(key)) for key in ("tool_use_id", "id", "tool_call_id"))), "")
    is_error = holder.get("is_error") is True or looks_failed(text)
    name = text_or_empty(holder.get("name"))
    return Message(role="result", text=text, call_id=call_id, name=name, is_error=is_error)


def _text(message: Object, blocks: Sequence[Object]) -> str:
    """The text of a message, whose parts are the blocks; parts of one line each."""
    return "\n".join(filter(None, map(_text_of_block, blocks))) if blocks else content_text(message.get("content"))


def _text_of_block(block: Object) -> str:
    """The text of a part; "" of a call, a result or a thought."""
    kind = block.get("type")
    if _is_result(block) or "function_call" in block or kind not in (None, "text", "output_text", "input_text"):
        return ""
    return content_text(block.get("text") or block.get("content"))


def _calls(message: Object, blocks: Sequence[Object]) -> tuple[Call, ...]:
    """The calls of an answer, under whatever key."""
    holders = (message, object_or_empty(message.get("additional_kwargs")))
    listed = next(filter(None, (entries(holder.get("tool_calls")) for holder in holders)), [])
    calls = [call_in(entry.get("tool_call", entry)) for entry in listed if isinstance(entry, dict)]
    if not calls:
        calls = [
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
