"""The fields of a line of a samples file, what is right for each, and which one a misspelt key may mean."""

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches
from functools import lru_cache
from typing import Annotated, Any, Literal

import msgspec

from ltr.arrays import LARGEST
from ltr.errors import FieldError
from ltr.jsonl import excerpt

Kind = Literal["tool", "graph"]
DrawRule = Literal["random", "near"]
Id = int | str
Label = Annotated[float, msgspec.Meta(ge=0, le=LARGEST)]
Number = Annotated[float, msgspec.Meta(ge=-LARGEST, le=LARGEST)]
Weight = Annotated[float, msgspec.Meta(gt=0)]
Probability = Annotated[float, msgspec.Meta(gt=0, le=1)]
LONGEST_NAME, MOST_PREVIOUS = 1000, 10_000
Name = Annotated[str, msgspec.Meta(max_length=LONGEST_NAME)]
Previous = Annotated[list[Name], msgspec.Meta(max_length=MOST_PREVIOUS)]

TEXT_NEEDED, ID_NEEDED = "a text is needed", "a text or an integer is needed"
NEEDED: Mapping[str, str] = {
    "": "one JSON object a line is needed",
    "trace_id": ID_NEEDED,
    "node_id": ID_NEEDED,
    "query": TEXT_NEEDED,
    "context": TEXT_NEEDED,
    "previous": f"a list of at most {MOST_PREVIOUS:,} names of at most {LONGEST_NAME:,} characters is needed",
    "tool": "the name of a tool is needed",
    "tool_description": TEXT_NEEDED,
    "candidate_id": "the id of a graph is needed",
    "candidate_type": TEXT_NEEDED,
    "none": "true is needed; a candidate that is a tool or a graph has no such key",
    "label": "1 (right), 0 (wrong) or a grade up to 1e300 is needed",
    "features": "a list of numbers from -1e300 to 1e300 is needed",
    "drawn": "random or near is needed; a candidate of the log has no such key",
    "draw_probability": "a probability above 0, at most 1, is needed",
    "weight": "a finite number above 0 is needed",
    "time": "seconds since 1970 or an ISO 8601 text is needed",
    "outcome": ID_NEEDED,
    "candidates": "a list of objects with a tool or a candidate_id is needed",
    "tree": 'an object {"nodes": [...], "edges": [...]} is needed',
}


class Candidate(msgspec.Struct):
    """The fields of one candidate. null is the same as absent; other keys are ignored."""

    tool: str | None = None
    tool_description: str | None = None
    candidate_id: Id | None = None
    candidate_type: str | None = None
    tree: msgspec.Raw = msgspec.Raw()  # decoded once, however often it is repeated, by `graphs`
    label: Label | None = None
    features: list[Number] | None = None
    drawn: DrawRule | None = None  # the rule by which it was added; None: the log offers it
    draw_probability: Probability | None = None
    none: bool | None = None  # true: the candidate says that nothing offered is right


class Sample(Candidate, kw_only=True):
    """One line: key and query of a group, and one candidate or, in `candidates`, several."""

    trace_id: Id
    node_id: Id
    query: str
    context: str | None = None  # the conversation before the query
    previous: Previous | None = None  # what was used before in the trace, in order
    weight: Weight | None = None
    time: float | str | None = None
    outcome: Id | None = None  # of a query that was served: its id among the outcomes of a run
    candidates: list[Candidate] | None = None


def seconds(time: float | str) -> float:
    """Seconds since 1970. A number is taken as it is; a text is ISO 8601, in UTC when it names no zone.

    >>> seconds("1970-01-02"), seconds("1970-01-01T01:00:00+01:00"), seconds(2.5)
    (86400.0, 0.0, 2.5)
    """
    if not isinstance(time, str):
        return time
    try:
        moment = datetime.fromisoformat(time)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise FieldError("time", f"found {excerpt(time)}; {NEEDED['time']}") from None


KEY = re.compile(rb'"([^"\\]{1,40})"\s*:')
OF_LINE, OF_CANDIDATE = Sample.__struct_fields__, Candidate.__struct_fields__
KNOWN = frozenset(key.encode() for key in OF_LINE)
CLOSE = 0.8  # likeness from which a key that nothing needs may be meant for another; difflib's own measure
PYTHON = re.compile(rb"\s*\{\s*'")
Wrong = Callable[[str, str, bytes], bool]
MENDS: tuple[tuple[Wrong, str], ...] = (
    (
        lambda path, problem, line: problem.startswith("not JSON") and PYTHON.match(line) is not None,
        "these are Python's quotes: write each row with json.dumps(row)",
    ),
    (
        lambda path, problem, line: path.endswith("label") and problem.startswith(("found true", "found false")),
        "write 1 for true and 0 for false",
    ),
)
MISSING = "missing;"  # how the problem of a FieldError begins when a field is


def misspelt_keys(line: bytes) -> dict[str, str]:
    """The misspelt keys of a line that could be read, each with the key that may be meant.

    >>> misspelt_keys(b'{"trace_id": "t1", "lable": 1, "user": "u7"}')
    {'lable': 'label'}
    """
    unknown = set(KEY.findall(line)) - KNOWN
    if not any(_resembles(key.decode("utf-8", "replace")) for key in unknown):
        return {}
    misspelt: dict[str, str] = {}
    for record, allowed in _objects(line):
        for key in record.keys() - set(allowed):
            meant = _resembles(key)
            if meant is not None and meant in allowed and meant not in record:
                misspelt[key] = meant
    return dict(sorted(misspelt.items()))


def with_suggestion(error: FieldError, line: bytes) -> FieldError:
    """The error; where a field is missing, with the key of the line that may be meant for it.

    >>> with_suggestion(FieldError("label", "missing; a number is needed"), b'{"lable": 1}')
    FieldError('label', "missing; a number is needed; found 'lable': is label meant?")
    """
    path, problem = error.args
    if mend := next((mend for wrong, mend in MENDS if wrong(path, problem, line)), ""):
        return FieldError(path, f"{problem}; {mend}")
    if not problem.startswith(MISSING):
        return error
    field = path.rpartition(".")[2]
    unknown = [key for record, allowed in _objects(line) if field not in record for key in record.keys() - set(allowed)]
    near = get_close_matches(field, sorted(unknown), n=1)
    return FieldError(path, f"{problem}; found {near[0]!r}: is {field} meant?") if near else error


def _objects(line: bytes) -> Iterator[tuple[dict[str, Any], Collection[str]]]:
    """The object of the line and those of its candidates, each with the keys that are known there."""
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return
    if isinstance(record, dict):
        yield record, OF_LINE
        inner = record.get("candidates")
        if isinstance(inner, list):
            yield from ((candidate, OF_CANDIDATE) for candidate in inner if isinstance(candidate, dict))


@lru_cache(maxsize=1024)
def _resembles(key: str) -> str | None:
    """The known key that this one is close to."""
    return next(iter(get_close_matches(key, OF_LINE, n=1, cutoff=CLOSE)), None)
