"""Runs of LangSmith, one a line or in an array, with their children inside or beside them."""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

import msgspec

from ltr.data.importers.conversations import UNFINISHED, Message, Tool, last_user_text
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
from ltr.data.importers.log_timestamps import NANOSECONDS, nanoseconds
from ltr.data.importers.message_formats import answer_in, messages_in
from ltr.data.importers.offered_tools_and_calls import allowed, table_of
from ltr.data.importers.registry import Imported, importer
from ltr.data.importers.span import Kind, Span, answer_of_span, tool_name
from ltr.data.importers.tally import Tally

KINDS: Mapping[object, Kind] = {"llm": "model", "tool": "tool"}
STAMP = re.compile(r"(\d{8}T\d{6})(\d{6})Z([0-9a-fA-F-]{0,64})")
FORM = "%Y%m%dT%H%M%S"

NO_RUN = "values that are no run of LangSmith"


def is_langsmith(opening: Opening) -> bool:
    """Whether the first value is a run."""
    return opening.has("run_type") and (opening.has("dotted_order") or opening.has("inputs"))


@importer("langsmith", title="an export of LangSmith runs", looks_like=is_langsmith)
def import_langsmith(files: Sequence[str], *, outcome: str = "") -> Imported:
    """A group for each run of a model; runs may hold their children.

    `outcome`: span-status, feedback or evaluation:FILE decides which calls were right, instead of all that were made.
    """
    return import_spans(_spans, files, outcome)


def _spans(files: Sequence[str], tally: Tally) -> Iterator[Span]:
    for place, document in log_objects(files, tally):
        if "run_type" not in document:
            tally.skip(NO_RUN, place)
            continue
        waiting = [(document, "")]
        while waiting:
            run, trace_id = waiting.pop()
            span = _span(run, trace_id, place, tally)
            yield span
            waiting += [(child, span.trace_id) for child in reversed(objects(run.get("child_runs")))]


def _span(run: Object, trace_id: str, place: str, tally: Tally) -> Span:
    stamps = STAMP.findall(text_or_empty(run.get("dotted_order")))
    own = id_text(run.get("id"))
    kind = KINDS.get(text_or_empty(run.get("run_type")), "other")
    has_failed = bool(run.get("error")) or run.get("status") == "error"
    start = nanoseconds(run.get("start_time"))
    span = Span(
        trace_id=id_text(run.get("trace_id")) or trace_id or (stamps[0][2] if stamps else own),
        span_id=own,
        parent_id=id_text(run.get("parent_run_id")),
        place=place,
        kind=kind,
        start=start if start is not None else _stamped(stamps),
        end=nanoseconds(run.get("end_time")),
        has_failed=has_failed,
        feedback=_feedback(run.get("feedback_stats")),
        tool=tool_name(text_or_empty(run.get("name"))) if kind == "tool" else "",
        call_id=_call_id(run) if kind == "tool" else "",
        user_text=_user_text(run) if kind == "other" else "",
        messages=tuple(messages_in(run.get("inputs"))) if kind == "model" else (),
    )
    if kind != "model":
        return span
    table, answer = _tools_and_answer(run, span, tally)
    return msgspec.structs.replace(span, tools=table, answer=answer)


def _tools_and_answer(run: Object, span: Span, tally: Tally) -> tuple[tuple[Tool, ...], Message | None]:
    """The tools that a model's run had on its table, and what it answered."""
    parameters = object_or_empty(object_or_empty(decoded(run.get("extra"))).get("invocation_params"))
    own = object_or_empty(decoded(run.get("inputs"))).get("tools")
    listed = entries(parameters.get("tools")) or entries(parameters.get("functions")) or entries(decoded(own))
    table, forced = allowed(
        table_of([decoded(tool) for tool in listed], tally, span.place), parameters.get("tool_choice")
    )
    answer = answer_in(run.get("outputs"))
    if answer is None and span.end is None:
        answer = Message(role="answer", no_decision=UNFINISHED)
    return table, answer_of_span(answer, forced, has_failed=span.has_failed)


def _stamped(stamps: Sequence[tuple[str, str, str]]) -> int | None:
    """The time in the last part of a dotted order: 20260102T030405000006Z and an id."""
    if not stamps:
        return None
    try:
        moment = datetime.strptime(stamps[-1][0], FORM).replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp()) * NANOSECONDS + int(stamps[-1][1]) * 1000


def _call_id(run: Object) -> str:
    """The id of the call that a tool's run answers."""
    outputs, inputs = decoded(run.get("outputs")), decoded(run.get("inputs"))
    inner = outputs.get("output") if isinstance(outputs, dict) else None
    holders = [holder for holder in (inner, outputs, inputs) if isinstance(holder, dict)]
    holders += [holder["kwargs"] for holder in holders if isinstance(holder.get("kwargs"), dict)]
    return next(filter(None, (text_or_empty(holder.get("tool_call_id")) for holder in holders)), "")


def _user_text(run: Object) -> str:
    """What the user said, in the input of a run without a parent."""
    if run.get("parent_run_id"):
        return ""
    return last_user_text(messages_in(run.get("inputs")))


def _feedback(stats: object) -> float | None:
    """The mean score of users, under whatever key has one."""
    for entry in objects(list(stats.values())) if isinstance(stats, dict) else []:
        if isinstance(entry.get("avg"), int | float) and not isinstance(entry["avg"], bool):
            return float(entry["avg"])
    return None
