"""A span of an agent's trace, whatever wrote it, as importers hand it on."""

from typing import Literal

import msgspec

from ltr.data.importers.conversations import Message, Tool
from ltr.data.schema import seconds
from ltr.errors import FieldError

Kind = Literal["model", "tool", "other"]

NANOSECONDS = 1_000_000_000
LATEST = 1 << 62  # nanoseconds: the year 2116
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


def nanoseconds(time: object) -> int | None:
    """A time as an exporter writes it, ISO 8601 or seconds since 1970; None where it is none.

    >>> nanoseconds("1970-01-01T00:00:02.5Z"), nanoseconds("soon")
    (2500000000, None)
    """
    if not isinstance(time, str | int | float) or isinstance(time, bool):
        return None
    try:
        moment = round(seconds(time) * NANOSECONDS)
    except (FieldError, OverflowError, ValueError):
        return None
    return moment if 0 <= moment < LATEST else None


def tool_name(name: str) -> str:
    """The tool that a span is named after.

    >>> tool_name("execute_tool get_weather"), tool_name("get_weather")
    ('get_weather', 'get_weather')
    """
    return next((name.removeprefix(prefix).strip() for prefix in PREFIXES if name.startswith(prefix)), name.strip())
