"""Samples read to the end, whatever is wrong with them: every refusal is a finding, the rest is judged."""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

import msgspec
import numpy as np

from ltr.arrays import IntArray
from ltr.artifacts import load_columns, load_features, sidecar
from ltr.catalogues import GraphCatalogue, ToolCatalogue, key_of, own_graph
from ltr.columns import GroupColumns, RowColumns, SourceFile
from ltr.errors import DataError, FieldError, FileError, SampleError
from ltr.files import AnyPath, Fingerprint, expand, read_lines, shown
from ltr.groups import Groups, group_samples, repeated, repeats
from ltr.jsonlines import FAILURES, explained
from ltr.samples import Samples, as_samples
from ltr.schema import NEEDED, Id, Sample
from ltr.telling import tell, timed
from ltr.validate.findings import EXAMPLES, Finding

MOST_ERRORS = 100  # that are told one by one
KEYS = re.compile(
    rb'"(trace_id|node_id|query|tool|tool_description|candidate_id|candidate_type|tree|label|features|weight|time)"\s*:'
)


class _Key(msgspec.Struct):
    """What a line must say for its group to be known, whatever is wrong with the rest."""

    trace_id: Id
    node_id: Id


@dataclass(slots=True)
class Reader:
    """Columns that grow line by line, what was refused, and the groups that are incomplete because of it."""

    files: list[SourceFile] = field(default_factory=list)
    errors: list[DataError] = field(default_factory=list)
    damaged: set[tuple[str, str]] = field(default_factory=set)
    repeated_keys: dict[str, list[str]] = field(default_factory=dict)
    groups: GroupColumns = field(init=False)
    rows: RowColumns = field(init=False)

    def __post_init__(self) -> None:
        self.groups, self.rows = GroupColumns(self.files), RowColumns(labels_required=False)

    def read(self, path: AnyPath) -> None:
        """Every line of the file that can be used."""
        before, number, fingerprint = sum(file.line_count for file in self.files), 0, Fingerprint()
        self.files.append(SourceFile(shown(path), before))
        try:
            for number, line in read_lines(path, fingerprint=fingerprint):
                if line and not line.isspace():
                    self._take(line, before, number)
        except DataError as error:  # the rest of the file cannot be read
            self.errors.append(error)
        self.files[-1] = SourceFile(shown(path), before, number, fingerprint.sha256, fingerprint.byte_count)
        tell(f"read {shown(path)}: {number:,} lines, {fingerprint.byte_count:,} bytes")

    def _take(self, line: bytes, before: int, number: int) -> None:
        path = self.files[-1].path
        try:
            line.decode()
            self._add(_SAMPLE.decode(line), before + number)
        except FieldError as cause:
            self._refuse(line, SampleError(path, number, *cause.args))
        except FAILURES as failure:
            self._refuse(line, SampleError(path, number, *explained(line, failure, NEEDED).args))
        else:
            for key in repeated_keys(line):
                self.repeated_keys.setdefault(key, []).append(f"{path}:{number}")

    def _add(self, sample: Sample, line: int) -> None:
        group = self.groups.enter(sample, line)
        if sample.candidates is None:
            self.rows.add(sample, group, line)
        else:
            self.rows.add_all(sample, group, line)

    def _refuse(self, line: bytes, error: SampleError) -> None:
        self.errors.append(error)
        self.groups.key = None  # what was entered may be another group than that of the line before
        try:
            key = _KEY.decode(line)
        except FAILURES:
            return
        self.damaged.add((str(key.trace_id), str(key.node_id)))


_SAMPLE, _KEY = msgspec.json.Decoder(Sample), msgspec.json.Decoder(_Key)


def repeated_keys(line: bytes) -> list[str]:
    """The keys that an object of the line has twice; the last of them counts, which its writer may not know.

    >>> repeated_keys(b'{"label": 0, "tool": "a", "label": 1}')
    ['label']
    """
    found = KEYS.findall(line)
    if len(found) == len(set(found)):
        return []
    twice: dict[str, None] = {}

    def see(pairs: list[tuple[str, object]]) -> None:
        names = [name for name, _ in pairs]
        twice.update(dict.fromkeys(name for name in names if names.count(name) > 1))

    try:
        json.loads(line, object_pairs_hook=see)
    except (ValueError, RecursionError):
        return []
    return list(twice)


