"""Whether a call turned out well: by the status of spans, by an evaluation in a file, or by users' feedback."""

import math
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from ltr.errors import DataError, FieldError, SampleError, UsageError, suggestion
from ltr.importers.frame import json_objects, read_opening
from ltr.importers.spans import Span
from ltr.importers.tables import read_table
from ltr.jsonl import excerpt
from ltr.paths import AnyPath, shown

STATUS, EVALUATION, FEEDBACK = "span-status", "evaluation", "feedback"
GOOD = 0.5  # a score from here on is good

TRACES = ("trace_id", "traceId", "context.trace_id")
NODES = ("node_id", "span_id", "spanId", "context.span_id", "observation_id", "observationId", "run_id")
SCORES = ("score", "value", "passed", "success", "correct", "label")
WORDS = dict.fromkeys(("true", "yes", "pass", "passed", "correct", "good"), True)
WORDS |= dict.fromkeys(("false", "no", "fail", "failed", "incorrect", "bad"), False)
FORM = '{"trace_id": ..., "node_id": ..., "score": ...}'


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Where an import takes from how calls turned out; without a source every call did well."""

    source: str
    scores: Mapping[tuple[str, str], bool] = field(default_factory=dict)  # by trace and span, either of which may be ""

    def of_trace(self, trace_id: str) -> bool | None:
        """Return how a trace as a whole turned out; None: not known."""
        return self.scores.get((trace_id, ""))

    def of(self, span: Span) -> bool | None:
        """Return how the call of a tool's span turned out, all calls of a model's, the whole trace of another's."""
        if self.source == STATUS:
            return not span.has_failed if span.kind == "tool" else None
        if self.source == FEEDBACK:
            return None if span.feedback is None else span.feedback >= GOOD
        return self.scores.get((span.trace_id, span.span_id), self.scores.get(("", span.span_id)))

    def notes(self, option: str) -> tuple[str, ...]:
        """Return what the option changes in the samples."""
        if not self.source:
            return ()
        rule = "a tool's span without an error is" if self.source == STATUS else f"true and scores from {GOOD:g} on are"
        return (f"outcome {option}: {rule} good; a call with a bad outcome is not right (label 0)",)


def outcomes_of(option: str) -> Outcomes:
    """Return the outcomes that the option names: span-status, feedback or evaluation:FILE; "" names none."""
    source, _, path = option.partition(":")
    if source == EVALUATION and path:
        return Outcomes(source, dict(_read_evaluation(path)))
    if option in ("", STATUS, FEEDBACK):
        return Outcomes(option)
    choices = f"{STATUS}, {FEEDBACK} or {EVALUATION}:FILE"
    raise UsageError(f"outcome {option!r}{suggestion(option, (STATUS, FEEDBACK))}; {choices} is needed")


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


def _read_evaluation(path: AnyPath) -> Iterator[tuple[tuple[str, str], bool]]:
    """The key of a trace or of one of its spans, and its outcome, of each line of JSON or row of a table."""
    for line, row in _rows(path):
        trace, node = (_id(row, names, shown(path), line) for names in (TRACES, NODES))
        values = [row[name] for name in SCORES if row.get(name) not in (None, "")]
        missing = "no trace_id and no node_id" if not (trace or node) else "" if values else "no score"
        if missing:
            raise SampleError(shown(path), line, "", f"{missing}; {FORM} is needed")
        try:
            yield (trace, node), is_good(values[0])
        except FieldError as cause:
            raise SampleError(shown(path), line, *cause.args) from cause


def _rows(path: AnyPath) -> Iterator[tuple[int, Mapping[str, Any]]]:
    if not isinstance(read_opening(path).document, dict):
        table = read_table(path)
        if not set(table.header) & {*TRACES, *NODES}:
            raise DataError(f"{table.path}: no column trace_id or node_id; {FORM} or such a table is needed")
        yield from ((line, dict(zip(table.header, row, strict=True))) for line, row in table.rows)
        return
    yield from json_objects(path, FORM)


def _id(row: Mapping[str, Any], names: tuple[str, ...], path: str, line: int) -> str:
    name = next((name for name in names if row.get(name) not in (None, "")), "")
    value = row.get(name, "")
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise SampleError(path, line, name, f"found {excerpt(value)}; a text or an integer is needed")
    return str(value)
