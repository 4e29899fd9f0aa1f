"""Exports of Langfuse, LangSmith and MLflow: for each a table of where things stand, and its exceptions."""

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

import msgspec

from ltr.importers.conversations import UNFINISHED, Message
from ltr.importers.frame import Opening, Tally
from ltr.importers.logs import (
    NANOSECONDS,
    Object,
    allowed,
    at,
    decoded,
    entries,
    id_text,
    log_objects,
    object_or_empty,
    objects,
    table_of,
    text_or_empty,
    whole_nanoseconds,
)
from ltr.importers.messages import answer_in, last_user_text, messages_in
from ltr.importers.otel import tree_of, with_attributes
from ltr.importers.spans import Dialect, Span, tool_name, with_model
from ltr.importers.tables import read_table
from ltr.importers.traces import tracer
from ltr.jsonl import FAILURES

# Langfuse: observations as lines or an array of JSON, as a table, or inside their trace.

LANGFUSE = Dialect(
    trace="traceId",
    span="id",
    parent="parentObservationId",
    start="startTime",
    end="endTime",
    kind="type",
    kinds={"generation": "model", "tool": "tool"},
)
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


@tracer("langfuse", title="an export of Langfuse", looks_like=is_langfuse)
def _of_langfuse(files: Sequence[str], tally: Tally) -> Iterator[Span]:
    """A group for each generation of a model: the table of observations as JSON or CSV, or traces as JSON."""
    for place, document in (entry for path in files for entry in _documents(path, tally)):
        listed = document.get("observations")
        if isinstance(listed, list):
            holder = document["trace"] if isinstance(document.get("trace"), dict) else document
            trace_id = id_text(holder.get("id"))
            yield from (_observation({"traceId": trace_id, **entry}, place, tally) for entry in objects(listed))
            if not objects(listed):
                tally.skip(TOP_LEVEL, place)
            yield from _scores(holder, trace_id, place)
        elif "traceId" in document and "type" in document:
            yield _observation(document, place, tally)
        else:
            tally.skip(TOP_LEVEL if "observations" in document or "latency" in document else NO_OBSERVATION, place)


def _documents(path: str, tally: Tally) -> Iterator[tuple[str, Object]]:
    if not path.removesuffix(".gz").removesuffix(".zst").endswith((".csv", ".tsv")):
        return log_objects([path], tally)
    table = read_table(path)
    rows = ((line, zip(table.header, row, strict=True)) for line, row in table.rows)
    return ((f"{table.path}:{line}", {name: cell for name, cell in cells if cell}) for line, cells in rows)


def _scores(trace: Object, trace_id: str, place: str) -> Iterator[Span]:
    """What users said of a trace, or of one of its observations, as spans that hold nothing else."""
    for number, score in enumerate(objects(trace.get("scores"))):
        value, name = score.get("value"), text_or_empty(score.get("name")).lower()
        is_feedback = any(part in name for part in FEEDBACK_NAMES) and score.get("source") != "EVAL"
        if is_feedback and isinstance(value, bool | int | float):
            yield _said_of(id_text(score.get("observationId")), f"score {number}", float(value), trace_id, place)


def _said_of(about: str, name: str, feedback: float, trace_id: str, place: str) -> Span:
    own = f"{name} {about}"
    return Span(trace_id=trace_id, span_id=own, place=place, kind="other", feedback=feedback, about=about)


def _observation(entry: Object, place: str, tally: Tally) -> Span:
    """A span with what its attributes, its input and its output say."""
    name, attributes = text_or_empty(entry.get("name")), at(entry, "metadata!.attributes!")
    plain = LANGFUSE.plain(entry, place, has_failed=text_or_empty(entry.get("level")).upper() == "ERROR")
    span = with_attributes(plain, tree_of(object_or_empty(attributes).items()), name, tally)
    if span.kind == "model":
        return _generation(entry, span, tally)
    if span.kind == "tool":
        return span
    user_text = span.user_text or ("" if span.parent_id else last_user_text(messages_in(entry.get("input"))))
    return msgspec.structs.replace(span, tool=tool_name(name), user_text=user_text)