@timed("reading")
def read_all(
    paths: AnyPath | Iterable[AnyPath], *, tools: ToolCatalogue, graphs: GraphCatalogue
) -> tuple[Groups | None, list[Finding]]:
    """The groups in which nothing was refused, None without any, and everything that was."""
    files = expand(paths)
    if len(files) == 1 and files[0].endswith(".npz"):
        return load_columns(files[0])[0], []
    reader = Reader()
    for path in files:
        reader.read(path)
    findings = [_repeated_key(key, where) for key, where in reader.repeated_keys.items()]
    if reader.rows.kind is None:
        if not reader.errors:
            reader.errors.append(DataError(f"{', '.join(files)}: no samples; at least one line is needed"))
        return None, [*_told(reader.errors), *findings]
    samples = as_samples(reader.rows.kind, reader.files, reader.groups, reader.rows)
    damaged = _codes_of(samples, reader.damaged)
    for error, rows in (*_duplicates(samples), *_bad_trees(samples, graphs)):
        reader.errors.append(error)
        damaged.update(samples.groups[rows].tolist())
    whole = _without(samples, np.array(sorted(damaged), dtype=np.int64))
    groups = _named(group_samples(whole, tools=tools, graphs=graphs), files) if len(whole.groups) else None
    return groups, [*_told(reader.errors), *findings]


def _told(errors: list[DataError]) -> list[Finding]:
    """A finding for each error; when there are very many, one for the rest."""
    findings = [told(error) for error in errors[:MOST_ERRORS]]
    if len(errors) > MOST_ERRORS:
        unseen = len(errors) - MOST_ERRORS
        message = "more errors like these"
        findings.append(Finding(severity="error", code="data-error", message=message, count=unseen))
    return findings


def told(error: DataError) -> Finding:
    """The error as a finding."""
    if isinstance(error, FileError):
        path, problem = error.args
        return Finding(severity="error", code="data-error", message=problem, where=(path,))
    if not isinstance(error, SampleError):
        return Finding(severity="error", code="data-error", message=str(error))
    path, line, name, problem = error.args
    message = f"{name}: {problem}" if name else problem
    return Finding(severity="error", code="data-error", message=message, where=(f"{path}:{line}",))


def _repeated_key(key: str, where: list[str]) -> Finding:
    message = f"{key} stands twice in one object; only the last counts"
    return Finding(
        severity="warning", code="repeated-key", message=message, where=tuple(where[:EXAMPLES]), count=len(where)
    )


def _codes_of(samples: Samples, keys: set[tuple[str, str]]) -> set[int]:
    """The codes of the groups with these keys."""
    if not keys:
        return set()
    pairs = enumerate(zip(samples.traces.tolist(), samples.nodes.tolist(), strict=True))
    return {code for code, (trace, node) in pairs if (samples.trace_ids[trace], samples.node_ids[node]) in keys}


def _duplicates(samples: Samples) -> Iterator[tuple[SampleError, IntArray]]:
    again, before = repeats(samples)
    for row, first in sorted(zip(again.tolist(), before.tolist(), strict=True)):
        yield repeated(samples, row, first), np.array([row])


def _bad_trees(samples: Samples, catalogue: GraphCatalogue) -> Iterator[tuple[SampleError, IntArray]]:
    """Trees that are no graphs and that no catalogue replaces, each told once, and the rows that bear them."""
    own = np.arange(len(samples.trees))
    if catalogue:
        own = np.array([row for row in own.tolist() if key_of(samples, row) not in catalogue], dtype=np.int64)
    codes, first = np.unique(samples.trees[own], return_index=True)
    for code, row in zip(codes.tolist(), own[first].tolist(), strict=True):
        try:
            own_graph(samples, row)
        except SampleError as error:
            yield error, own[samples.trees[own] == code]


def _without(samples: Samples, damaged: IntArray) -> Samples:
    """The samples without the groups."""
    if not damaged.size:
        return samples
    kept = np.setdiff1d(np.unique(samples.groups), damaged)
    rows = np.isin(samples.groups, kept)
    by_row = ("lines", "names", "labels", "features", "descriptions", "types", "trees")
    by_group = ("traces", "nodes", "queries", "weights", "times")
    columns = {name: getattr(samples, name) for name in (*by_row, *by_group)}
    cut = {
        name: column if column is None or not column.size else column[rows if name in by_row else kept]
        for name, column in columns.items()
    }
    return replace(samples, groups=np.searchsorted(kept, samples.groups[rows]), **cut)


def _named(groups: Groups, files: list[str]) -> Groups:
    """Ready numbers with the names that the state beside their file gives them."""
    ready = groups.candidates
    if ready.features is None or len(files) > 1 or not sidecar(files[0]).exists():
        return groups
    names = load_features(sidecar(files[0])).features.names
    if len(names) != ready.features.shape[1]:
        raise DataError(f"{sidecar(files[0])}: its {len(names)} features do not fit {files[0]}")
    return replace(groups, candidates=replace(ready, feature_names=names))
