"""Traces of MLflow: `{"info": ..., "data": {"spans": [...]}}`, in which each attribute is a text of JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ltr.data.importers.any_messages import answer_in, decoded, entries, messages_in
from ltr.data.importers.chat_requests import allowed, log_objects, objects, table_of, text_or_empty
from ltr.data.importers.conversations import FAILED, Message
from ltr.data.importers.importing import Imported, importer
from ltr.data.importers.opening import Opening
from ltr.data.importers.outcomes import outcome_note, outcomes
from ltr.data.importers.span import LATEST, Kind, Span, tool_name
from ltr.data.importers.tally import Tally
from ltr.data.importers.traces import groups_of_spans
from ltr.data.jsonlines import FAILURES

Object = Mapping[str, Any]

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
    tally, judged = Tally(), outcomes(outcome)
    return Imported(groups_of_spans(_spans(files, tally), tally, judged), outcome_note(outcome), tally)


def _spans_of(trace: object) -> list[Any] | None:
    data = decoded(trace.get("data")) if isinstance(trace, dict) else None
    spans = data.get("spans") if isinstance(data, dict) else None
    return spans if isinstance(spans, list) else None


def _spans(files: Sequence[str], tally: Tally) -> Iterator[Span]:
    for place, trace in log_objects(files, tally):
        listed, told = _spans_of(trace), decoded(trace.get("info"))
        if listed is None:
            tally.skip(NO_TRACE, place)
            continue
        info: Object = told if isinstance(told, dict) else {}
        trace_id = next((found for key in ("trace_id", "request_id") if (found := text_or_empty(info.get(key)))), "")
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
    attributes = span.get("attributes")
    told = {key: _value(value) for key, value in attributes.items()} if isinstance(attributes, dict) else {}
    kind = KINDS.get(str(told.get("mlflow.spanType")), "other")
    own = text_or_empty(told.get("mlflow.traceRequestId")) or text_or_empty(holder.get("trace_id"))
    code = status.get("code") if isinstance(status, dict) else span.get("status_code")
    read = Span(
        trace_id=trace_id or own,
        span_id=text_or_empty(holder.get("span_id")),
        parent_id=text_or_empty(span.get("parent_span_id") or span.get("parent_id")),
        place=place,
        kind=kind,
        start=_nanoseconds(span, "start_time"),
        end=_nanoseconds(span, "end_time"),
        has_failed=code in ERROR_CODES,
    )
    given = told.get("mlflow.spanInputs")
    replaced = msgspec.structs.replace
    if kind == "tool":
        named = text_or_empty(told.get("mlflow.spanFunctionName")) or text_or_empty(span.get("name"))
        name = tool_name(text_or_empty(span.get("name")) or named)
        return replaced(read, tool=name, call_id=_call_id(told.get("mlflow.spanOutputs"), given))
    if kind == "other":
        said = [message.text for message in messages_in(given) if message.role == "user"]
        return replaced(read, said=said[-1] if said else "")
    request = given if isinstance(given, dict) else {}
    listed = entries(told.get("mlflow.chat.tools")) or entries(request.get("tools"))
    table, forced = allowed(table_of(listed, tally, place), request.get("tool_choice"))
    answer = answer_in(told.get("mlflow.spanOutputs"))
    if read.has_failed:
        answer = Message(role="answer", no_decision=FAILED)
    elif answer is not None and forced and not answer.no_decision:
        answer = replaced(answer, no_decision=forced)
    return replaced(read, messages=tuple(messages_in(given)), tools=table, answer=answer)


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