def _generation(entry: Object, span: Span, tally: Tally) -> Span:
    """A model's span: its own columns first, then its input and output, then its attributes."""
    model_input, tools = _without_tools(decoded(entry.get("input")))
    listed = at(entry, "toolDefinitions!")  # a list, or texts of JSON by name
    if isinstance(listed, dict):
        listed = [{**object_or_empty(decoded(tool)), "name": name} for name, tool in listed.items()]
    listed = list(map(decoded, entries(listed))) or tools
    listed = listed or list(map(decoded, entries(at(model_input, "tools!"))))
    answer = answer_in(entry.get("output"))
    if called := list(map(decoded, entries(at(entry, "toolCalls!")))):
        calls = answer_in({"role": "assistant", "tool_calls": called})
        if calls is not None and calls.calls:
            answer = msgspec.structs.replace(answer or calls, calls=calls.calls)
    choice = at(entry, "modelParameters!.tool_choice!")
    offered = table_of(listed, choice, tally, span.place) if listed else allowed(span.tools, choice)
    return with_model(span, messages_in(model_input) or list(span.messages), answer or span.answer, offered)


def _without_tools(model_input: Any) -> tuple[Any, list[Any]]:
    """An input, and the tools that Langfuse's handler for LangChain puts among its messages."""
    tools: list[Any] = []
    messages: list[Any] = []
    for message in entries(model_input):
        content = decoded(at(message, "content")) if at(message, "role") == "tool" else None
        is_tool = isinstance(at(content, "function"), dict)
        (tools if is_tool else messages).append(content if is_tool else message)
    return (messages, tools) if tools else (model_input, [])


# LangSmith: runs, one a line or in an array, with their children inside or beside them.

LANGSMITH = Dialect(
    trace="trace_id",
    span="id",
    parent="parent_run_id",
    start="start_time",
    end="end_time",
    kind="run_type",
    kinds={"llm": "model", "tool": "tool"},
    is_cased=True,
    inputs="inputs",
    outputs="outputs",
    tools=("extra!.invocation_params.tools", "extra!.invocation_params.functions", "inputs!.tools!"),
    choice="extra!.invocation_params.tool_choice",
    answered=tuple(
        f"{holder}.{inner}tool_call_id"
        for inner in ("", "kwargs.")
        for holder in ("outputs!.output", "outputs!", "inputs!")
    ),
)
STAMP = re.compile(r"(\d{8}T\d{6})(\d{6})Z([0-9a-fA-F-]{0,64})")
FORM = "%Y%m%dT%H%M%S"
NO_RUN = "values that are no run of LangSmith"


def is_langsmith(opening: Opening) -> bool:
    """Whether the first value is a run."""
    return opening.has("run_type") and (opening.has("dotted_order") or opening.has("inputs"))


@tracer("langsmith", title="an export of LangSmith runs", looks_like=is_langsmith)
def _of_langsmith(files: Sequence[str], tally: Tally) -> Iterator[Span]:
    """A group for each run of a model; runs may hold their children."""
    for place, document in log_objects(files, tally):
        if "run_type" not in document:
            tally.skip(NO_RUN, place)
            continue
        waiting = [(document, "")]
        while waiting:
            run, trace_id = waiting.pop()
            span = _run(run, trace_id, place, tally)
            yield span
            waiting += [(child, span.trace_id) for child in reversed(objects(run.get("child_runs")))]


def _run(run: Object, trace_id: str, place: str, tally: Tally) -> Span:
    """A span; its trace and its start may stand in its dotted order only: 20260102T030405000006Z and an id."""
    stamps = STAMP.findall(text_or_empty(run.get("dotted_order")))
    stats = run.get("feedback_stats")
    means = [at(entry, "avg") for entry in stats.values()] if isinstance(stats, dict) else []
    feedback = next(
        (float(mean) for mean in means if isinstance(mean, int | float) and not isinstance(mean, bool)), None
    )
    has_failed = bool(run.get("error")) or run.get("status") == "error"
    span = LANGSMITH.whole(run, place, tally, has_failed=has_failed, feedback=feedback)
    start = span.start
    if start is None and stamps:
        with suppress(ValueError):
            moment = datetime.strptime(stamps[-1][0], FORM).replace(tzinfo=UTC)
            start = int(moment.timestamp()) * NANOSECONDS + int(stamps[-1][1]) * 1000
    if span.kind == "model" and span.answer is None and span.end is None:
        span = msgspec.structs.replace(span, answer=Message(role="answer", no_decision=UNFINISHED))
    return msgspec.structs.replace(
        span,
        trace_id=span.trace_id or trace_id or (stamps[0][2] if stamps else span.span_id),
        start=start,
        user_text="" if run.get("parent_run_id") else span.user_text,
    )


