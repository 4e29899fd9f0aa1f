"""Whether a call turned out well: by the status of spans, by an evaluation in a file, or by users' feedback."""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from ltr.data.importers.delimited_text import read_table
from ltr.data.importers.file_beginning import read_opening
from ltr.data.importers.span import Span
from ltr.data.json_decode_errors import FAILURES, decode_error
from ltr.data.json_stream import json_values
from ltr.data.value_excerpts import excerpt
from ltr.errors import DataError, FieldError, SampleError, UsageError, suggestion
from ltr.files.path_arguments import AnyPath, shown

STATUS, EVALUATION, FEEDBACK = "span-status", "evaluation", "feedback"
GOOD = 0.5  # a score from here on is good

TRACES = ("trace_id", "traceId", "context.trace_id")
NODES = ("node_id", "span_id", "spanId", "context.span_id", "observation_id", "observationId", "run_id")
SCORES = ("score", "value", "passed", "success", "correct", "label")
WORDS = {"true": True, "false": False, "yes": True, "no": False, "pass": True, "fail": False, "passed": True}
WORDS |= {"failed": False, "correct": True, "incorrect": False, "good": True, "bad": False}
FORM = '{"trace_id": ..., "node_id": ..., "score": ...}'


class CallOutcomes:
    """True for a good outcome, False for a bad one, None where nothing is known."""

    def __init__(self, source: str, scores: Mapping[tuple[str, str], bool]) -> None:
        self._source, self._scores = source, scores

    def of_span(self, span: Span) -> bool | None:
        """Of the call of a tool's span, of all calls of a model's, of the whole trace of another's."""
        if self._source == STATUS:
            return not span.has_failed if span.kind == "tool" else None
        if self._source == FEEDBACK:
            return None if span.feedback is None else span.feedback >= GOOD
        return self._scores.get((span.trace_id, span.span_id), self._scores.get(("", span.span_id)))

    def of_trace(self, trace_id: str) -> bool | None:
        """Of every decision of the trace for which nothing narrower is known."""
        return self._scores.get((trace_id, ""))


def call_outcomes(option: str) -> CallOutcomes | None:
    """What the option names: span-status, feedback, or evaluation:FILE; None without one."""
    source, _, path = option.partition(":")
    if not option:
        return None
    if source == EVALUATION and path:
        return CallOutcomes(source, dict(_read_evaluation(path)))
    if option in (STATUS, FEEDBACK):
        return CallOutcomes(source, {})
    choices = f"{STATUS}, {FEEDBACK} or {EVALUATION}:FILE"
    raise UsageError(f"outcome {option!r}{suggestion(option, (STATUS, FEEDBACK))}; {choices} is needed")


def outcome_note(option: str) -> tuple[str, ...]:
    """What the option changes in the samples, for the notes of an import."""
    if not option:
        return ()
    rule = "a tool's span without an error is" if option == STATUS else f"true and scores from {GOOD:g} on are"
    return (f"outcome {option}: {rule} good; a call with a bad outcome is not right (label 0)",)


def _read_evaluation(path: AnyPath) -> Iterator[tuple[tuple[str, str], bool]]:
    """The key of a trace or of one of its spans, and its outcome, of each line of JSON or row of a table."""
    for line, row in _rows(path):
        trace, node = (_id(row, names, shown(path), line) for names in (TRACES, NODES))
        if not trace and not node:
            raise SampleError(shown(path), line, "", f"no trace_id and no node_id; {FORM} is needed")
        values = [row[name] for name in SCORES if row.get(name) not in (None, "")]
        if not values:
            raise SampleError(shown(path), line, "", f"no score; {FORM} is needed")
        try:
            yield (trace, node), is_good(values[0])
        except FieldError as cause:
            raise SampleError(shown(path), line, *cause.args) from cause


def _rows(path: AnyPath) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not isinstance(read_opening(path).document, dict):
        table = read_table(path)
        if not set(table.header) & {*TRACES, *NODES}:
            raise DataError(f"{table.path}: no column trace_id or node_id; {FORM} or such a table is needed")
        for line, row in table.rows:
            yield line, dict(zip(table.header, row, strict=True))
        return
    for value in json_values(path):
        try:
            yield value.line, msgspec.json.decode(value.content, type=dict[str, Any])
        except FAILURES as failure:
            cause = decode_error(value.content, failure, {"": f"{FORM} is needed"})
            raise SampleError(shown(path), value.line, *cause.args) from None


def _id(row: Mapping[str, Any], names: tuple[str, ...], path: str, line: int) -> str:
    name = next((name for name in names if row.get(name) not in (None, "")), "")
    value = row.get(name, "")
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise SampleError(path, line, name, f"found {excerpt(value)}; a text or an integer is needed")
    return str(value)


def is_good(value: object) -> bool:
    """Whether a score or a word is good.

    >>> is_good(0.5), is_good("fail"), is_good("0.2"), is_good(True)
    (True, False, False, True)
    """
    if isinstance(value, str):
        word = WORDS.get(value.strip().lower())
        if word is not None:
            return word
        with suppress(ValueError):
            value = float(value)
    if not isinstance(value, bool | int | float) or math.isnan(value):
        raise FieldError("score", f"found {excerpt(value)}; a number, true or false, pass or fail is needed")
    return value >= GOOD
