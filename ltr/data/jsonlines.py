"""Typed JSON from files, line by line; when a line does not fit, which field it was and why."""

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from ltr.errors import FieldError, SampleError
from ltr.files.reading import AnyPath, shown

Record = TypeVar("Record")

FAILURES = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

OBJECT = "a JSON object is needed"
LONGEST_EXCERPT = 60
LARGEST_EXPLAINED = 1 << 20  # taking a line apart costs many times its length in memory

PLACE = re.compile(r" - at `\$\.?(.*)`$")
MISSING = re.compile(r"Object missing required field `([^`]+)`")
PLAIN_NAME = re.compile(r"[\w-]{1,40}")
STEP = re.compile(r"[^.\[\]]+")


def records(
    path: AnyPath, lines: Iterable[tuple[int, bytes]], kind: type[Record], needed: Mapping[str, str]
) -> Iterator[tuple[int, Record]]:
    """Line numbers and decoded lines; blank lines are skipped. `needed` says for each field what is right.

    The plain way; the reader of samples has a loop of its own, because it reads millions.
    """
    decode = msgspec.json.Decoder(kind).decode
    for number, line in lines:
        if not line.strip():
            continue
        try:
            yield number, decode(line)
        except FAILURES as failure:
            cause = explained(line, failure, needed)
            raise SampleError(shown(path), number, *cause.args) from failure


def explained(line: bytes, failure: Exception, needed: Mapping[str, str]) -> FieldError:
    """The field of the line that made the decoder fail, what stands there and what is needed.

    >>> line = b'{"label": "1"}'
    >>> explained(line, ValueError("Expected `float`, got `str` - at `$.label`"), {"label": "a number"})
    FieldError('label', "found '1'; a number")
    """
    if isinstance(failure, RecursionError):
        return FieldError("", f"nested too deep; {needed.get('', OBJECT)}")
    try:
        line.decode()
    except UnicodeDecodeError as error:
        return FieldError("", f"byte {error.start + 1} is not UTF-8")
    if isinstance(failure, msgspec.DecodeError) and not isinstance(failure, msgspec.ValidationError):
        return _malformed(line, str(failure), needed)
    return _misfit(line, str(failure), needed)


def _misfit(line: bytes, message: str, needed: Mapping[str, str]) -> FieldError:
    """JSON as it should be, a value that is not: the decoder names the path, the value is looked up."""
    place = PLACE.search(message)
    path = place[1] if place else ""
    missing = MISSING.match(message)
    if missing:
        path = f"{path}.{missing[1]}".lstrip(".")
        return FieldError(path, f"missing; {_right(path, needed)}")
    return FieldError(path, f"found {_found(line, path)}; {_right(path, needed)}")


def _right(path: str, needed: Mapping[str, str]) -> str:
    names = [step for step in STEP.findall(path) if not step.isdecimal()]
    return needed.get(names[-1] if names else "", OBJECT)


def _found(line: bytes, path: str) -> str:
    try:
        value = _plain(line)
        for name in STEP.findall(path):
            value = value[int(name)] if isinstance(value, list) else value[name]
    except (ValueError, RecursionError, LookupError, TypeError):
        return "a value that cannot be used"  # such as an integer of 5,000 digits
    return excerpt(value)


def _plain(line: bytes) -> Any:
    """The line as the standard library reads it, which forgives more and names less."""
    if len(line) > LARGEST_EXPLAINED:
        raise ValueError("too large to take apart for a message")
    return json.loads(line.decode())


def _malformed(line: bytes, message: str, needed: Mapping[str, str]) -> FieldError:
    """Not JSON, or one of the things other writers take for JSON: NaN, Infinity, half a surrogate pair."""
    problem = message.removeprefix("JSON is malformed: ").replace("Input data was truncated", "it ends too soon")
    try:
        leaves = list(_leaves(_plain(line)))
    except (ValueError, RecursionError):
        leaves = []
    for path, leaf in leaves:
        if isinstance(leaf, float) and not math.isfinite(leaf):
            return FieldError(path, f"found {excerpt(leaf)}; a finite number is needed")
        if isinstance(leaf, str) and not _is_unicode(leaf):
            return FieldError(path, f"found half a surrogate pair in {excerpt(leaf)}; whole characters are needed")
    return FieldError("", f"not JSON: {problem}; {needed.get('', OBJECT)}")


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """Paths and values that hold no others, and the keys; without recursion, however deep they lie."""
    waiting = [("", value)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            yield from ((path, key) for key in value)
            waiting += [(_joined(path, f".{step(key)}"), value[key]) for key in reversed(value)]
        elif isinstance(value, list):
            waiting += [(_joined(path, f"[{index}]"), value[index]) for index in reversed(range(len(value)))]
        else:
            yield path, value


def _joined(path: str, end: str) -> str:
    return f"{path}{end}".lstrip(".") if len(path) < LONGEST_EXCERPT else path


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def step(name: str) -> str:
    """A key as a path shows it: itself when it is a plain word, else its excerpt.

    >>> step("query"), step("two words")
    ('query', "'two words'")
    """
    return name if PLAIN_NAME.fullmatch(name) else excerpt(name)


def excerpt(value: object) -> str:
    """A value as a message shows it: one line, printable, short.

    >>> excerpt("two\\nlines"), excerpt(True), excerpt([1.0, float("nan")])
    ("'two\\\\nlines'", 'true', '[1.0, NaN]')
    """
    try:
        text = repr(value[:LONGEST_EXCERPT]) if isinstance(value, str) else json.dumps(value)
    except RecursionError:
        return "a value nested too deep"
    return text if len(text) <= LONGEST_EXCERPT else f"{text[: LONGEST_EXCERPT - 3]}..."
