"""What a span of an agent's trace is, and where a tracer writes what spans have: the table of its dialect."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec

from ltr.importers.conversations import FAILED, Message, Tool
from ltr.importers.frame import Tally
from ltr.importers.logs import Object, at, decoded, entries, id_text, nanoseconds, table_of, text_or_empty
from ltr.importers.messages import answer_in, last_user_text, messages_in

Kind = Literal["model", "tool", "other"]

PREFIXES = ("execute_tool ", "running tool: ", "running tool ", "tool: ", "tool ", "invoke_tool ")


class Span(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a dialect knows of a span. Fields below a comment belong to spans of that kind only."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Dotted paths to what a span has, as `at` reads them; of several the first that leads to something.

    The exceptions of a dialect are what its reader of spans adds.
    """

    trace: str
    span: str
    parent: str
    start: str = ""
    end: str = ""
    kind: str = ""
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # what is not there is "other"
    is_cased: bool = False  # else kinds are in small letters here, and in any case in the log
    status: str = ""
    errors: tuple[object, ...] = ()
    name: str = "name"
    inputs: str = ""
    outputs: str = ""
    tools: tuple[str, ...] = ()
    choice: str = ""  # among them
    answered: tuple[str, ...] = ()  # the id of the call that a tool's span answers
    read_id: Callable[[object], str] = id_text
    read_time: Callable[[object], int | None] = nanoseconds

    def plain(self, entry: Object, place: str, **known: Any) -> Span:
        """Return the span without what was said in it; what is known already goes before the table."""
        kind = text_or_empty(at(entry, self.kind))
        table = {
            "trace_id": self.read_id(at(entry, self.trace)),
            "span_id": self.read_id(at(entry, self.span)),
            "parent_id": self.read_id(at(entry, self.parent)),
            "kind": self.kinds.get(kind if self.is_cased else kind.lower(), "other"),
            "start": self.read_time(at(entry, self.start)),
            "end": self.read_time(at(entry, self.end)),
            "has_failed": at(entry, self.status) in self.errors,
        }
        return Span(place=place, **{**table, **known})

    def whole(self, entry: Object, place: str, tally: Tally, **known: Any) -> Span:
        """Return the span with what was said in it."""
        span, inputs = self.plain(entry, place, **known), messages_in(at(entry, self.inputs))
        if span.kind == "tool":
            ids = (text_or_empty(at(entry, path)) for path in self.answered)
            name, call_id = text_or_empty(at(entry, self.name)), next(filter(None, ids), "")
            return msgspec.structs.replace(span, tool=tool_name(name), call_id=call_id)
        if span.kind == "other":
            return msgspec.structs.replace(span, user_text=last_user_text(inputs))
        listed = next(filter(None, (entries(at(entry, path)) for path in self.tools)), [])
        offered = table_of(list(map(decoded, listed)), at(entry, self.choice), tally, place)
        return with_model(span, inputs, answer_in(at(entry, self.outputs)), offered)


def with_model(
    span: Span, messages: list[Message], answer: Message | None, offered: tuple[tuple[Tool, ...], str]
) -> Span:
    """Return a model's span with what was said, and with the tools that were `offered`.

    Its answer is no decision where the span failed, or where there was no choice among the tools.
    """
    table, forced = offered
    if span.has_failed:
        answer = Message(role="answer", no_decision=FAILED)
    elif answer is not None and forced and not answer.no_decision:
        answer = msgspec.structs.replace(answer, no_decision=forced)
    return msgspec.structs.replace(span, kind="model", messages=tuple(messages), answer=answer, tools=table)


def tool_name(name: str) -> str:
    """Return the tool that a span is named after.

    >>> tool_name("execute_tool get_weather"), tool_name("get_weather")
    ('get_weather', 'get_weather')
    """
    return next((name.removeprefix(prefix).strip() for prefix in PREFIXES if name.startswith(prefix)), name.strip())
