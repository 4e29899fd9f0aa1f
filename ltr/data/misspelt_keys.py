"""Misspelt keys in the lines of samples: unknown keys that resemble a known one which their object lacks."""

import re
from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches
from functools import lru_cache
from typing import Any

import msgspec

from ltr.data.schema import Candidate, Sample
from ltr.errors import FieldError

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
