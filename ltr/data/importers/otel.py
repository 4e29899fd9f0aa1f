"""Traces of OpenTelemetry: OTLP/JSON in lines or documents, and what Phoenix exports of them."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from ltr.data.importers.file_beginning import Opening
from ltr.data.importers.groups_from_spans import import_spans
from ltr.data.importers.json_objects import Object, decoded, log_objects, object_or_empty, objects, text_or_empty
from ltr.data.importers.log_timestamps import LATEST, nanoseconds
from ltr.data.importers.registry import Imported, importer
from ltr.data.importers.span import Span
from ltr.data.importers.span_attributes import span_of, tree_of
from ltr.data.importers.tally import Tally

HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{1,64}")
ERROR_CODES = (2, "2", "STATUS_CODE_ERROR", "ERROR")
DETAILS = "gen_ai.client.inference.operation.details"  # an event that holds the messages of its span
EVALUATED = "gen_ai.evaluation.result"
DEEPEST = 16

NO_SPANS = "values without spans"
NO_SPAN = "entries of a list of spans that are none"


def is_otel(opening: Opening) -> bool:
    """Whether the first value holds spans of OTLP or of Phoenix."""
    document = opening.document
    if not isinstance(document, dict):
        return False
    return (
        opening.has("resourceSpans") or _is_phoenix(document) or any(map(_is_phoenix, objects(document.get("spans"))))
    )


def _is_phoenix(span: Object) -> bool:
    context = span.get("context")
    ids = isinstance(context, dict) and "span_id" in context
    return "span_kind" in span and (ids or "context.span_id" in span)


@importer("otel", title="a file of OpenTelemetry traces", looks_like=is_otel)
def import_otel(files: Sequence[str], *, outcome: str = "") -> Imported:
    """A group for each span of a model call: OTLP/JSON or Phoenix, with attributes of OpenInference or OTel GenAI.

    `outcome`: span-status, feedback or evaluation:FILE decides which calls were right, instead of all that were made.
    """
    return import_spans(_spans, files, outcome)


def _spans(files: Sequence[str], tally: Tally) -> Iterator[Span]:
    for place, document in log_objects(files, tally):
        listed = [*_entries(document)]
        for entry in listed:
            if not isinstance(entry, dict):
                tally.skip(NO_SPAN, place)
            elif "traceId" in entry or "spanId" in entry:
                yield _otlp(entry, place, tally)
            else:
                yield _phoenix(entry, place, tally)
        if not listed:
            tally.skip(NO_SPANS, place)


def _entries(document: Object) -> Iterator[object]:
    """The spans of TracesData, of a trace of Phoenix, or the one that the document is."""
    if isinstance(document.get("resourceSpans"), list):
        for resource in objects(document["resourceSpans"]):
            for scope in objects(resource.get("scopeSpans") or resource.get("instrumentationLibrarySpans")):
                spans = scope.get("spans")
                yield from spans if isinstance(spans, list) else ()
    elif isinstance(document.get("spans"), list):
        yield from document["spans"]
    elif isinstance(document.get("data"), list):  # a page of the REST interface
        yield from document["data"]
    elif _is_phoenix(document) or "spanId" in document:
        yield document


def _otlp(span: Object, place: str, tally: Tally) -> Span:
    status = span.get("status")
    plain = Span(
        trace_id=_id(span.get("traceId")),
        span_id=_id(span.get("spanId")),
        parent_id=_id(span.get("parentSpanId")),
        place=place,
        kind="other",
        start=_nanoseconds(span.get("startTimeUnixNano")),
        end=_nanoseconds(span.get("endTimeUnixNano")),
        has_failed=isinstance(status, dict) and status.get("code") in ERROR_CODES,
        feedback=_feedback(span.get("events")),
    )
    return span_of(tree_of(_all_attributes(span)), plain, text_or_empty(span.get("name")), tally)


def _phoenix(span: Object, place: str, tally: Tally) -> Span:
    """A span of Phoenix; its keys are dotted in a data frame's lines, and nest elsewhere."""
    tree = tree_of(span.items())
    context = object_or_empty(tree.get("context"))
    attributes = tree_of(object_or_empty(decoded(tree.get("attributes"))).items())
    kind = text_or_empty(tree.get("span_kind")).lower()
    plain = Span(
        trace_id=_id(context.get("trace_id")),
        span_id=_id(context.get("span_id")),
        parent_id=_id(tree.get("parent_id")),
        place=place,
        kind="model" if kind == "llm" else "tool" if kind == "tool" else "other",
        start=nanoseconds(tree.get("start_time")),
        end=nanoseconds(tree.get("end_time")),
        has_failed=tree.get("status_code") in ERROR_CODES,
    )
    return span_of(attributes, plain, text_or_empty(tree.get("name")), tally)


def _all_attributes(span: Object) -> Iterator[tuple[str, Any]]:
    """Those of the span, then those of its events that hold what was said."""
    yield from _attributes(span.get("attributes"))
    for event in objects(span.get("events")):
        if event.get("name") == DETAILS:
            yield from _attributes(event.get("attributes"))


def _attributes(listed: object) -> Iterator[tuple[str, Any]]:
    for entry in objects(listed):
        if isinstance(entry.get("key"), str):
            yield entry["key"], _value(entry.get("value"))


def _value(value: object, depth: int = 0) -> Any:
    """The value of an attribute; integers of 64 bits stand in texts."""
    if not isinstance(value, dict) or depth > DEEPEST:
        return None
    for kind, content in value.items():
        if kind == "intValue":
            return (
                int(content) if isinstance(content, str) and re.fullmatch(r"-?\d{1,20}", content, re.ASCII) else content
            )
        if kind == "arrayValue":
            values = content.get("values") if isinstance(content, dict) else None
            return [_value(entry, depth + 1) for entry in values] if isinstance(values, list) else []
        if kind == "kvlistValue":
            values = content.get("values") if isinstance(content, dict) else None
            pairs = [entry for entry in objects(values) if isinstance(entry.get("key"), str)]
            return {entry["key"]: _value(entry.get("value"), depth + 1) for entry in pairs}
        return content
    return None


def _feedback(events: object) -> float | None:
    """The score of an evaluation that the span has as an event."""
    for event in objects(events):
        if event.get("name") == EVALUATED:
            score = dict(_attributes(event.get("attributes"))).get("gen_ai.evaluation.score.value")
            if isinstance(score, int | float):
                return float(score)
    return None


def _id(value: object) -> str:
    """An id; of a hexadecimal one, case says nothing."""
    text = (
        value
        if isinstance(value, str)
        else str(value)
        if isinstance(value, int) and not isinstance(value, bool)
        else ""
    )
    return text.lower() if HEXADECIMAL.fullmatch(text) else text


def _nanoseconds(value: object) -> int | None:
    if isinstance(value, str) and re.fullmatch(r"\d{1,20}", value, re.ASCII):
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LATEST else None