# MLflow: traces of the form {"info": ..., "data": {"spans": [...]}}, in which each attribute is a text of JSON.

MLFLOW = Dialect(
    trace="trace_id",
    span="span_id",
    parent="parent",
    start="start",
    end="end",
    kind="kind",
    kinds={"LLM": "model", "CHAT_MODEL": "model", "TOOL": "tool"},
    is_cased=True,
    status="status",
    errors=("ERROR", "STATUS_CODE_ERROR", 2),
    inputs="inputs",
    outputs="outputs",
    tools=("tools", "inputs.tools"),
    choice="inputs.tool_choice",
    answered=("outputs.tool_call_id", "inputs.tool_call_id"),
    read_id=text_or_empty,
    read_time=whole_nanoseconds,
)
NO_TRACE = "values that are no trace of MLflow"


def is_mlflow(opening: Opening) -> bool:
    """Whether the first value is a trace."""
    return opening.has("info") and isinstance(at(opening.document, "data!.spans"), list)


@tracer("mlflow", title="an export of MLflow traces", looks_like=is_mlflow)
def _of_mlflow(files: Sequence[str], tally: Tally) -> Iterator[Span]:
    """A group for each span of a model."""
    for place, trace in log_objects(files, tally):
        listed, info = at(trace, "data!.spans"), object_or_empty(decoded(trace.get("info")))
        if not isinstance(listed, list):
            tally.skip(NO_TRACE, place)
            continue
        trace_id = text_or_empty(info.get("trace_id")) or text_or_empty(info.get("request_id"))
        yield from (_mlflow_span(span, trace_id, place, tally) for span in objects(listed))
        for number, said in enumerate(objects(info.get("assessments"))):
            value, about = at(said, "feedback.value"), text_or_empty(said.get("span_id"))
            if at(said, "source.source_type") == "HUMAN" and isinstance(value, bool | int | float):
                yield _said_of(about, f"assessment {number}", float(value), trace_id, place)


def _mlflow_span(entry: Object, trace_id: str, place: str, tally: Tally) -> Span:
    """A span; its ids stand beside its name, or in its context, its times under names of several versions."""
    attributes = {key: _value(value) for key, value in object_or_empty(entry.get("attributes")).items()}
    ids = entry["context"] if isinstance(entry.get("context"), dict) else entry
    status = entry.get("status")
    found = {
        "trace_id": trace_id or text_or_empty(attributes.get("mlflow.traceRequestId")) or ids.get("trace_id"),
        "span_id": ids.get("span_id"),
        "parent": entry.get("parent_span_id") or entry.get("parent_id"),
        "kind": attributes.get("mlflow.spanType"),
        "status": status.get("code") if isinstance(status, dict) else entry.get("status_code"),
        "name": text_or_empty(entry.get("name")) or attributes.get("mlflow.spanFunctionName"),
        "inputs": attributes.get("mlflow.spanInputs"),
        "outputs": attributes.get("mlflow.spanOutputs"),
        "tools": attributes.get("mlflow.chat.tools"),
    }
    for name in ("start", "end"):
        keys = (f"{name}_time_unix_nano", f"{name}_time_ns", f"{name}_time")
        found[name] = next((entry[key] for key in keys if key in entry), None)
    return MLFLOW.whole(found, place, tally)


def _value(value: object) -> Any:
    """What an attribute's text of JSON holds; a text that is none as it is."""
    try:
        return msgspec.json.decode(value) if isinstance(value, str) else value
    except FAILURES:
        return value
