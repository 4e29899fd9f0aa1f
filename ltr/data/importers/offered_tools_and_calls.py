"""The tools that a request offers, those that it allows, and the calls of an answer."""

from functools import lru_cache

import msgspec

from ltr.data.catalogues.tool_list_formats import HOLDERS, listed_tools
from ltr.data.importers.conversations import FORCED, Call, Tool
from ltr.data.importers.json_objects import Object, objects
from ltr.data.importers.tally import Tally
from ltr.errors import FieldError

FREE_CHOICES = ("auto", "required", "any")
MOST_TABLES = 64  # distinct lists of tools that are kept read
NO_TOOL = "entries of a list of tools that are no tool with a name, left out"


def table_of(listed: object, tally: Tally, place: str) -> tuple[Tool, ...]:
    """The tools of a list, which many lines of a log repeat."""
    tools, unusable = _table(msgspec.json.encode(listed))
    tally.remark(NO_TOOL, place, unusable)
    return tools


@lru_cache(maxsize=MOST_TABLES)
def _table(listed: bytes) -> tuple[tuple[Tool, ...], int]:
    return usable_tools(msgspec.json.decode(listed))


def allowed(table: tuple[Tool, ...], choice: object) -> tuple[tuple[Tool, ...], str]:
    """The tools among which `tool_choice` leaves a choice, and why there is none where there is none."""
    kind = choice.get("type", FORCED) if isinstance(choice, dict) else choice
    if kind is None or kind in FREE_CHOICES:
        return table, ""
    if not isinstance(choice, dict) or kind != "allowed_tools":
        return table, FORCED
    inner = choice.get("allowed_tools")
    listed = inner.get("tools") if isinstance(inner, dict) else choice.get("tools")
    names = {name for tool in objects(listed) for name in (tool.get("name"), function_of(tool).get("name")) if name}
    return tuple(tool for tool in table if tool.name in names), ""


def function_of(entry: Object) -> Object:
    """What stands under `function`, or under `custom` of a tool that takes a text; the entry itself without them."""
    return next((entry[key] for key in HOLDERS if isinstance(entry.get(key), dict)), entry)


def call_of(name: object, arguments: object, call_id: object) -> Call | None:
    """A call, whatever its arguments are; None without a name."""
    if not isinstance(name, str) or not name.strip():
        return None
    if arguments is None or arguments == "":
        text = ""
    else:
        text = arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()
    return Call(name, text, call_id if isinstance(call_id, str) else "")


def call_in(entry: object) -> Call | None:
    """The call that an entry of an answer's list of calls holds; None without a name."""
    if not isinstance(entry, dict):
        return None
    function = function_of(entry)
    name = function.get("name", function.get("toolName"))
    arguments = next((function[key] for key in ("arguments", "args", "input") if key in function), None)
    if function is entry.get("custom"):
        arguments = {"input": arguments}  # any text, which need not be JSON
    call_id = next((entry[key] for key in ("id", "call_id", "toolCallId") if entry.get(key)), "")
    return call_of(name, arguments, call_id)


def usable_tools(listed: object) -> tuple[tuple[Tool, ...], int]:
    """The tools of a list as OpenAI, Anthropic, MCP and others write it, and how many entries are no tool with a name.

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
