"""What logs hold, whoever wrote them: JSON objects, ids, times, texts, the tools that were offered and those called."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from ltr.catalogues import HOLDERS, listed_tools
from ltr.errors import FieldError
from ltr.importers.conversations import FORCED, NAMELESS, Call, Message, Tool
from ltr.importers.frame import Tally
from ltr.jsonl import FAILURES, json_values
from ltr.paths import shown
from ltr.samples import seconds

Object = Mapping[str, Any]

NANOSECONDS = 1_000_000_000
LATEST = 1 << 62  # nanoseconds: the year 2116
TEXT_KEYS = ("text", "content", "refusal", "output", "result")  # of a part, in the order in which they are tried
DEEPEST_PART = 8
FREE_CHOICES = (None, "auto", "required", "any")
MOST_TABLES = 64  # distinct lists of tools that are kept read
FAILURE = re.compile(
    r'\s*(?:(?:\w*error|\w*exception|failed|failure)\b|traceback \(most|\{\s*+"(?:error|is_?error)"\s*+:\s*+'
    r'(?!null|false|""|\{\s*+\}|\[\s*+\])|\{\s*+"(?:success|ok)"\s*+:\s*+false|\{\s*+"status"\s*+:\s*+"(?:error|failed))',
    re.IGNORECASE,
)

NOT_JSON = "lines that are not JSON"
BROKEN_OFF = "values that the file ends inside of"
NO_OBJECT = "values that are no JSON object"
NO_TOOL = "entries of a list of tools that are no tool with a name, left out"


def log_objects(files: Sequence[str], tally: Tally) -> Iterator[tuple[str, Object]]:
    """Read every JSON object of the files and its place; what is none is counted."""
    for path in files:
        for value in json_values(path):
            place = f"{shown(path)}:{value.line}"
            if not value.is_whole:
                tally.skip(BROKEN_OFF, place)
                continue
            try:
                content = msgspec.json.decode(value.content)
            except FAILURES:
                tally.skip(NOT_JSON, place)
                continue
            if isinstance(content, dict):
                yield place, content
            else:
                tally.skip(NO_OBJECT, place)


def objects(value: object) -> list[Object]:
    """Return the objects of a list; what else stands there is left out."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def entries(value: object) -> list[Any]:
    """Return the entries of a list, or of an object whose keys count them: {"0": ..., "1": ...}."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and value and all(key.isdecimal() for key in value):
        return [value[key] for key in sorted(value, key=lambda key: (len(key.lstrip("0")), key.lstrip("0")))]
    return []


def text_or_empty(value: object) -> str:
    """Return the value, if it is a text."""
    return value if isinstance(value, str) else ""


def object_or_empty(value: object) -> Object:
    """Return the value, if it is an object."""
    return value if isinstance(value, dict) else {}


def id_text(value: object) -> str:
    """Return an id as a text, of a number its digits; "" for anything else.

    >>> id_text(7), id_text("a"), id_text(None)
    ('7', 'a', '')
    """
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def at(tree: Any, path: str) -> Any:
    """Return the value at the dotted path; None where there is none. What a part with "!" names may be a text of JSON.

    >>> at({"a": {"b": 1}}, "a.b"), at({"a": 1}, "a.b"), at({"a": '{"b": 1}'}, "a!.b")
    (1, None, 1)
    """
    for part in path.split("."):
        tree = tree.get(part.removesuffix("!")) if isinstance(tree, dict) else None
        tree = decoded(tree) if part.endswith("!") else tree
    return tree


def decoded(value: object) -> Any:
    """Return the value that a text of JSON holds; any other value as it is.

    >>> decoded('[1]'), decoded("rain"), decoded(7)
    ([1], 'rain', 7)
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except FAILURES:
            return value
    return value


def nanoseconds(time: object) -> int | None:
    """Return a time as an exporter writes it, ISO 8601 or seconds since 1970; None where it is none.

    >>> nanoseconds("1970-01-01T00:00:02.5Z"), nanoseconds("soon")
    (2500000000, None)
    """
    if not isinstance(time, str | int | float) or isinstance(time, bool):
        return None
    try:
        return whole_nanoseconds(round(seconds(time) * NANOSECONDS))
    except (FieldError, OverflowError, ValueError):
        return None


def whole_nanoseconds(time: object) -> int | None:
    """Return a time that counts nanoseconds; None where it is none."""
    return time if isinstance(time, int) and not isinstance(time, bool) and 0 <= time < LATEST else None


