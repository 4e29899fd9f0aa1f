"""The beginning of a file, from which its format is recognised."""

from dataclasses import dataclass

import msgspec

from ltr.data.json_decode_errors import FAILURES
from ltr.data.json_stream import json_values
from ltr.errors import LtrError
from ltr.files.path_arguments import STDIN, AnyPath
from ltr.files.reading import read_blocks

OPENING_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class Opening:
    """The name of a file, its first bytes (decompressed), and its first JSON value; None where it holds no JSON."""

    path: str
    content: bytes
    document: object = None

    def has(self, *keys: str) -> bool:
        """Whether the first JSON value is an object with all of the keys.

        >>> Opening("a.jsonl", b"", {"messages": [], "tools": []}).has("messages")
        True
        """
        return isinstance(self.document, dict) and all(key in self.document for key in keys)


def opening_of(line: bytes) -> Opening:
    """The opening of a file of which only the first line is known."""
    try:
        document = msgspec.json.decode(line)
    except FAILURES:
        document = None
    return Opening(STDIN, line + b"\n", document)


def read_opening(path: AnyPath) -> Opening:
    """The opening of a file that can be read a second time; what an array around everything begins with."""
    content = next(read_blocks(path), b"")[:OPENING_BYTES]
    document = None
    try:
        first = next(json_values(path), None)
        document = msgspec.json.decode(first.content) if first else None
    except (*FAILURES, LtrError):  # no JSON, or none that is read: other formats look at the bytes
        pass
    return Opening(str(path), content, document)
