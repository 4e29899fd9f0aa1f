"""Importers by name: each turns files of another format into lines of samples, and counts what it keeps and skips."""

import inspect
import shlex
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from ltr.data.catalogues.tool_list_formats import listed_tools
from ltr.data.importers.file_beginning import Opening, opening_of, read_opening
from ltr.data.importers.tally import Count, Tally
from ltr.data.redaction import redact_sample
from ltr.errors import DataError, FieldError, UnknownFormatError, UsageError, suggestion
from ltr.files.atomic_write import write_lines
from ltr.files.output_replacement import new_files, refuse_existing
from ltr.files.reading import STDIN, AnyPath, expand, foreign_start, shown
from ltr.plugins import bad_result, plugin_errors, summary_of
from ltr.registry import Registry

AUTO = "auto"
TABLES = (".csv", ".tsv")
MOST_SHOWN = 10
DIGESTS_AT_ONCE = 1 << 16


@dataclass(frozen=True, slots=True)
class Imported:
    """Lines of samples, notes on what is known before they are read, and the tally that reading them fills."""

    lines: Iterable[Mapping[str, Any]]
    notes: tuple[str, ...] = ()
    tally: Tally = field(default_factory=Tally)


Convert = Callable[..., Imported]  # (files, **options): an importer's options are its keyword-only parameters


@dataclass(frozen=True, slots=True)
class Importer:
    """A registered importer, and how a file of its format is recognised."""

    convert: Convert
    title: str  # what such a file is, after "looks like": "an OpenAI chat log"
    looks_like: Callable[[Opening], bool]

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return summary_of(self.convert)

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its options."""
        parameters = inspect.signature(self.convert).parameters.values()
        return tuple(parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class ImportSummary:
    """What an import wrote, and what it kept and skipped, by reason."""

    format: str  # the importer
    samples: int  # candidates
    groups: int
    notes: tuple[str, ...]
    kept: tuple[Count, ...]
    skipped: tuple[Count, ...]
    remarks: tuple[Count, ...]


IMPORTERS: Registry[Importer] = Registry(
    "importer",
    {
        "ltr.data.importers.openai": ("openai",),
        "ltr.data.importers.anthropic": ("anthropic",),
        "ltr.data.importers.atif": ("atif",),
        "ltr.data.importers.calling_trees": ("calling-trees",),
        "ltr.data.importers.csv": ("csv",),
        "ltr.data.importers.langfuse": ("langfuse",),
        "ltr.data.importers.langsmith": ("langsmith",),
        "ltr.data.importers.letor": ("letor",),
        "ltr.data.importers.recommended_lists": ("lists",),
        "ltr.data.importers.mlflow": ("mlflow",),
        "ltr.data.importers.otel": ("otel",),
        "ltr.data.importers.trec": ("trec",),
    },
)


def importer(
    name: str, *, title: str = "", looks_like: Callable[[Opening], bool] = lambda opening: False
) -> Callable[[Convert], Convert]:
    """A decorator that registers a function from files to Imported; its keyword-only parameters are its options."""

    def register(convert: Convert) -> Convert:
        IMPORTERS.add(name, Importer(convert, title or f"a {name} file", looks_like), made_of=convert)
        return convert

    return register


def import_samples(
    format_name: str,
    files: Sequence[AnyPath],
    out: AnyPath,
    *,
    options: Mapping[str, str] | None = None,
    redact: bool = True,
    overwrite: bool = False,
) -> ImportSummary:
    """Write the samples of the files to `out` as JSONL, without mail addresses, keys and tokens if `redact`.

    The format `auto` is the one that all of the files look like. Files without a sample are an error.
    """
    names = expand(files)
    format_name = recognised(names) if format_name == AUTO else format_name
    plugin, source = IMPORTERS[format_name], IMPORTERS.source(format_name)  # first: the format may be unknown
    _refuse_unknown_options(format_name, plugin, options or {})
    if not str(out).endswith((".jsonl", ".jsonl.gz", ".jsonl.zst")):
        raise UsageError(f"{out}: name an output that ends in .jsonl, .jsonl.gz or .jsonl.zst")
    refuse_existing(out, overwrite=overwrite)
    who, samples, groups = f"importer {format_name}", 0, _GroupCount()
    with plugin_errors(who, plugin.convert, source):
        imported = plugin.convert(names, **options or {})
        if not isinstance(imported, Imported):
            problem = f"{who}: gave {type(imported).__name__}; Imported(lines, notes) is needed"
            raise bad_result(plugin.convert, problem)
        notes, tally = tuple(map(str, imported.notes)), imported.tally

    def lines() -> Iterator[bytes]:
        nonlocal samples
        with plugin_errors(who, plugin.convert, source):  # an importer may read its files only here
            for line in imported.lines:
                if not isinstance(line, Mapping):
                    problem = f"{who}: gave a line of {type(line).__name__}; a mapping is needed"
                    raise bad_result(plugin.convert, problem)
                samples += len(line["candidates"]) if isinstance(line.get("candidates"), list) else 1
                groups.see(line.get("trace_id"), line.get("node_id"))
                yield msgspec.json.encode(redact_sample(line, tally) if redact else line)

    with new_files(out) as new:
        write_lines(new / Path(out).name, lines())
        if not samples:
            raise DataError(_nothing_in(names, who, tally))
    return ImportSummary(format_name, samples, groups.number(), notes, tally.kept(), tally.skipped(), tally.remarks())


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
    if not formats:
        return "looks like a list of tools, which is named with --tools beside samples" if _is_tool(opening) else ""
    commands = " or ".join(f"ltr import {name} {file} -o samples.jsonl" for name in formats)
    at_once = "" if is_stdin or len(formats) > 1 else f"; or, to train at once: ltr init --from {file}"
    return f"looks like {_titles(formats)}; run: {commands}{at_once}"


def _is_tool(opening: Opening) -> bool:
    """Whether the first value of a file is a tool, as a request to a model lists it."""
    if not (opening.has("function") or opening.has("name", "description")):
        return False
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


def _nothing_in(files: Sequence[str], who: str, tally: Tally) -> str:
    """That the files hold no sample, with what was skipped."""
    reasons = [f"{entry.reason}: {entry.number:,} ({', '.join(entry.places)})" for entry in tally.skipped()]
    return f"{', '.join(map(shown, files))}: no sample for the {who}; skipped: {'; '.join(reasons) or 'nothing'}"


class _GroupCount:
    """Counts the groups of lines in any order; memory holds 8 bytes a group, and as much again."""

    def __init__(self) -> None:
        self._last: object = None
        self._digests, self._limit = array("Q"), DIGESTS_AT_ONCE

    def see(self, trace: object, node: object) -> None:
        """Count the group of a line."""
        if (trace, node) == self._last:
            return
        self._last = trace, node
        self._digests.frombytes(blake2b(msgspec.json.encode(self._last), digest_size=8).digest())
        if len(self._digests) >= self._limit:
            self._limit = 2 * self.number() + DIGESTS_AT_ONCE

    def number(self) -> int:
        """How many groups there are so far."""
        import numpy as np

        self._digests = array("Q", np.unique(np.frombuffer(self._digests, dtype=np.uint64)).tobytes())
        return len(self._digests)


def _refuse_unknown_options(name: str, plugin: Importer, options: Mapping[str, str]) -> None:
    for option in options:
        if option not in plugin.options:
            options_text = ", ".join(plugin.options) or "none"
            raise UsageError(
                f"importer {name} has no option {option!r}{suggestion(option, plugin.options)}; known: {options_text}"
            )
