"""Samples read to the end, whatever is wrong with them: every error is a finding, groups without one are kept."""

import json
import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from ltr.arrays import IntArray
from ltr.audit.findings import EXAMPLES, Finding, error_finding
from ltr.data.catalogues.graphs import GraphCatalogue, graph_key, own_graph
from ltr.data.catalogues.tools import ToolCatalogue
from ltr.data.contradictory_candidates import (
    NOTHING_TWICE,
    REPEATED,
    Repetitions,
    merge_repetitions,
    none_errors,
    none_without_label,
    repeated_rows,
    repetition_error,
)
from ltr.data.groups import Groups, group_samples
from ltr.data.json_decode_errors import FAILURES, decode_error
from ltr.data.json_stream import sample_lines
from ltr.data.misspelt_keys import misspelt_keys, with_suggestion
from ltr.data.sample_column_builders import GroupColumns, RowColumns
from ltr.data.sample_reader import Samples, as_samples, nothing_read, refuse_other_format
from ltr.data.schema import NEEDED, Id, Sample
from ltr.data.source_files import SourceFile
from ltr.data.value_excerpts import key_text
from ltr.errors import DataError, FieldError, FileError, SampleError, count
from ltr.files.content_digests import ContentDigest
from ltr.files.path_arguments import AnyPath, expand, shown
from ltr.logs import LOG, stage
from ltr.storage.columns_file import load_columns
from ltr.storage.featurized_jsonl import with_feature_names

MOST_ERRORS = 100  # findings; more kinds of errors are counted in one
VALUE, NUMBER = re.compile(r"found .*?; |\S*:[0-9]+ has (?!it for).*? for "), re.compile(r"[0-9]+")  # what differs
KEYS = re.compile(
    rb'"(trace_id|node_id|query|context|previous|tool|tool_description|candidate_id|candidate_type|tree|none|label|'
    rb'features|drawn|draw_probability|weight|time)"\s*:'
)


class _Key(msgspec.Struct):
    """The fields of a line that name its group, whatever is wrong with the other fields."""

    trace_id: Id
    node_id: Id


_SAMPLE, _KEY = msgspec.json.Decoder(Sample), msgspec.json.Decoder(_Key)


@dataclass(slots=True)
class Places:
    """How often something stands in files, and where first."""

    count: int = 0
    first: tuple[str, ...] = ()

    def add(self, place: str) -> None:
        """It stands there, too."""
        self.count += 1
        self.first = (*self.first, place)[:EXAMPLES]

    def finding(self, code: str, message: str) -> Finding:
        """The warning of it."""
        return Finding(severity="warning", code=code, message=message, where=self.first, count=self.count)


@dataclass(slots=True)
class AlikeErrors:
    """The first error of each kind, how many are like it, and the first places.

    Errors are alike where only the values, places and numbers that they name differ.
    """

    by_kind: dict[str, Finding] = field(default_factory=dict)
    others: int = 0

    def add(self, errors: Iterable[DataError]) -> None:
        """Count more errors."""
        for error in errors:
            finding = error_finding(error)
            kind = NUMBER.sub("0", VALUE.sub("", finding.message))
            alike = self.by_kind.get(kind)
            if alike is None and len(self.by_kind) == MOST_ERRORS:
                self.others += 1
            elif alike is None:
                self.by_kind[kind] = finding
            else:
                where = (*alike.where, *finding.where)[:EXAMPLES]
                self.by_kind[kind] = replace(alike, where=where, count=alike.count + 1)

    def findings(self) -> Iterator[Finding]:
        """A finding for each kind, and one for those beyond MOST_ERRORS kinds."""
        yield from self.by_kind.values()
        if self.others:
            message = "more errors like these"
            yield Finding(severity="error", code="data-error", message=message, count=self.others)


