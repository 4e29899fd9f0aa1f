"""What every importer stands in: how its format is recognised, what it counts, and how its lines become samples."""

import inspect
import math
import shlex
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path
from typing import Any

import msgspec

from ltr.catalogues import listed_tools
from ltr.errors import DataError, FieldError, LtrError, SampleError, UnknownFormatError, UsageError, suggestion
from ltr.files import ContentDigest, TextFile, new_files, refuse_existing, write_lines
from ltr.importers import redact_sample
from ltr.jsonl import ADVISERS, FAILURES, FOREIGN, decode_error, excerpt, json_values
from ltr.paths import STDIN, AnyPath, expand, shown
from ltr.plugins import bad_result, plugin_errors, summary_of
from ltr.registry import Registry

AUTO = "auto"
OPENING_BYTES = 1 << 16
MOST_PLACES = 3  # of a count
MOST_SHOWN = 10  # files in an error
DIGESTS_AT_ONCE = 1 << 16
TABLES = (".csv", ".tsv")
SAMPLE = ("trace_id", "node_id", "query", "label")


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


def read_opening(path: AnyPath) -> Opening:
    """Read the opening of a file that can be read a second time; of an array around everything, its first value."""
    content = next(TextFile(path).raw_blocks(), b"")[:OPENING_BYTES]
    document = None
    try:
        first = next(json_values(path), None)
        document = msgspec.json.decode(first.content) if first else None
    except (*FAILURES, LtrError):  # no JSON, or none that is read: other formats look at the bytes
        pass
    return Opening(str(path), content, document)


