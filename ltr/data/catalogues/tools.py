"""The catalogue of tools: description and inputs of each, from any file that lists tools."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ltr.arrays import IntArray
from ltr.data.catalogues.tool_list_formats import NEEDED, listed_tools
from ltr.data.json_decode_errors import FAILURES, decode_error
from ltr.data.jsonlines import records
from ltr.data.tool_texts import ToolText, replace_texts
from ltr.data.value_excerpts import excerpt
from ltr.errors import FieldError, FileError
from ltr.files.path_arguments import AnyPath, shown
from ltr.files.reading import BYTE_ORDER_MARK, read_bytes

if TYPE_CHECKING:
    from ltr.data.sample_reader import Samples

LARGEST_CATALOGUE = 256 << 20
A_LINE = {"": "one JSON object a line is needed"}
ToolCatalogue = Mapping[str, ToolText]


def read_tools(path: AnyPath) -> dict[str, ToolText]:
    """The texts of tools by name, of a JSON document or of JSONL in any of the shapes that `tool_list_formats` reads.

    A name that comes twice is an error, and so is a catalogue without tools.
    """
    tools: dict[str, ToolText] = {}
    for where, document in _documents(path):
        try:
            for tool in listed_tools(document):
                if tool.name in tools:
                    raise FieldError(tool.path, f"found {excerpt(tool.name)} again; one entry a tool is needed")
                tools[tool.name] = ToolText(tool.description, tool.inputs)
        except FieldError as cause:
            raise FileError(where, str(cause)) from cause
    if not tools:
        raise FileError(shown(path), "no tools; at least one is needed")
    return tools


def all_tools(paths: Iterable[AnyPath]) -> dict[str, ToolText]:
    """The tools of several catalogues; a name that two of them have is an error."""
    tools: dict[str, ToolText] = {}
    for path in paths:
        more = read_tools(path)
        if twice := next((name for name in more if name in tools), None):
            raise FileError(shown(path), f"found {excerpt(twice)}, which another catalogue has; names must differ")
        tools |= more
    return tools


def _documents(path: AnyPath) -> Iterator[tuple[str, Any]]:
    """The one document that the content is, or that of each line; before it the place that an error names."""
    content = read_bytes(path, limit=LARGEST_CATALOGUE).removeprefix(BYTE_ORDER_MARK)
    try:
        document = msgspec.json.decode(content)
        if isinstance(document, dict) and isinstance(document.get("tools"), dict):
            json.loads(content, object_pairs_hook=_refuse_repeated_keys)
        yield shown(path), document
        return
    except FieldError as cause:
        raise FileError(shown(path), str(cause)) from cause
    except FAILURES as failure:
        if not _is_json(content.lstrip().split(b"\n", 1)[0]):
            raise FileError(shown(path), str(decode_error(content, failure, NEEDED))) from failure
    lines = enumerate(content.split(b"\n"), start=1)
    for number, document in records(path, lines, object, A_LINE):
        yield f"{shown(path)}:{number}", document


def _refuse_repeated_keys(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """The object of the pairs. Decoders keep the last of two equal keys in silence, and a tool would be lost."""
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FieldError(excerpt(twice), "stands twice in one object: keep one of them")
    return content


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except FAILURES:
        return False
    return True


def tool_columns(samples: "Samples", catalogue: ToolCatalogue) -> tuple[IntArray, tuple[ToolText, ...]]:
    """A text code for each row, and the texts: the catalogue's by the name of the tool, else the row's own."""
    own = tuple(ToolText(description) for description in samples.description_texts)
    if samples.kind != "tool" or not catalogue:
        return samples.descriptions, own
    return replace_texts((samples.names, samples.name_texts), (samples.descriptions, own), catalogue.get)


def foreign_catalogue(names: Collection[str], catalogue: ToolCatalogue) -> str:
    """What is wrong with a catalogue that names fewer than half of the tools: it is one of other tools; else "".

    >>> foreign_catalogue(["a", "b", "c"], {"a": ToolText("")})
    'the catalogue names 1 of 3 tools; name one that has at least half of them, or none'
    """
    named = sum(name in catalogue for name in names)
    if not catalogue or 2 * named >= len(names):
        return ""
    return f"the catalogue names {named:,} of {len(names):,} tools; name one that has at least half of them, or none"