@dataclass(slots=True)
class LenientReader:
    """Columns that grow line by line, the errors, and the groups that are incomplete because of them."""

    files: list[SourceFile] = field(default_factory=list)
    errors: list[DataError] = field(default_factory=list)
    damaged: set[tuple[str, str]] = field(default_factory=set)
    repeated_keys: dict[str, Places] = field(default_factory=dict)
    misspelt: dict[tuple[str, str], Places] = field(default_factory=dict)  # of (key, key meant)
    alike: AlikeErrors = field(default_factory=AlikeErrors)  # those of rows that are forgotten
    has_labels: bool = False  # whether one of those rows has a label
    groups: GroupColumns = field(init=False)
    rows: RowColumns = field(init=False)

    def __post_init__(self) -> None:
        self.groups, self.rows = GroupColumns(self.files), RowColumns(labels_required=False)

    def read(self, path: AnyPath, *, at_once: int = sys.maxsize) -> None:
        """Add every line of the file that can be used; forget the rows whenever there are so many."""
        before, number, digest = sum(file.line_count for file in self.files), 0, ContentDigest()
        errors_before, is_first = len(self.errors), True
        self.files.append(SourceFile(shown(path), before))
        try:
            for number, line in sample_lines(path, digest=digest):
                if line and not line.isspace():
                    self._add(line, before, number)
                    if is_first and len(self.errors) > errors_before:
                        refuse_other_format(path, line)
                    is_first = False
                    if len(self.rows.lines) >= at_once:
                        self.forget()
        except DataError as error:  # the rest of the file cannot be read
            if isinstance(error, FileError) and is_first and len(self.errors) > errors_before:
                self.errors.pop()  # what the file looks like says more than what its first line lacks
            self.errors.append(error)
        self.files[-1] = SourceFile(shown(path), before, number, digest.sha256, digest.byte_count)
        LOG.info(f"read {shown(path)}: {count(number, 'line')}, {count(digest.byte_count, 'byte')}")

    def forget(self) -> None:
        """Drop the rows, and what is wrong with them but for its kind, its number and the first places."""
        for samples in self.samples():
            self.errors += (error for error, _ in none_without_label(samples))
            self.has_labels |= not bool(np.isnan(samples.labels).all())
        self.alike.add(self.errors)
        self.errors.clear()
        self.damaged.clear()
        earlier, self.rows = self.rows, RowColumns(labels_required=False)
        self.groups = GroupColumns(self.files)
        self.rows.kind, self.rows.width = earlier.kind, earlier.width

    def samples(self) -> Iterator[Samples]:
        """The columns, if there are rows."""
        if self.rows.kind is not None and len(self.groups.traces):
            yield as_samples(self.rows.kind, self.files, self.groups, self.rows)

    def _add(self, line: bytes, before: int, number: int) -> None:
        path = self.files[-1].path
        try:
            line.decode()
            sample = _SAMPLE.decode(line)
            group = self.groups.enter(sample, before + number)
            add = self.rows.add if sample.candidates is None else self.rows.add_all
            add(sample, group, before + number)
        except FieldError as cause:
            self._refuse(line, SampleError(path, number, *with_suggestion(cause, line).args))
        except FAILURES as failure:
            misfit = with_suggestion(decode_error(line, failure, NEEDED), line)
            self._refuse(line, SampleError(path, number, *misfit.args))
        else:
            for pair in misspelt_keys(line).items():
                self.misspelt.setdefault(pair, Places()).add(f"{path}:{number}")
            for key in repeated_keys(line):
                self.repeated_keys.setdefault(key, Places()).add(f"{path}:{number}")

    def _refuse(self, line: bytes, error: SampleError) -> None:
        self.errors.append(error)
        self.groups.key = None  # the group that was entered may be another than that of the line before
        with suppress(*FAILURES):
            key = _KEY.decode(line)
            self.damaged.add((str(key.trace_id), str(key.node_id)))


def repeated_keys(line: bytes) -> list[str]:
    """The keys that an object of the line has twice. The last one counts, which its writer may not know.

    >>> repeated_keys(b'{"label": 0, "tool": "a", "label": 1}')
    ['label']
    """
    candidates = KEYS.findall(line)
    if len(candidates) == len(set(candidates)):
        return []
    repeated: dict[str, None] = {}

    def collect(pairs: list[tuple[str, object]]) -> None:
        names = [name for name, _ in pairs]
        repeated.update(dict.fromkeys(name for name in names if names.count(name) > 1))

    try:
        json.loads(line, object_pairs_hook=collect)
    except (ValueError, RecursionError):
        return []
    return list(repeated)