def json_objects(
    path: AnyPath, form: str, *, digest: ContentDigest | None = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read the JSON objects of a file, each with its line; anything else is refused with the `form` that is needed."""
    for value in json_values(path, digest=digest):
        try:
            document = msgspec.json.decode(value.content)
        except FAILURES as failure:
            cause = decode_error(value.content, failure, {"": f"{form} is needed"})
            raise SampleError(shown(path), value.line, *cause.args) from None
        if not isinstance(document, dict):
            raise SampleError(shown(path), value.line, "", f"found {excerpt(document)}; {form} is needed")
        yield value.line, document


def finite(text: str) -> float | None:
    """Return the number that a text stands for; None where it stands for none, or for one without an end.

    >>> finite("2.5"), finite("1_000"), finite("inf")
    (2.5, None, None)
    """
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None


@dataclass(frozen=True, slots=True)
class Count:
    """How often something happened, why, and where the first few stand."""

    reason: str
    number: int
    places: tuple[str, ...] = ()


@dataclass(slots=True)
class Tally:
    """Counters that an importer fills while its lines are read; whoever reads the lines looks at it afterwards.

    >>> tally = Tally()
    >>> tally.skip("the answer was cut off", "log.jsonl:7")
    >>> tally.skipped()
    (Count(reason='the answer was cut off', number=1, places=('log.jsonl:7',)),)
    """

    _numbers: dict[str, Counter[str]] = field(default_factory=dict)
    _places: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def keep(self, reason: str, place: str = "", number: int = 1) -> None:
        """Count what became samples; the reason says what it is."""
        self._add("kept", reason, place, number)

    def skip(self, reason: str, place: str = "", number: int = 1) -> None:
        """Count what became no sample, and why."""
        self._add("skipped", reason, place, number)

    def remark(self, reason: str, place: str = "", number: int = 1) -> None:
        """Count what changed a sample, or what the reader of the samples should know."""
        self._add("remarks", reason, place, number)

    def kept(self) -> tuple[Count, ...]:
        """Return what became samples, in order of first appearance."""
        return self._counts("kept")

    def skipped(self) -> tuple[Count, ...]:
        """Return what became no sample, in order of first appearance."""
        return self._counts("skipped")

    def remarks(self) -> tuple[Count, ...]:
        """Return what else was counted, in order of first appearance."""
        return self._counts("remarks")

    def _add(self, kind: str, reason: str, place: str, number: int) -> None:
        if not number:
            return
        self._numbers.setdefault(kind, Counter())[reason] += number
        places = self._places.setdefault((kind, reason), [])
        if place and len(places) < MOST_PLACES:
            places.append(place)

    def _counts(self, kind: str) -> tuple[Count, ...]:
        numbers = self._numbers.get(kind, Counter()).items()
        return tuple(Count(reason, number, tuple(self._places[kind, reason])) for reason, number in numbers)


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


IMPORTERS: Registry[Importer] = Registry(
    "importer",
    {
        "ltr.importers.chats": ("anthropic",),
        "ltr.importers.letor": ("letor",),
        "ltr.importers.lists": ("lists",),
        "ltr.importers.openai": ("openai",),
        "ltr.importers.otel": ("otel",),
        "ltr.importers.rankings": ("trec",),
        "ltr.importers.tables": ("csv",),
        "ltr.importers.tracers": ("langfuse", "langsmith", "mlflow"),
        "ltr.importers.trajectories": ("atif", "calling-trees"),
    },
)


def importer(
    name: str, *, title: str = "", looks_like: Callable[[Opening], bool] = lambda opening: False
) -> Callable[[Convert], Convert]:
    """Return a decorator that registers a function from files to Imported under the name.

    Its keyword-only parameters are its options. `looks_like` says whether a file is of the format, `title` what it is.
    """

    def register(convert: Convert) -> Convert:
        IMPORTERS.add(name, Importer(convert, title or f"a {name} file", looks_like), made_of=convert)
        return convert

    return register


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
    for option in options or {}:
        if option not in plugin.options:
            known = f"{suggestion(option, plugin.options)}; known: {', '.join(plugin.options) or 'none'}"
            raise UsageError(f"importer {format_name} has no option {option!r}{known}")
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
                yield msgspec.json.encode(redact_sample(line, tally.remark) if redact else line)

    with new_files(out) as new:
        write_lines(new / Path(out).name, lines())
        if not samples:
            reasons = [f"{entry.reason}: {entry.number:,} ({', '.join(entry.places)})" for entry in tally.skipped()]
            nothing = f"no sample for the {who}; skipped: {'; '.join(reasons) or 'nothing'}"
            raise DataError(f"{', '.join(map(shown, names))}: {nothing}")
    return ImportSummary(format_name, samples, groups.number(), notes, tally.kept(), tally.skipped(), tally.remarks())


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
        """Return how many groups there are so far."""
        import numpy as np

        self._digests = array("Q", np.unique(np.frombuffer(self._digests, dtype=np.uint64)).tobytes())
        return len(self._digests)


def recognise(path: AnyPath) -> tuple[str, ...]:
    """Return the names of the importers whose format a file looks like; it must be one that can be read again."""
    return _formats_of(read_opening(path))


def _formats_of(opening: Opening) -> tuple[str, ...]:
    names = []
    for name in IMPORTERS.names():
        looks_like = IMPORTERS[name].looks_like
        with plugin_errors(f"importer {name}", looks_like, IMPORTERS.source(name)):
            if looks_like(opening):
                names.append(name)
    return tuple(names)


def recognised(files: Sequence[AnyPath]) -> str:
    """Return the one importer for all of the files; where there is none, the error says what each looks like."""
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


def _look(path: str, formats: Sequence[str]) -> str:
    """What a file looks like: one of the formats, or samples."""
    if not formats:
        opening = read_opening(path)
        if problem := TextFile.foreign_start(opening.content):
            return problem
        if opening.has(*SAMPLE, "tool") or opening.has(*SAMPLE, "candidate_id"):
            return f"these are samples already; train on them: ltr train {shlex.quote(path)}"
    return f"looks like {_titles(formats) or 'no format that ltr knows'}"


def _titles(names: Sequence[str]) -> str:
    return " or ".join(IMPORTERS[name].title for name in names)


@ADVISERS.register(FOREIGN)
def foreign(path: AnyPath, line: bytes) -> str:
    """Return what a file that holds no samples looks like, and what to do with it; nothing where it is not known.

    `line` is its first one; nothing else is known of stdin.
    """
    is_stdin = str(path) == STDIN
    opening = _opening_of_line(line) if is_stdin else read_opening(path)
    formats = _formats_of(opening)
    file = shlex.quote(str(path))
    if not formats and Path(path).suffix in TABLES:
        columns = "--option query=COLUMN --option tool=COLUMN"
        return f"looks like a table; name its columns: ltr import csv {file} -o samples.jsonl {columns}"
    is_catalogue = isinstance(opening.document, dict) and set(opening.document) == {"tools"}
    is_tool = not formats and (opening.has("function") or opening.has("name", "description"))
    if (is_catalogue or is_tool) and _are_tools(opening.document):
        return "looks like a list of tools, which is named with --tools beside samples"
    if not formats:
        return ""
    commands = " or ".join(f"ltr import {name} {file} -o samples.jsonl" for name in formats)
    at_once = "" if is_stdin or len(formats) > 1 else f"; or, to train at once: ltr init --from {file}"
    return f"looks like {_titles(formats)}; run: {commands}{at_once}"


def _opening_of_line(line: bytes) -> Opening:
    try:
        return Opening(STDIN, line + b"\n", msgspec.json.decode(line))
    except FAILURES:
        return Opening(STDIN, line + b"\n")


def _are_tools(document: object) -> bool:
    """Whether a value can be read as tools."""
    try:
        return bool(list(listed_tools(document)))
    except FieldError:
        return False
