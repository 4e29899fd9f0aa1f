"""A span of an agent's trace, whatever wrote it, as importers hand it on."""

from typing import Literal

import msgspec

from ltr.data.importers.conversations import FAILED, Message, Tool

Kind = Literal["model", "tool", "other"]

PREFIXES = ("execute_tool ", "running tool: ", "running tool ", "tool: ", "tool ", "invoke_tool ")


class Span(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What an importer knows of a span. Fields below a comment belong to spans of that kind only."""

    trace_id: str
    span_id: str
    place: str
    kind: Kind
    parent_id: str = ""
    start: int | None = None  # nanoseconds since 1970
    end: int | None = None
    has_failed: bool = False
    feedback: float | None = None  # a user's, where the log has it: from 0.5 on it is good
    tools: tuple[Tool, ...] = ()  # on the table of a model, or of all models below an agent
    # model
    messages: tuple[Message, ...] = ()
    answer: Message | None = None
    # tool; other, where its name may be a tool's
    tool: str = ""
    call_id: str = ""
    # other
    user_text: str = ""  # its input, if it may be what a user asked of the whole trace
    about: str = ""  # the id of the span that its feedback is about


def tool_name(name: str) -> str:
    """The tool that a span is named after.

    >>> tool_name("execute_tool get_weather"), tool_name("get_weather")
    ('get_weather', 'get_weather')
    """
    return next((name.removeprefix(prefix).strip() for prefix in PREFIXES if name.startswith(prefix)), name.strip())


def answer_of_span(answer: Message | None, forced: str, *, has_failed: bool) -> Message | None:
    """The answer of a model's span: no decision where the span failed, or where `forced` says why there was no choice.

    >>> answer_of_span(None, "", has_failed=True).no_decision
    'answers that ended in an error'
    """
    if has_failed:
        return Message(role="answer", no_decision=FAILED)
    if answer is None or not forced or answer.no_decision:
        return answer
    return msgspec.structs.replace(answer, no_decision=forced)
