"""Samples read to the end, whatever is wrong with them: every error is kept, and the groups without one."""

import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field

import msgspec
import numpy as np

from ltr.arrays import IntArray
from ltr.catalogues import GraphCatalogue, ToolCatalogue
from ltr.errors import DataError, FieldError, FileError, SampleError, count
from ltr.files import ContentDigest
from ltr.jsonl import FAILURES, key_text, sample_lines
from ltr.logs import LOG
from ltr.paths import AnyPath, shown
from ltr.samples.candidates import SourceFile
from ltr.samples.grouping import (
    NOTHING_TWICE,
    Repetitions,
    graph_key,
    group_samples,
    merge_repetitions,
    none_errors,
    none_without_label,
    own_graph,
    repeated_rows,
    repetition_error,
)
from ltr.samples.groups import Groups
from ltr.samples.reader import Builder, Samples, line_error, refuse_other_format
from ltr.samples.schema import Id, Sample, misspelt_keys

KEYS = re.compile(
    rb'"(trace_id|node_id|query|context|previous|tool|tool_description|candidate_id|candidate_type|tree|none|label|'
    rb'features|drawn|draw_probability|weight|time)"\s*:'
)
Warn = Callable[[str, tuple[str, ...], str, str], object]  # of code, key among those of the code, message, file:line


class _Key(msgspec.Struct):
    """The fields of a line that name its group, whatever is wrong with the other fields."""

    trace_id: Id
    node_id: Id


_SAMPLE, _KEY = msgspec.json.Decoder(Sample), msgspec.json.Decoder(_Key)


@dataclass(slots=True)
class LenientReader:
    """Columns that grow line by line, the errors, and the groups that are incomplete because of them."""

    warn: Warn
    take: Callable[[list[DataError]], object]  # the errors so far, which are forgotten then
    errors: list[DataError] = field(default_factory=list)
    damaged: set[tuple[str, str]] = field(default_factory=set)
    has_labels: bool = False  # whether a row that was forgotten has a label
    builder: Builder = field(default_factory=lambda: Builder([], labels_required=False))

    def read(self, paths: Iterable[AnyPath], *, at_once: int = sys.maxsize) -> None:
        """Add every line of the files that can be used; forget the rows whenever there are so many."""
        for path in paths:
            self._read_file(path, at_once)
        if self.builder.rows.kind is None and not self.errors:
            self.errors.append(self.builder.nothing_read())

    def _read_file(self, path: AnyPath, at_once: int) -> None:
        files, digest = self.builder.files, ContentDigest()
        before, number = sum(file.line_count for file in files), 0
        errors_before, is_first = len(self.errors), True
        files.append(SourceFile(shown(path), before))
        try:
            for number, line in sample_lines(path, digest=digest):
                if line and not line.isspace():
                    self._add(line, before, number)
                    if is_first and len(self.errors) > errors_before:
                        refuse_other_format(path, line)
                    is_first = False
                    if len(self.builder.rows.lines) >= at_once:
                        self.forget()
        except DataError as error:  # the rest of the file cannot be read
            if isinstance(error, FileError) and is_first and len(self.errors) > errors_before:
                self.errors.pop()  # what the file looks like says more than what its first line lacks
            self.errors.append(error)
        files[-1] = SourceFile(shown(path), before, number, digest.sha256, digest.byte_count)
        LOG.info(f"read {shown(path)}: {count(number, 'line')}, {count(digest.byte_count, 'byte')}")

    def forget(self) -> None:
        """Hand the errors over, and drop the rows."""
        if self.builder.rows.kind is not None and len(self.builder.groups.traces):
            samples = self.builder.samples()
            self.errors += (error for error, _ in none_without_label(samples))
            self.has_labels |= not bool(np.isnan(samples.labels).all())
        self.take(self.errors)
        self.errors.clear()
        self.damaged.clear()
        self.builder.begin_again()

    def _add(self, line: bytes, before: int, number: int) -> None:
        path = self.builder.files[-1].path
        try:
            line.decode()
            self.builder.add(_SAMPLE.decode(line), before + number)
        except (FieldError, *FAILURES) as failure:
            self.errors.append(SampleError(path, number, *line_error(failure, line).args))
            self.builder.groups.key = None  # the group that was entered may be another than that of the line before
            with suppress(*FAILURES):
                named = _KEY.decode(line)
                self.damaged.add((str(named.trace_id), str(named.node_id)))
            return
        where = f"{path}:{number}"
        for key, meant in misspelt_keys(line).items():
            said = f"{key_text(key)}: unknown key, which is ignored; is {meant} meant?"
            self.warn("misspelt-key", (key, meant), said, where)
        for key in repeated_keys(line):
            self.warn("repeated-key", (key,), f"{key} stands twice in one object; only the last counts", where)

    def groups(self, *, tools: ToolCatalogue, graphs: GraphCatalogue) -> tuple[Groups | None, Repetitions]:
        """Return the groups without an error, None where there is none, and the candidates that were merged."""
        if self.builder.rows.kind is None:
            return None, NOTHING_TWICE
        samples, repeated = merge_repetitions(self.builder.samples())
        keys = zip(samples.traces.tolist(), samples.nodes.tolist(), strict=True)
        is_damaged = [(samples.trace_ids[trace], samples.node_ids[node]) in self.damaged for trace, node in keys]
        damaged = set(np.flatnonzero(is_damaged).tolist())
        for error, rows in sample_errors(samples, graphs):
            self.errors.append(error)
            damaged.update(samples.groups[rows].tolist())
        for error, group in (*none_errors(samples), *none_without_label(samples)):
            if group not in damaged:  # else what stands beside it is an error already
                self.errors.append(error)
            damaged.add(group)
        usable = samples.of_groups(np.setdiff1d(samples.groups, [*damaged])) if damaged else samples
        return (group_samples(usable, tools=tools, graphs=graphs) if len(usable.groups) else None), repeated


def repeated_keys(line: bytes) -> list[str]:
    """Return the keys that an object of the line has twice. The last one counts, which its writer may not know.

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


def sample_errors(samples: Samples, catalogue: GraphCatalogue) -> Iterator[tuple[SampleError, IntArray]]:
    """Yield names that their group has already, and trees that are no graph; each error with its rows.

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
