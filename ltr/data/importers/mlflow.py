"""Traces of MLflow: `{"info": ..., "data": {"spans": [...]}}`, in which each attribute is a text of JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ltr.data.importers.conversations import last_user_text
from ltr.data.importers.file_beginning import Opening
from ltr.data.importers.groups_from_spans import import_spans
from ltr.data.importers.json_objects import (
    Object,
    decoded,
    entries,
    log_objects,
    object_or_empty,
    objects,
    text_or_empty,
)
from ltr.data.importers.log_timestamps import LATEST
from ltr.data.importers.message_formats import answer_in, messages_in
from ltr.data.importers.offered_tools_and_calls import allowed, table_of
from ltr.data.importers.registry import Imported, importer
from ltr.data.importers.span import Kind, Span, answer_of_span, tool_name
from ltr.data.importers.tally import Tally
from ltr.data.json_decode_errors import FAILURES

KINDS: Mapping[str, Kind] = {"LLM": "model", "CHAT_MODEL": "model", "TOOL": "tool"}
ERROR_CODES = ("ERROR", "STATUS_CODE_ERROR", 2)

NO_TRACE = "values that are no trace of MLflow"


def is_mlflow(opening: Opening) -> bool:
    """Whether the first value is a trace."""
    return opening.has("info", "data") and _spans_of(opening.document) is not None


@importer("mlflow", title="an export of MLflow traces", looks_like=is_mlflow)
def import_mlflow(files: Sequence[str], *, outcome: str = "") -> Imported:
    """A group for each span of a model.

    `outcome`: span-status, feedback or evaluation:FILE decides which calls were right, instead of all that were made.
    """
    return import_spans(_spans, files, outcome)


def _spans_of(trace: object) -> list[Any] | None:
    data = decoded(trace.get("data")) if isinstance(trace, dict) else None
    spans = data.get("spans") if isinstance(data, dict) else None
    return spans if isinstance(spans, list) else None


def _spans(files: Sequence[str], tally: Tally) -> Iterator[Span]:
    for place, trace in log_objects(files, tally):
        listed, info = _spans_of(trace), object_or_empty(decoded(trace.get("info")))
        if listed is None:
            tally.skip(NO_TRACE, place)
            continue
        trace_id = text_or_empty(info.get("trace_id")) or text_or_empty(info.get("request_id"))
        for span in objects(listed):
            yield _span(span, trace_id, place, tally)
        for number, assessment in enumerate(objects(info.get("assessments"))):
            if (value := _of_user(assessment)) is not None:
                about = text_or_empty(assessment.get("span_id"))
                own = f"assessment {number} {about}"
                yield Span(trace_id=trace_id, span_id=own, place=place, kind="other", feedback=value, about=about)


def _span(span: Object, trace_id: str, place: str, tally: Tally) -> Span:
    """A span; its ids stand beside its name, or in its context."""
    context, status = span.get("context"), span.get("status")
    holder: Object = context if isinstance(context, dict) else span
    attributes = {key: _value(value) for key, value in object_or_empty(span.get("attributes")).items()}
    kind = KINDS.get(str(attributes.get("mlflow.spanType")), "other")
    own = text_or_empty(attributes.get("mlflow.traceRequestId")) or text_or_empty(holder.get("trace_id"))
    code = status.get("code") if isinstance(status, dict) else span.get("status_code")
    plain = Span(
        trace_id=trace_id or own,
        span_id=text_or_empty(holder.get("span_id")),
        parent_id=text_or_empty(span.get("parent_span_id") or span.get("parent_id")),
        place=place,
        kind=kind,
        start=_nanoseconds(span, "start_time"),
        end=_nanoseconds(span, "end_time"),
        has_failed=code in ERROR_CODES,
    )
    return _with_content(plain, text_or_empty(span.get("name")), attributes, tally)


def _with_content(span: Span, name: str, attributes: Object, tally: Tally) -> Span:
    """The span with what its attributes say; `name` is the span's own."""
    inputs = attributes.get("mlflow.spanInputs")
    replaced = msgspec.structs.replace
    if span.kind == "tool":
        tool = tool_name(name or text_or_empty(attributes.get("mlflow.spanFunctionName")))
        return replaced(span, tool=tool, call_id=_call_id(attributes.get("mlflow.spanOutputs"), inputs))
    if span.kind == "other":
        return replaced(span, user_text=last_user_text(messages_in(inputs)))
    request = object_or_empty(inputs)
    listed = entries(attributes.get("mlflow.chat.tools")) or entries(request.get("tools"))
    table, forced = allowed(table_of(listed, tally, span.place), request.get("tool_choice"))
    answer = answer_of_span(answer_in(attributes.get("mlflow.spanOutputs")), forced, has_failed=span.has_failed)
    return replaced(span, messages=tuple(messages_in(inputs)), tools=table, answer=answer)


def _value(value: object) -> Any:
    """What an attribute's text of JSON holds; a text that is none as it is."""
    if isinstance(value, str):
        try:
            return msgspec.json.decode(value)
        except FAILURES:
            return value
    return value


def _nanoseconds(span: Object, name: str) -> int | None:
    value = next((span[key] for key in (f"{name}_unix_nano", f"{name}_ns", name) if key in span), None)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LATEST else None


def _call_id(*holders: object) -> str:
    """The id of the call that a tool's span answers."""
    ids = (text_or_empty(holder.get("tool_call_id")) for holder in holders if isinstance(holder, dict))
    return next(filter(None, ids), "")


def _of_user(assessment: Object) -> float | None:
    """The score of an assessment that a user made."""
    source, feedback = assessment.get("source"), assessment.get("feedback")
    kind = source.get("source_type") if isinstance(source, dict) else None
    value = feedback.get("value") if isinstance(feedback, dict) else None
    return float(value) if kind == "HUMAN" and isinstance(value, bool | int | float) else None
