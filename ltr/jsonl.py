"""JSON as files hold it: a value a line, or one large document; what is wrong with one is said with its field."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import msgspec

from ltr.errors import FieldError, SampleError
from ltr.files import ContentDigest, TextFile
from ltr.paths import AnyPath, shown
from ltr.registry import Registry

LONGEST_EXCERPT = 60
PLAIN_NAME = re.compile(r"[\w-]{1,40}")


def key_text(key: str) -> str:
    """A key as a path shows it: itself when it is a plain word, else its excerpt.

    >>> key_text("query"), key_text("two words")
    ('query', "'two words'")
    """
    return key if PLAIN_NAME.fullmatch(key) else excerpt(key)


def excerpt(value: object) -> str:
    r"""A value as a message shows it: one line, printable, short.

    >>> excerpt("two\nlines"), excerpt(True), excerpt([1.0, float("nan")])
    ("'two\\nlines'", 'true', '[1.0, NaN]')
    >>> excerpt(object())
    'an object of the type object'
    """
    try:
        text = repr(value[:LONGEST_EXCERPT]) if isinstance(value, str) else json.dumps(value)
    except RecursionError:
        return "a value nested too deep"
    except (TypeError, ValueError):  # no value of JSON
        return f"an object of the type {type(value).__name__}"
    return text if len(text) <= LONGEST_EXCERPT else f"{text[: LONGEST_EXCERPT - 3]}..."


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


Record = TypeVar("Record")


def records(
    path: AnyPath, lines: Iterable[tuple[int, bytes]], kind: type[Record], needed: Mapping[str, str]
) -> Iterator[tuple[int, Record]]:
    """Line numbers and decoded lines; blank lines are skipped. `needed` says for each field what is right.

    The reader of samples does not use it: it reads millions of lines, and has a faster loop of its own.
    """
    decode = msgspec.json.Decoder(kind).decode
    for number, line in lines:
        if not line.strip():
            continue
        try:
            yield number, decode(line)
        except FAILURES as failure:
            cause = decode_error(line, failure, needed)
            raise SampleError(shown(path), number, *cause.args) from failure


def encode_lines(rows: Iterable[msgspec.Struct | Mapping[str, Any]]) -> Iterator[bytes]:
    """Each struct or mapping as one line of JSON, without its end. A number that is not finite would become null.

    >>> row = msgspec.defstruct("Row", [("trace_id", str), ("rank", int)])
    >>> list(encode_lines([row("t1", 2)]))
    [b'{"trace_id":"t1","rank":2}']
    """
    return map(msgspec.json.Encoder().encode, rows)


WHITE = b" \t\r\n"
BETWEEN = WHITE + b","
BRACKET = re.compile(rb'(?s)(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+([\[\]{}])')  # up to the next, over texts
OPENING, LIST = (b"[", b"{"), b"["

# What a file looks like whose first line is no sample. Who knows the other formats stands above this package and is
# loaded by name, when a file is refused.
FOREIGN = "foreign"
ADVISERS: Registry[Callable[[AnyPath, bytes], str]] = Registry("adviser", {"ltr.importers.frame": (FOREIGN,)})


@dataclass(frozen=True, slots=True)
class JsonValue:
    """A value as it stands in the file, from this line on; not whole where the file ends before it does."""

    line: int
    content: bytes
    is_whole: bool = True


def json_values(path: AnyPath, *, digest: ContentDigest | None = None) -> Iterator[JsonValue]:
    """Each value of the file; of an array around all of them, each element.

    Where the first line is a whole object, or does not begin like JSON, each line that is not blank is a value, and it
    may be no JSON: its reader decides what becomes of it. Any other file is taken apart at its brackets. One value is
    in memory at a time; one that is longer than a line may be is refused.
    """
    text = TextFile(path, digest)
    line, blocks = _from_first_value(text.blocks())
    begun, size = list[bytes](), 0
    for block in blocks:
        begun.append(block)
        size += len(block)
        if b"\n" in block or not begun[0].startswith(b"{") or size > text.limit():
            break
    first = b"".join(begun).split(b"\n", 1)[0]
    blocks = chain(begun, blocks)
    if first[:1] == b"[" or (first[:1] == b"{" and not is_json(first)):
        yield from _taken_apart(blocks, text, line)
        return
    for number, content in text.split(blocks, line):
        if content and not content.isspace():
            yield JsonValue(number, content)


def sample_lines(path: AnyPath, *, digest: ContentDigest | None = None) -> Iterator[tuple[int, bytes]]:
    """Line numbers and lines, as `read_lines`, from the first value on; of an array around all of them, its values."""
    text = TextFile(path, digest)
    line, blocks = _from_first_value(text.blocks())
    begun = next(blocks, b"")
    blocks = chain([begun], blocks)
    if begun.startswith(LIST):
        return ((value.line, value.content) for value in _taken_apart(blocks, text, line))
    return text.split(blocks, line)


def is_json(content: bytes) -> bool:
    """Whether the content is one JSON value.

    >>> is_json(b'{"a": 1}'), is_json(b'{"a":'), is_json(b"{'a': 1}")
    (True, False, False)
    """
    try:
        msgspec.json.decode(content)
    except FAILURES:
        return False
    return True


def _from_first_value(blocks: Iterator[bytes]) -> tuple[int, Iterator[bytes]]:
    """Return the number of the line on which the first value begins, and the content from there on."""
    line = 1
    for block in blocks:  # white space is counted and let go: a small compressed file can hold any amount of it
        content = block.lstrip(WHITE)
        line += block.count(b"\n", 0, len(block) - len(content))
        if content:
            return line, chain([content], blocks)
    return line, iter(())


def _taken_apart(blocks: Iterator[bytes], text: TextFile, line: int) -> Iterator[JsonValue]:
    """The values between the outermost brackets, the first on this line; an array around them is taken off.

    `depth` counts the open brackets, `base` those that are taken off; the value in work begins at `start`.
    """
    content, start, at, depth, base = b"", 0, 0, 0, 0
    for block in blocks:
        content, at, start = content[start:] + block, at - start, 0
        if depth == base:  # between values: what only parts them is not kept
            start = len(content) - len(content.lstrip(BETWEEN))
            line, at = line + content.count(b"\n", 0, start), max(at, start)
        text.refuse_longer(len(content) - start, line, "JSON value")
        while token := BRACKET.match(content, at):  # none inside a text that goes on in the next block
            begin, at, mark = token.start(1), token.end(), token[1]
            if depth == base and (between := content[start:begin].lstrip(BETWEEN)):
                yield JsonValue(line + content.count(b"\n", start, begin - len(between)), between.rstrip(BETWEEN))
            if mark in OPENING:
                depth += 1
                if depth == base + 1:
                    line, start = line + content.count(b"\n", start, begin), begin
                if depth == 1 and mark == LIST:
                    base, start = 1, at
                continue
            depth -= 1
            if depth == base:
                yield JsonValue(line, content[start:at])
            if depth <= base:
                line, start, depth = line + content.count(b"\n", start, at), at, max(depth, 0)
                base = min(base, depth)
    rest = content[start:].lstrip(BETWEEN)
    if rest or depth:
        first = line + content.count(b"\n", start, len(content) - len(rest))
        yield JsonValue(first, rest.rstrip(BETWEEN), is_whole=depth == 0)
