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
    line, blocks = _from_first_value(utf8_blocks(path, digest=digest))
    begun, size = list[bytes](), 0
    for block in blocks:
        begun.append(block)
        size += len(block)
        if b"\n" in block or not begun[0].startswith(b"{") or size > largest_line():
            break
    first = b"".join(begun).split(b"\n", 1)[0]
    blocks = chain(begun, blocks)
    if first[:1] == b"[" or (first[:1] == b"{" and not is_json(first)):
        yield from _taken_apart(blocks, path, line)
        return
    for number, content in enumerate(split_lines(blocks, path, line), start=line):
        if content and not content.isspace():
            yield JsonValue(number, content)


def sample_lines(path: AnyPath, *, digest: ContentDigest | None = None) -> Iterator[tuple[int, bytes]]:
    """Line numbers and lines, as `read_lines`, from the first value on; of an array around all of them, its values."""
    line, blocks = _from_first_value(utf8_blocks(path, digest=digest))
    begun = next(blocks, b"")
    blocks = chain([begun], blocks)
    if begun.startswith(LIST):
        return ((value.line, value.content) for value in _taken_apart(blocks, path, line))
    return enumerate(split_lines(blocks, path, line), start=line)


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


def _taken_apart(blocks: Iterator[bytes], path: AnyPath, line: int) -> Iterator[JsonValue]:
    """The values between the outermost brackets, the first on this line; an array around them is taken off.

    `depth` counts the open brackets, `base` those that are taken off; the value in work begins at `start`.
    """
    content, start, at, depth, base = b"", 0, 0, 0, 0
    for block in blocks:
        content, at, start = content[start:] + block, at - start, 0
        if depth == base:  # between values: what only parts them is not kept
            start = len(content) - len(content.lstrip(BETWEEN))
            line, at = line + content.count(b"\n", 0, start), max(at, start)
        if len(content) - start > largest_line():
            raise too_long(path, line, "JSON value")
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
