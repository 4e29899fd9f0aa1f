"""Lines of chat logs, as OpenAI and Anthropic write them, and what an import makes of them."""

import json
from pathlib import Path

from ltr import import_samples


def imported(format_name, lines, directory=Path(), **options):
    """The groups of the lines, and kept, skipped and remarks of the summary, each as numbers by reason."""
    log, out = directory / "log.jsonl", directory / "out.jsonl"
    log.write_text("".join(f"{line if isinstance(line, str) else json.dumps(line)}\n" for line in lines))
    summary = import_samples(format_name, [log], out, options=options, overwrite=True)
    counts = [{entry.reason: entry.number for entry in of} for of in (summary.kept, summary.skipped, summary.remarks)]
    return [json.loads(line) for line in out.read_text().splitlines()], *counts


def labels(group):
    """The label of each candidate by name."""
    return {candidate.get("tool", "none"): candidate["label"] for candidate in group["candidates"]}


def right(group):
    """The names of the right candidates."""
    return [name for name, label in labels(group).items() if label]


def user(text):
    """A message of a user."""
    return {"role": "user", "content": text}


# OpenAI: Chat Completions

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS = [
    {"type": "function", "function": {"name": name, "description": f"{name}s something", "parameters": SCHEMA}}
    for name in ("weather", "mail", "search")
]


def call(name, arguments="{}", call_id="c1"):
    """An entry of tool_calls."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def said(*calls, content=None, **more):
    """A message of the assistant."""
    return {"role": "assistant", "content": content, **({"tool_calls": list(calls)} if calls else {}), **more}


def result(text, call_id="c1"):
    """A result of a tool."""
    return {"role": "tool", "tool_call_id": call_id, "content": text}


def exchange(messages, message, *, finish="stop", tools=TOOLS, response_id="", **request):
    """A request with its response."""
    choice = {"index": 0, "message": message, "finish_reason": finish}
    body = {"model": "m", "messages": messages, "tools": tools, **request}
    named = {"id": response_id} if response_id else {}
    return {"request": body, "response": {"object": "chat.completion", "created": 7, "choices": [choice], **named}}
