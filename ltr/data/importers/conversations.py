"""Conversations as every importer of logs hands them on: messages, calls, results, and the tools on the table."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    from ltr.data.importers.past import Past

Role = Literal["instruction", "user", "answer", "result"]

TEXT_KEYS = ("text", "content", "refusal", "output", "result")  # of a part, in the order in which they are tried
DEEPEST_PART = 8
FAILURE = re.compile(
    r'\s*(?:(?:\w*error|\w*exception|failed|failure)\b|traceback \(most|\{\s*+"(?:error|is_?error)"\s*+:\s*+'
    r'(?!null|false|""|\{\s*+\}|\[\s*+\])|\{\s*+"(?:success|ok)"\s*+:\s*+false|\{\s*+"status"\s*+:\s*+"(?:error|failed))',
    re.IGNORECASE,
)


class Tool(msgspec.Struct, frozen=True):
    """A tool on the table."""

    name: str
    description: str = ""


class Call(msgspec.Struct, frozen=True):
    """A tool that an answer calls. The arguments are compared with those of other calls, and never written."""

    name: str
    arguments: str = ""  # as they stand in the log; JSON, if all is well
    id: str = ""


class Message(msgspec.Struct, frozen=True, kw_only=True):
    """One message. Fields below a comment belong to messages of that role only."""

    role: Role
    text: str = ""
    # answer
    calls: tuple[Call, ...] = ()
    no_decision: str = ""  # why it is no decision, whatever it called: a reason for the summary
    tools: tuple[Tool, ...] | None = None  # on the table for this answer; None: those of the conversation
    node_id: str = ""  # its id in the log; "": made from what was said so far
    time: float | str | None = None
    # result
    call_id: str = ""
    name: str = ""  # of the tool
    is_error: bool = False


class Conversation(msgspec.Struct, frozen=True, kw_only=True):
    """Messages in order, and where they stand in the log."""

    messages: tuple[Message, ...]
    place: str  # "log.jsonl:7"
    trace_id: str = ""  # "": conversations that begin with the same message of a user are one trace
    tools: tuple[Tool, ...] = ()  # on the table for every answer that has none of its own
    decided: int = 0  # so many messages at the start are history: other places of the log hold their decisions
    before: "Past | None" = None  # what other places of the log hold of it, which is history as well


# Why an answer is no decision, in the words of the summary, for `Message.no_decision`.
REFUSED = "refusals"
FAILED = "answers that ended in an error"
CUT_OFF = "answers that were cut off"
FORCED = "answers that had to call one tool, or none (tool_choice)"
UNFINISHED = "answers that had not ended"
NAMELESS = "answers whose calls have no name"


def content_text(content: object, depth: int = 0) -> str:
    """The text of a message's content: a text, or parts of which some are texts; parts of one line each.

    >>> content_text([{"type": "text", "text": "rain"}, {"type": "image_url", "image_url": {"url": "data:..."}}])
    'rain'
    """
    if isinstance(content, str):
        return content
    if depth > DEEPEST_PART:
        return ""
    if isinstance(content, list):
        texts = [content_text(part, depth + 1) for part in content]
        return "\n".join(text for text in texts if text)
    if isinstance(content, dict):
        return next((content_text(content[key], depth + 1) for key in TEXT_KEYS if content.get(key)), "")
    return ""


def looks_failed(result: str) -> bool:
    """Whether a tool's result begins like an error, in a log that has no flag for it.

    >>> looks_failed('{"error": "no such city"}'), looks_failed('{"error": null, "rain": 3}'), looks_failed("2 errors")
    (True, False, False)
    """
    return FAILURE.match(result) is not None


def last_user_text(messages: Sequence[Message]) -> str:
    """The last text of a user; "" without one.

    >>> last_user_text([Message(role="user", text="rain?"), Message(role="answer", text="no")])
    'rain?'
    """
    return next((message.text for message in reversed(messages) if message.role == "user" and message.text), "")
