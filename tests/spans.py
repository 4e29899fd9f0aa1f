"""Spans as tracers write them, OTLP/JSON with attributes of OpenInference and of OTel GenAI, and imports of them."""

import json
from pathlib import Path

from ltr import import_samples

SECOND = 10**9


def importing(format_name, name="log.jsonl"):
    """A function that imports its arguments, a line each: the summary, and the groups."""

    def imported(*rows, outcome="", name=name):
        if rows:
            Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        options = {"outcome": outcome} if outcome else {}
        summary = import_samples(format_name, [name], "x.jsonl", options=options, overwrite=True)
        return summary, [json.loads(line) for line in Path("x.jsonl").read_text(encoding="utf-8").splitlines()]

    return imported


def counts(entries):
    """Numbers by reason."""
    return {entry.reason: entry.number for entry in entries}


def attribute(value):
    """A value as OTLP writes it: integers of 64 bits are texts."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    if isinstance(value, float):
        return {"doubleValue": value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [attribute(entry) for entry in value]}}
    if isinstance(value, dict):
        return {"kvlistValue": {"values": [{"key": key, "value": attribute(inner)} for key, inner in value.items()]}}
    return {"stringValue": value}


def span(name, start, attributes, *, trace="a1" * 16, parent="", seconds=1, code=0, **more):
    """A span; its id is made of its name and start."""
    return {
        "traceId": trace,
        "spanId": f"{start:016x}",
        "parentSpanId": parent,
        "name": name,
        "kind": 3,
        "startTimeUnixNano": str(start * SECOND),
        "endTimeUnixNano": str((start + seconds) * SECOND),
        "attributes": [{"key": key, "value": attribute(value)} for key, value in attributes.items()],
        "status": {"code": code, "message": ""} if code else {},
    } | more


def document(*spans):
    """TracesData with the spans."""
    return {
        "resourceSpans": [{"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "s"}, "spans": [*spans]}]}]
    }


def schema(name, description=""):
    """A tool in OpenAI's nested form, as a text."""
    function = {"name": name, "description": description, "parameters": {"type": "object", "properties": {}}}
    return json.dumps({"type": "function", "function": function})


def messages(prefix, listed):
    """Messages as the dotted attributes of OpenInference."""
    found = {}
    for at, message in enumerate(listed):
        where = f"{prefix}.{at}.message"
        found |= {f"{where}.{key}": value for key, value in message.items() if key != "calls"}
        for number, (call_id, name) in enumerate(message.get("calls", ())):
            call = f"{where}.tool_calls.{number}.tool_call"
            found |= {f"{call}.id": call_id, f"{call}.function.name": name, f"{call}.function.arguments": "{}"}
    return found


def inference(said, *called, tools=("weather", "mail"), text="", **more):
    """The attributes of a model's span by OpenInference; `said` is a text of the user, or messages."""
    said = [{"role": "user", "content": said}] if isinstance(said, str) else said
    answer = {"role": "assistant", "calls": [(f"c-{name}", name) for name in called]} | (
        {"content": text} if text else {}
    )
    listed = {f"llm.tools.{at}.tool.json_schema": schema(name) for at, name in enumerate(tools)}
    given = messages("llm.input_messages", said) | messages("llm.output_messages", [answer])
    return {"openinference.span.kind": "LLM", "llm.token_count.total": 2**53 + 1} | given | listed | more


def tool(name, **more):
    """The attributes of a tool's span by OpenInference."""
    return {"openinference.span.kind": "TOOL", "tool.name": name} | more


def chat(said, *called, tools=("weather", "mail"), text="", finish="stop", **more):
    """The attributes of a model's span by OTel GenAI; `said` is a text of the user, or messages with parts."""
    said = [{"role": "user", "parts": [{"type": "text", "content": said}]}] if isinstance(said, str) else said
    parts = [{"type": "text", "content": text}] if text else []
    parts += [{"type": "tool_call", "id": f"c-{name}", "name": name, "arguments": {"x": 1}} for name in called]
    listed = [{"type": "function", "name": name} for name in tools]
    return (
        {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(said),
            "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": parts, "finish_reason": finish}]),
        }
        | ({"gen_ai.tool.definitions": json.dumps(listed)} if tools else {})
        | more
    )
