"""Why a line of JSON cannot be read, with the field."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from ltr.data.value_excerpts import LONGEST_EXCERPT, excerpt, key_text
from ltr.errors import FieldError

FAILURES = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
OBJECT = "a JSON object is needed"
LARGEST_EXPLAINED = 1 << 20  # taking a line apart costs many times its length in memory
PLACE = re.compile(r" - at `\$\.?(.*)`$")
MISSING = re.compile(r"Object missing required field `([^`]+)`")
KEY_OR_INDEX = re.compile(r"[^.\[\]]+")
SURROGATE = re.compile("[\ud800-\udfff]")


def decode_error(line: bytes, failure: Exception, needed: Mapping[str, str]) -> FieldError:
    """The field of the line that made the decoder fail, the value found there and what is needed instead.

    >>> line = b'{"label": "1"}'
    >>> decode_error(line, ValueError("Expected `float`, got `str` - at `$.label`"), {"label": "a number"})
    FieldError('label', "found '1'; a number")
    """
    if isinstance(failure, RecursionError):
        return FieldError("", f"nested too deep; {needed.get('', OBJECT)}")
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return FieldError("", f"byte {error.start + 1} is not UTF-8")
    message = str(failure)
    if isinstance(failure, msgspec.DecodeError) and not isinstance(failure, msgspec.ValidationError):
        return _syntax_error(line, message, needed)
    place, missing = PLACE.search(message), MISSING.match(message)
    path = place[1] if place else ""
    if missing:
        path = f"{path}.{missing[1]}".lstrip(".")
    keys = [key for key in KEY_OR_INDEX.findall(path) if not key.isdecimal()]
    right = needed.get(keys[-1] if keys else "", OBJECT)
    return FieldError(path, f"missing; {right}" if missing else f"found {_value_at(line, path)}; {right}")


def _syntax_error(line: bytes, message: str, needed: Mapping[str, str]) -> FieldError:
    """The line is not JSON, or holds what other writers take for JSON: NaN, Infinity, half a surrogate pair."""
    try:
        leaves = list(_leaves(_loaded(line)))
    except (ValueError, RecursionError):
        leaves = []
    for path, leaf in leaves:
        if isinstance(leaf, float) and not math.isfinite(leaf):
            return FieldError(path, f"found {excerpt(leaf)}; a finite number is needed")
        if isinstance(leaf, str) and SURROGATE.search(leaf):
            return FieldError(path, f"found half a surrogate pair in {excerpt(leaf)}; whole characters are needed")
    problem = message.removeprefix("JSON is malformed: ").replace("Input data was truncated", "it ends too soon")
    return FieldError("", f"not JSON: {problem}; {needed.get('', OBJECT)}")


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Paths and values that hold no others, and the keys; without recursion, however deep they lie."""
    waiting = [("", value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            yield from ((path, key) for key in value)
            inner = [(f".{key_text(key)}", value[key]) for key in reversed(value)]
        elif isinstance(value, list):
            inner = [(f"[{index}]", value[index]) for index in reversed(range(len(value)))]
        else:
            yield path, value
            continue
        is_short = len(path) < LONGEST_EXCERPT  # a path that is too long to show grows no longer
        waiting += [(f"{path}{end}".lstrip(".") if is_short else path, entry) for end, entry in inner]


def _value_at(line: bytes, path: str) -> str:
    """The value at the path, as a message shows it."""
    try:
        value = _loaded(line)
        for key in KEY_OR_INDEX.findall(path):
            value = value[int(key)] if isinstance(value, list) else value[key]
    except (ValueError, RecursionError, LookupError, TypeError):
        if path:
            return "a value that cannot be used"  # such as an integer of 5,000 digits
        text = line[:LONGEST_EXCERPT].decode(errors="ignore")  # several values, such as those between brackets
        return repr(text)[1:-1] + ("..." if len(line) > LONGEST_EXCERPT else "")
    return excerpt(value)


def _loaded(line: bytes) -> Any:
    """The line as the standard library reads it, which forgives more and says less about what is wrong."""
    if len(line) > LARGEST_EXPLAINED:
        raise ValueError("too large to take apart for a message")
    return json.loads(line.decode())
