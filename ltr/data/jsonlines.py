"""Lines of JSON: decoded as a type, and encoded."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from ltr.data.json_decode_errors import FAILURES, decode_error
from ltr.errors import SampleError
from ltr.files.path_arguments import AnyPath, shown

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
