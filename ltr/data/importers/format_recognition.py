"""Which format a file has."""

import shlex
from collections.abc import Sequence
from pathlib import Path

from ltr.data.catalogues.tool_list_formats import listed_tools
from ltr.data.importers.file_beginning import Opening, opening_of, read_opening
from ltr.data.importers.registry import IMPORTERS
from ltr.errors import FieldError, UnknownFormatError, UsageError
from ltr.files.path_arguments import STDIN, AnyPath, shown
from ltr.files.reading import foreign_start
from ltr.plugins import plugin_errors

AUTO = "auto"
TABLES = (".csv", ".tsv")
MOST_SHOWN = 10


def recognise(path: AnyPath) -> tuple[str, ...]:
    """The names of the importers whose format a file looks like; it must be one that can be read a second time."""
    return formats_of(read_opening(path))


def formats_of(opening: Opening) -> tuple[str, ...]:
    """The names of the importers whose format a file with this opening looks like."""
    names = []
    for name in IMPORTERS.names():
        looks_like = IMPORTERS[name].looks_like
        with plugin_errors(f"importer {name}", looks_like, IMPORTERS.source(name)):
            if looks_like(opening):
                names.append(name)
    return tuple(names)


def foreign(path: AnyPath, line: bytes) -> str:
    """What a file that holds no samples looks like, and what to do with it; nothing where it is not known.

    `line` is its first one; nothing else is known of stdin.
    """
    is_stdin = str(path) == STDIN
    opening = opening_of(line) if is_stdin else read_opening(path)
    formats = formats_of(opening)
    file = shlex.quote(str(path))
    if not formats and Path(path).suffix in TABLES:
        columns = "--option query=COLUMN --option tool=COLUMN"
        return f"looks like a table; name its columns: ltr import csv {file} -o samples.jsonl {columns}"
    if _is_catalogue(opening) or (not formats and _is_tool(opening)):
        return "looks like a list of tools, which is named with --tools beside samples"
    if not formats:
        return ""
    commands = " or ".join(f"ltr import {name} {file} -o samples.jsonl" for name in formats)
    at_once = "" if is_stdin or len(formats) > 1 else f"; or, to train at once: ltr init --from {file}"
    return f"looks like {_titles(formats)}; run: {commands}{at_once}"


def _is_catalogue(opening: Opening) -> bool:
    """Whether a file holds tools by name and nothing else, as a catalogue does."""
    return isinstance(opening.document, dict) and set(opening.document) == {"tools"} and _are_tools(opening)


def _is_tool(opening: Opening) -> bool:
    """Whether the first value of a file is a tool, as a request to a model lists it."""
    return (opening.has("function") or opening.has("name", "description")) and _are_tools(opening)


def _are_tools(opening: Opening) -> bool:
    """Whether the first value of a file can be read as tools."""
    try:
        return bool(list(listed_tools(opening.document)))
    except FieldError:
        return False


def recognised(files: Sequence[AnyPath]) -> str:
    """The one importer for all of the files; where there is none, the error says what each looks like."""
    if not files or STDIN in map(str, files):
        raise UsageError("the format of stdin cannot be looked up; name it: ltr import FORMAT - -o OUT")
    names = {shown(path): recognise(path) for path in files}
    common = set.intersection(*map(set, names.values()))
    if len(common) == 1:
        return common.pop()
    looks = [f"{path}: {_look(path, of_file)}" for path, of_file in names.items()]
    shown_looks = [*looks[:MOST_SHOWN], *([f"and {len(looks) - MOST_SHOWN} more"] if len(looks) > MOST_SHOWN else [])]
    if all(names.values()):
        several = f"name the format: {', '.join(name for name in IMPORTERS.names() if name in common)}"
        raise UnknownFormatError(
            (*shown_looks, several if common else "files of several formats; import those of one format at a time")
        )
    formats = [f"  {name}: {IMPORTERS[name].title}" for name in IMPORTERS.names()]
    raise UnknownFormatError(
        (*shown_looks, "name the format: ltr import FORMAT FILES -o OUT; the formats are", *formats)
    )


SAMPLE = ("trace_id", "node_id", "query", "label")


def _look(path: str, formats: Sequence[str]) -> str:
    """What a file looks like: one of the formats, or samples."""
    if not formats:
        opening = read_opening(path)
        if problem := foreign_start(opening.content):
            return problem
        if opening.has(*SAMPLE, "tool") or opening.has(*SAMPLE, "candidate_id"):
            return f"these are samples already; train on them: ltr train {shlex.quote(path)}"
    return f"looks like {_titles(formats)}"


def _titles(names: Sequence[str]) -> str:
    return " or ".join(IMPORTERS[name].title for name in names) or "no format that ltr knows"
