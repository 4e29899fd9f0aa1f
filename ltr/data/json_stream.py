"""The JSON values of a file one after the other: a value a line, an array around them all, or one large document."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

import msgspec

from ltr.data.json_decode_errors import FAILURES
from ltr.files.content_digests import ContentDigest
from ltr.files.path_arguments import AnyPath
from ltr.files.reading import largest_line, split_lines, too_long, utf8_blocks

WHITE = b" \t\r\n"
BETWEEN = WHITE + b","
BRACKET = re.compile(rb'(?s)(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+([\[\]{}])')  # up to the next, over texts
OPENING, LIST = (b"[", b"{"), b"["


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
    blocks = utf8_blocks(path, digest=digest)
    begun = b""
    for block in blocks:
        begun += block
        first, *more = begun.lstrip(WHITE).split(b"\n", 1)
        if more or first[:1] not in (b"{", b"") or len(begun) > largest_line():
            break
    first = begun.lstrip(WHITE).split(b"\n", 1)[0]
    blocks = chain([begun], blocks)
    if first[:1] == b"[" or (first[:1] == b"{" and not is_json(first)):
        yield from _taken_apart(blocks, path)
        return
    for number, line in enumerate(split_lines(blocks, path), start=1):
        if line and not line.isspace():
            yield JsonValue(number, line)


def sample_lines(path: AnyPath, *, digest: ContentDigest | None = None) -> Iterator[tuple[int, bytes]]:
    """Line numbers and lines, as `read_lines`; of an array around the whole file, its values, each from its line on."""
    blocks, begun = utf8_blocks(path, digest=digest), b""
    for block in blocks:
        begun += block
        if not begun.isspace():
            break
    blocks = chain([begun], blocks)
    if begun.lstrip(WHITE)[:1] == LIST:
        return ((value.line, value.content) for value in _taken_apart(blocks, path))
    return enumerate(split_lines(blocks, path), start=1)


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


def _taken_apart(blocks: Iterator[bytes], path: AnyPath) -> Iterator[JsonValue]:
    """The values between the outermost brackets; an array around them is taken off.

    `depth` counts the open brackets, `base` those that are taken off; the value in work begins at `start`.
    """
    content, line, start, at, depth, base = b"", 1, 0, 0, 0, 0
    for block in blocks:
        content, at, start = content[start:] + block, at - start, 0
        if len(content) > largest_line():
            raise too_long(path, line, "JSON value")
        while token := BRACKET.match(content, at):  # none inside a text that goes on in the next block
            begin, at, mark = token.start(1), token.end(), token[1]
            if depth == base and (between := content[start:begin].strip(BETWEEN)):
                yield JsonValue(line, between)
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
    rest = content[start:].strip(BETWEEN)
    if rest or depth:
        yield JsonValue(line, rest, is_whole=depth == 0)