def content_text(content: object, depth: int = 0) -> str:
    """Return the text of a message's content: a text, or parts of which some are texts; parts of one line each.

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


def result_of(content: object, call_id: object, name: object = "", *, is_error: bool | None = None) -> Message:
    """Return the message of a tool's result; without a flag its text says whether it is an error."""
    text = content_text(content)
    is_error = looks_failed(text) if is_error is None else is_error
    own_id, own_name = text_or_empty(call_id), text_or_empty(name)
    return Message(role="result", text=text, call_id=own_id, name=own_name, is_error=is_error)


def answer_of(
    text: str, calls: Sequence[Call | None], no_decision: str, *, node_id: str = "", time: float | str | None = None
) -> Message:
    """Return an answer; one that calls, and nothing with a name, is no decision."""
    named = tuple(call for call in calls if call)
    reason = no_decision or (NAMELESS if calls and not named else "")
    return Message(role="answer", text=text, calls=named, no_decision=reason, node_id=node_id, time=time)


def call_of(name: object, arguments: object, call_id: object) -> Call | None:
    """Return a call, whatever its arguments are; None without a name."""
    if not isinstance(name, str) or not name.strip():
        return None
    if arguments is None or arguments == "":
        text = ""
    else:
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return Call(name, text, call_id if isinstance(call_id, str) else "")


def call_in(entry: object) -> Call | None:
    """Return the call that an entry of an answer's list of calls holds; None without a name."""
    if not isinstance(entry, dict):
        return None
    function = _function_of(entry)
    name = function.get("name", function.get("toolName"))
    arguments = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
    if function is entry.get("custom"):
        arguments = {"input": arguments}  # any text, which need not be JSON
    call_id = next((entry[key] for key in ("id", "call_id", "toolCallId") if entry.get(key)), "")
    return call_of(name, arguments, call_id)


def _function_of(entry: Object) -> Object:
    """What stands under `function`, or under `custom` of a tool that takes a text; the entry itself without them."""
    return next((entry[key] for key in HOLDERS if isinstance(entry.get(key), dict)), entry)


def table_of(listed: object, choice: object, tally: Tally, place: str) -> tuple[tuple[Tool, ...], str]:
    """Return the tools of a list that `tool_choice` allows, and why there is no choice among them where there is none.

    Many lines of a log repeat one list: it is read once.
    """
    table, unusable = _table(msgspec.json.encode(listed))
    tally.remark(NO_TOOL, place, unusable)
    return allowed(table, choice)


def allowed(table: tuple[Tool, ...], choice: object) -> tuple[tuple[Tool, ...], str]:
    """Return the tools among which `tool_choice` leaves a choice, and why there is none where there is none."""
    kind = choice.get("type", FORCED) if isinstance(choice, dict) else choice
    if kind in FREE_CHOICES:
        return table, ""
    if not isinstance(choice, dict) or kind != "allowed_tools":
        return table, FORCED
    inner = choice.get("allowed_tools")
    tools = objects(inner.get("tools") if isinstance(inner, dict) else choice.get("tools"))
    names = {name for tool in tools for name in (tool.get("name"), _function_of(tool).get("name")) if name}
    return tuple(tool for tool in table if tool.name in names), ""


@lru_cache(maxsize=MOST_TABLES)
def _table(listed: bytes) -> tuple[tuple[Tool, ...], int]:
    return usable_tools(msgspec.json.decode(listed))


def usable_tools(listed: object) -> tuple[tuple[Tool, ...], int]:
    """Return the tools of a list, as OpenAI, Anthropic, MCP and others write it, and how many entries are none.

    >>> usable_tools([{"type": "function", "function": {"name": "add", "description": "Adds."}}, 7])
    ((Tool(name='add', description='Adds.'),), 1)
    """
    if isinstance(listed, dict):
        pages = listed.get("tools")
        named = pages if isinstance(pages, dict | list) else listed
        listed = (
            [{"name": name, **tool} for name, tool in named.items() if isinstance(tool, dict)]
            if isinstance(named, dict)
            else named
        )
    tools, unusable = [], 0
    for entry in listed if isinstance(listed, list) else []:
        try:
            tools += [Tool(tool.name, tool.description) for tool in listed_tools([entry])]
        except FieldError:
            unusable += 1
    return tuple(tools), unusable
