"""Observations of Langfuse: lines or an array of JSON, a table, or a trace with its observations."""

from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from ltr.data.importers.conversations import last_user_text
from ltr.data.importers.delimited_text import read_table
from ltr.data.importers.file_beginning import Opening
from ltr.data.importers.groups_from_spans import import_spans
from ltr.data.importers.json_objects import (
    Object,
    decoded,
    entries,
    id_text,
    log_objects,
    object_or_empty,
    objects,
    text_or_empty,
)
from ltr.data.importers.log_timestamps import nanoseconds
from ltr.data.importers.message_formats import answer_in, messages_in
from ltr.data.importers.offered_tools_and_calls import allowed, table_of
from ltr.data.importers.registry import Imported, importer
from ltr.data.importers.span import Span, answer_of_span, tool_name
from ltr.data.importers.span_attributes import span_of, tree_of
from ltr.data.importers.tally import Tally

MODEL_TYPES, TOOL_TYPES = ("GENERATION",), ("TOOL",)
FEEDBACK_NAMES = ("feedback", "thumb", "rating", "user")  # a part of the name of a score that a user gave

NO_OBSERVATION = "values without an observation of Langfuse"
TOP_LEVEL = "traces without observations: export the table of observations"


def is_langfuse(opening: Opening) -> bool:
    """Whether the first value, or the header of a table, is of an observation or of a trace with observations."""
    document = opening.document
    if isinstance(document, dict):
        return {"traceId", "type"} <= document.keys() or isinstance(document.get("observations"), list)
    header = opening.content.split(b"\n", 1)[0]
    return b"traceId" in header and b"parentObservationId" in header


@importer("langfuse", title="an export of Langfuse", looks_like=is_langfuse)
def import_langfuse(files: Sequence[str], *, outcome: str = "") -> Imported:
    """A group for each generation of a model: the table of observations as JSON or CSV, or traces as JSON.

    `outcome`: span-status, feedback or evaluation:FILE decides which calls were right, instead of all that were made.
    """
    return import_spans(_spans, files, outcome)


def _spans(files: Sequence[str], tally: Tally) -> Iterator[Span]:
    for place, document in _documents(files, tally):
        listed = document.get("observations")
        if isinstance(listed, list):
            trace = document.get("trace")
            holder: Object = trace if isinstance(trace, dict) else document
            trace_id = id_text(holder.get("id"))
            for entry in objects(listed):
                yield _span({"traceId": trace_id, **entry}, place, tally)
            if not objects(listed):
                tally.skip(TOP_LEVEL, place)
            yield from _scores(holder, trace_id, place)
        elif "traceId" in document and "type" in document:
            yield _span(document, place, tally)
        else:
            tally.skip(TOP_LEVEL if "observations" in document or "latency" in document else NO_OBSERVATION, place)


def _documents(files: Sequence[str], tally: Tally) -> Iterator[tuple[str, Object]]:
    for path in files:
        if not path.removesuffix(".gz").removesuffix(".zst").endswith((".csv", ".tsv")):
            yield from log_objects([path], tally)
            continue
        table = read_table(path)
        for line, row in table.rows:
            cells = {name: cell for name, cell in zip(table.header, row, strict=True) if cell}
            yield f"{table.path}:{line}", cells


def _scores(trace: Object, trace_id: str, place: str) -> Iterator[Span]:
    """What users said of a trace, or of one of its observations, as spans that hold nothing else."""
    for number, score in enumerate(objects(trace.get("scores"))):
        value, name = score.get("value"), text_or_empty(score.get("name")).lower()
        is_feedback = any(part in name for part in FEEDBACK_NAMES) and score.get("source") != "EVAL"
        if is_feedback and isinstance(value, bool | int | float):
            about = id_text(score.get("observationId"))
            yield Span(
                trace_id=trace_id, span_id=f"score {number} {about}", place=place, kind="other",
                feedback=float(value), about=about,
            )  # fmt: skip


def _span(entry: Object, place: str, tally: Tally) -> Span:
    """A span with what its attributes, its input and its output say."""
    metadata, name = decoded(entry.get("metadata")), text_or_empty(entry.get("name"))
    tree = tree_of(object_or_empty(decoded(object_or_empty(metadata).get("attributes"))).items())
    span = span_of(tree, _plain_span(entry, place), name, tally)
    if span.kind == "model":
        return _generation(entry, span, tally)
    if span.kind == "tool":
        return span
    user_text = span.user_text or ("" if span.parent_id else last_user_text(messages_in(entry.get("input"))))
    return msgspec.structs.replace(span, tool=tool_name(name), user_text=user_text)


def _plain_span(entry: Object, place: str) -> Span:
    """Ids, kind and times, as the columns have them."""
    kind = text_or_empty(entry.get("type")).upper()
    return Span(
        trace_id=id_text(entry.get("traceId")),
        span_id=id_text(entry.get("id")),
        parent_id=id_text(entry.get("parentObservationId")),
        place=place,
        kind="model" if kind in MODEL_TYPES else "tool" if kind in TOOL_TYPES else "other",
        start=nanoseconds(entry.get("startTime")),
        end=nanoseconds(entry.get("endTime")),
        has_failed=text_or_empty(entry.get("level")).upper() == "ERROR",
    )


def _generation(entry: Object, span: Span, tally: Tally) -> Span:
    """A model's span: its own columns first, then its input and output, then its attributes."""
    model_input, tools = _without_tools(decoded(entry.get("input")))
    listed = _definitions(entry.get("toolDefinitions")) or tools
    if not listed and isinstance(model_input, dict):
        listed = [decoded(tool) for tool in entries(decoded(model_input.get("tools")))]
    answer = answer_in(entry.get("output"))
    called = [decoded(call) for call in entries(decoded(entry.get("toolCalls")))]
    if called:
        calls = answer_in({"role": "assistant", "tool_calls": called})
        if calls is not None and calls.calls:
            answer = msgspec.structs.replace(answer or calls, calls=calls.calls)
    answer = answer or span.answer
    parameters = decoded(entry.get("modelParameters"))
    choice = decoded(parameters.get("tool_choice")) if isinstance(parameters, dict) else None
    table, forced = allowed(table_of(listed, tally, span.place) if listed else span.tools, choice)
    answer = answer_of_span(answer, forced, has_failed=span.has_failed)
    return msgspec.structs.replace(
        span,
        messages=tuple(messages_in(model_input)) or span.messages,
        answer=answer,
        tools=table,
    )


def _without_tools(model_input: Any) -> tuple[Any, list[Any]]:
    """An input, and the tools that Langfuse's handler for LangChain puts among its messages."""
    tools: list[Any] = []
    messages: list[Any] = []
    for message in entries(model_input):
        content = (
            decoded(message.get("content")) if isinstance(message, dict) and message.get("role") == "tool" else None
        )
        is_tool = isinstance(content, dict) and isinstance(content.get("function"), dict)
        (tools if is_tool else messages).append(content if is_tool else message)
    return (messages, tools) if tools else (model_input, [])


def _definitions(value: object) -> list[Any]:
    """The tools of a column that maps names to texts of JSON."""
    value = decoded(value)
    if not isinstance(value, dict):
        return [decoded(tool) for tool in entries(value)]
    tools = []
    for name, definition in value.items():
        inner = decoded(definition)
        tools.append({**inner, "name": name} if isinstance(inner, dict) else {"name": name})
    return tools