@stage("reading")
def read_leniently(
    paths: AnyPath | Iterable[AnyPath], *, tools: ToolCatalogue, graphs: GraphCatalogue
) -> tuple[Groups | None, list[Finding]]:
    """The groups without an error, None where there is none; and a finding for each error."""
    files = expand(paths)
    if len(files) == 1 and files[0].endswith(".npz"):
        return load_columns(files[0])[0], []
    reader = LenientReader()
    for path in files:
        reader.read(path)
    kind, groups, repeated = reader.rows.kind, None, NOTHING_TWICE
    if kind is None and not reader.errors:
        reader.errors.append(nothing_read(reader.files, reader.rows))
    if kind is not None:
        samples, repeated = merge_repetitions(as_samples(kind, reader.files, reader.groups, reader.rows))
        keys = zip(samples.traces.tolist(), samples.nodes.tolist(), strict=True)
        is_damaged = [(samples.trace_ids[trace], samples.node_ids[node]) in reader.damaged for trace, node in keys]
        damaged = set(np.flatnonzero(is_damaged).tolist())
        for error, rows in sample_errors(samples, graphs):
            reader.errors.append(error)
            damaged.update(samples.groups[rows].tolist())
        for error, group in (*none_errors(samples), *none_without_label(samples)):
            if group not in damaged:  # else what stands beside it is an error already
                reader.errors.append(error)
            damaged.add(group)
        usable = samples.of_groups(np.setdiff1d(samples.groups, [*damaged])) if damaged else samples
        if len(usable.groups):
            groups = with_feature_names(group_samples(usable, tools=tools, graphs=graphs), files)
    reader.alike.add(reader.errors)
    return groups, [*reader.alike.findings(), *repetition_findings(repeated), *key_findings(reader)]


@stage("reading")
def line_findings(paths: Iterable[str], at_once: int) -> tuple[list[Finding], bool]:
    """A finding for each error of a line, without any other line in memory than the last; whether a row has a label."""
    reader = LenientReader()
    for path in paths:
        reader.read(path, at_once=at_once)
    if reader.rows.kind is None and not reader.errors:
        reader.errors.append(nothing_read(reader.files, reader.rows))
    reader.forget()
    return [*reader.alike.findings(), *key_findings(reader)], reader.has_labels


def repetition_findings(repeated: Repetitions) -> Iterator[Finding]:
    """Candidates that were merged, where there are any."""
    if repeated.number:
        message = str(repeated).removeprefix(f"{REPEATED}: ")
        yield Finding(severity="warning", code=REPEATED, message=message, count=repeated.number)


def key_findings(reader: LenientReader) -> Iterator[Finding]:
    """Keys that stand twice, and keys that are nearly those of samples."""
    for key, places in reader.repeated_keys.items():
        message = f"{key} stands twice in one object; only the last counts"
        yield places.finding("repeated-key", message)
    for (key, meant), places in reader.misspelt.items():
        yield places.finding("misspelt-key", f"{key_text(key)}: unknown key, which is ignored; is {meant} meant?")


def sample_errors(samples: Samples, catalogue: GraphCatalogue) -> Iterator[tuple[SampleError, IntArray]]:
    """Names that their group has already, and trees that are no graph; each error with its rows.

    A tree that several rows share is one error; a tree that the catalogue replaces is none.
    """
    again, before = repeated_rows(samples)
    for row, first in sorted(zip(again.tolist(), before.tolist(), strict=True)):
        yield repetition_error(samples, row, first), np.array([row])
    own = np.arange(len(samples.trees))
    if catalogue:
        own = np.array([row for row in own.tolist() if graph_key(samples, row) not in catalogue], dtype=np.int64)
    codes, first_rows = np.unique(samples.trees[own], return_index=True)
    for code, row in zip(codes.tolist(), own[first_rows].tolist(), strict=True):
        try:
            own_graph(samples, row)
        except SampleError as error:
            yield error, own[samples.trees[own] == code]
