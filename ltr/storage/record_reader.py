"""A file that holds one record: types are checked when it is read, and an earlier format is refused as such."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ltr.errors import FileError
from ltr.files.reading import read_bytes

LARGEST_RECORD = 256 << 20  # metrics.json has a value for each part of a breakdown
EARLIER = ("/1", "ltr-model/2", "ltr-metrics/2", "ltr-leaderboard/2")
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
Document = TypeVar("Document")
Json = Any  # a value of plain JSON whose shape is somebody else's


def read_record(path: Path, kind: Callable[..., Document], *, limit: int = LARGEST_RECORD) -> Document:
    """The record that the file holds, or an error that names the file and the field."""
    content = read_bytes(path, limit=limit)
    try:
        return msgspec.json.decode(content, type=kind)
    except UNREADABLE as error:
        with suppress(*UNREADABLE):  # a value of another type may stand before what is no JSON
            refuse_earlier(path, msgspec.json.decode(content))
        raise FileError(str(path), f"not what ltr writes: {error}") from error


def refuse_earlier(path: Path, document: Json) -> None:
    """Raise for a file of an earlier format, or for metrics as they were written before they had one."""
    name = document.get("format") if isinstance(document, dict) else None
    is_flat = isinstance(document, dict) and name is None and "num_queries" in document
    if is_flat or (isinstance(name, str) and name.startswith("ltr-") and name.endswith(EARLIER)):
        raise FileError(str(path), "made by an earlier version; train (featurise, evaluate, bench) again")
