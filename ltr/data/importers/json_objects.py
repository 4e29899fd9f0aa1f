"""JSON objects of a log: read from its files, found in values, decoded from texts."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ltr.data.importers.tally import Tally
from ltr.data.json_decode_errors import FAILURES
from ltr.data.json_stream import json_values
from ltr.files.path_arguments import shown

Object = Mapping[str, Any]
NOT_JSON = "lines that are not JSON"
BROKEN_OFF = "values that the file ends inside of"
NO_OBJECT = "values that are no JSON object"


def log_objects(files: Sequence[str], tally: Tally) -> Iterator[tuple[str, Object]]:
    """Every JSON object of the files and its place; what is none is counted."""
    for path in files:
        for value in json_values(path):
            place = f"{shown(path)}:{value.line}"
            if not value.is_whole:
                tally.skip(BROKEN_OFF, place)
                continue
            try:
                content = msgspec.json.decode(value.content)
            except FAILURES:
                tally.skip(NOT_JSON, place)
                continue
            if isinstance(content, dict):
                yield place, content
            else:
                tally.skip(NO_OBJECT, place)


def objects(value: object) -> list[Object]:
    """The objects of a list; what else stands there is left out."""
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def text_or_empty(value: object) -> str:
    """The value, if it is a text."""
    return value if isinstance(value, str) else ""


def object_or_empty(value: object) -> Object:
    """The value, if it is an object."""
    return value if isinstance(value, dict) else {}


def id_text(value: object) -> str:
    """An id as a text, of a number its digits; "" for anything else.

    >>> id_text(7), id_text("a"), id_text(None)
    ('7', 'a', '')
    """
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""


def decoded(value: object) -> Any:
    """The value that a text of JSON holds; any other value as it is.

    >>> decoded('[1]'), decoded("rain"), decoded(7)
    ([1], 'rain', 7)
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        try:
            return msgspec.json.decode(value)
        except FAILURES:
            return value
    return value


def entries(value: object) -> list[Any]:
    """The entries of a list, or of an object whose keys count them: {"0": ..., "1": ...}."""
    if isinstance(value, list):
        return value
    if isinstance(value, dict) and value and all(key.isdecimal() for key in value):
        return [value[key] for key in sorted(value, key=lambda key: (len(key.lstrip("0")), key.lstrip("0")))]
    return []
