"""Samples in shards: groups of whole traces that are read one shard at a time, whatever the files hold together.

One scan reads every line and cuts the files into chunks; they are the shards, unless a trace goes on in another chunk:
then the lines are regrouped in temporary files.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from ltr.data.catalogues.tools import foreign_catalogue
from ltr.data.contradictory_candidates import NOTHING_TWICE, Repetitions, first_contradictions, merge_repetitions
from ltr.data.groups import Groups, group_samples
from ltr.data.interleaved_traces import lines_of_some_traces, regroup, trace_table
from ltr.data.sample_chunks import Cutter, Pieces
from ltr.data.sample_column_builders import GroupColumns, RowColumns
from ltr.data.sample_reader import Most, Samples, add_lines, as_samples, nothing_read, without_garbage_collection
from ltr.data.schema import Kind
from ltr.data.source_files import SourceFile
from ltr.errors import DataError, SampleError, count
from ltr.files.mergeable_tables import Merging, Part, merged
from ltr.files.path_arguments import AnyPath, expand
from ltr.files.temporary_directory import temporary_directory
from ltr.files.temporary_lines import LineWriter
from ltr.logs import LOG, stage

if TYPE_CHECKING:
    from ltr.data.catalogues.graphs import GraphCatalogue
    from ltr.data.catalogues.tools import ToolCatalogue

SHARD_BYTES = 32 << 20  # of lines: while it is featurised, a shard takes ten times as much
PACKED = 8  # how many times its size a compressed file is likely to have
READING, CONTRADICTIONS = 0, 1  # in this order a file in memory is checked


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleShards:
    """Groups of whole traces, a shard at a time: `shards[i]` reads one. It can be sent to other processes.

    The shards stand in the order of the first lines of their traces; the groups in each, of their own first lines.
    """

    kind: Kind
    files: tuple[SourceFile, ...]
    pieces: tuple[Pieces, ...]  # of each shard
    width: int | None  # of ready numbers, as `RowColumns` has it
    labels_required: bool
    candidates: int
    groups: int
    traces: int
    are_regrouped: bool  # lines of other shards lie between those of one
    notes: tuple[str, ...] = ()  # what was copied to temporary files, and why
    repeated: Repetitions = NOTHING_TWICE  # candidates that were merged
    tools: "ToolCatalogue" = field(default_factory=dict)
    graphs: "GraphCatalogue" = field(default_factory=dict)
    catalogues: tuple[SourceFile, ...] = ()

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, number: int) -> Groups:
        lines, kind = lines_of_pieces(self.pieces[number]), (self.kind, self.width)
        samples = _read(lines, self.files, kind, labels_required=self.labels_required)
        groups = group_samples(merge_repetitions(samples)[0], tools=self.tools, graphs=self.graphs)
        return replace(groups, candidates=replace(groups.candidates, catalogues=self.catalogues))

    def sample(self, candidates: int) -> Groups:
        """About so many candidates, or all: the traces whose digests are lowest."""
        share = min(candidates / max(self.candidates, 1), 1.0)
        lines = lines_of_some_traces(self.pieces, share)
        samples = _read(lines, self.files, (self.kind, self.width), labels_required=self.labels_required)
        return group_samples(merge_repetitions(samples)[0], tools=self.tools, graphs=self.graphs)

    def __iter__(self) -> Iterator[Groups]:
        return (self[number] for number in range(len(self)))


@contextmanager
def sample_shards(
    samples: AnyPath | Iterable[AnyPath],
    *,
    rows: int | None = None,
    tools: "ToolCatalogue | None" = None,
    graphs: "GraphCatalogue | None" = None,
    catalogues: tuple[SourceFile, ...] = (),
    labels_required: bool = True,
) -> Iterator[SampleShards]:
    """The groups of samples in shards of about so many rows, or else of SHARD_BYTES; for the time of the block.

    What `read_groups` refuses is refused, with the same message. A trace lies in one shard.
    """
    with temporary_directory() as folder:
        most = Most(bytes=SHARD_BYTES) if rows is None else Most(rows=rows)
        with stage("scanning"):
            scan = _Scan(folder, most, labels_required=labels_required)
            shards = scan.shards(expand(samples), tools or {})
        yield replace(shards, tools=tools or {}, graphs=graphs or {}, catalogues=catalogues)


class _Scan:
    """One pass over all lines, and one more where traces are spread over the files."""

    def __init__(self, folder: Path, most: Most, *, labels_required: bool) -> None:
        self._folder, self._most, self._labels_required = folder, most, labels_required
        self._cutter = Cutter(folder / "copied", most, labels_required=labels_required)
        self._traces = Merging[Part](merged)
        self._candidates = self._groups = self._traces_of_chunks = 0
        self._repeated = NOTHING_TWICE
        self._names: dict[str, None] = {}
        self._problems: list[tuple[int, int, SampleError]] = []  # check, line in all files

    def shards(self, paths: Sequence[str], tools: "ToolCatalogue") -> SampleShards:
        """The shards of the files."""
        stop = self._scan(paths, tools)
        files, rows = self._cutter.files, self._cutter.rows
        pieces, notes = self._cutter.pieces(), list(self._copied())
        traces = (self._traces.total() or {}).get("traces")
        if traces is not None and self._traces_of_chunks > len(traces):
            most_rows = min(self._most.rows, self._most.bytes * self._candidates // max(self._byte_count(), 1))
            writer = LineWriter(self._folder / "regrouped")
            pieces = tuple(regroup(pieces, traces, max(most_rows, 1), writer, stop=stop))
            notes.append(
                f"{self._shown()}: traces are interleaved: their lines were regrouped in {temporary(writer.byte_count)}"
            )
            self._check(pieces)
        if self._problems:
            raise min(self._problems, key=lambda problem: problem[:2])[2]
        if rows.kind is None or traces is None:
            raise nothing_read(files, rows)
        if problem := foreign_catalogue(self._names, tools) if rows.kind == "tool" else "":
            raise DataError(f"{self._shown()}: {problem}")
        counts = {"candidate": self._candidates, "group": self._groups, "trace": len(traces)}
        listed = ", ".join(count(number, noun) for noun, number in counts.items())
        LOG.info(f"found {listed} in {count(len(pieces), 'shard')}")
        return SampleShards(
            kind=rows.kind,
            files=tuple(files),
            pieces=pieces,
            width=rows.width,
            labels_required=self._labels_required,
            candidates=self._candidates,
            groups=self._groups,
            traces=len(traces),
            are_regrouped=self._traces_of_chunks > len(traces),
            notes=tuple(notes),
            repeated=self._repeated,
        )

    def _scan(self, paths: Sequence[str], tools: "ToolCatalogue") -> int | None:
        """Take in every chunk; the first line that cannot be read, if there is one."""
        with without_garbage_collection():
            try:
                for samples in self._cutter.chunks(paths):
                    self._take(samples)
                    if tools:
                        self._names |= dict.fromkeys(samples.name_texts)
            except SampleError as error:
                for samples in self._cutter.unfinished():
                    self._take(samples)
                line = line_in_all(self._cutter.files, error)
                self._problems.append((READING, line, error))
                return line
        return None

    def _take(self, samples: Samples) -> None:
        """Count what a chunk holds, and note the first contradictions in it."""
        self._count(samples)
        traces = trace_table(samples)
        self._traces_of_chunks += len(traces)
        self._traces.add({"traces": traces})

    def _count(self, samples: Samples) -> None:
        samples, repeated = merge_repetitions(samples)
        self._repeated += repeated
        self._candidates += len(samples.labels)
        self._groups += len(samples.traces)
        for check, error in first_contradictions(samples):
            self._problems.append((CONTRADICTIONS + check, line_in_all(samples.files, error), error))

    def _check(self, shards: Sequence[Pieces]) -> None:
        """Count again, and look for contradictions, in shards: no chunk knows a trace whole."""
        self._candidates, self._groups, self._repeated = 0, 0, NOTHING_TWICE
        self._problems = [problem for problem in self._problems if problem[0] == READING]
        rows = self._cutter.rows
        for pieces in shards:
            kind = rows.kind or "tool"
            try:
                samples = _read(
                    lines_of_pieces(pieces),
                    self._cutter.files,
                    (kind, rows.width),
                    labels_required=self._labels_required,
                )
            except SampleError as error:
                self._problems.append((READING, line_in_all(self._cutter.files, error), error))
            else:
                self._count(samples)

    def _copied(self) -> Iterator[str]:
        """What is said about files that cannot be read from the middle."""
        names = [file.path for place, file in enumerate(self._cutter.files) if place not in self._cutter.plain]
        if names:
            yield f"{', '.join(names)}: copied to {temporary(self._cutter.copies.byte_count)}, to be read in shards"

    def _byte_count(self) -> int:
        return sum(file.byte_count for file in self._cutter.files)

    def _shown(self) -> str:
        return ", ".join(file.path for file in self._cutter.files)


def are_large(files: Iterable[str]) -> bool:
    """Whether the files hold more than a shard, as far as their sizes tell; of stdin nothing is known."""
    sizes = [(name, Path(name).stat().st_size) for name in files if Path(name).is_file()]
    return sum(size * (PACKED if name.endswith((".gz", ".zst")) else 1) for name, size in sizes) > SHARD_BYTES


def lines_of_pieces(pieces: Pieces) -> Iterator[tuple[int, bytes]]:
    """The lines of a shard, with their numbers."""
    return chain.from_iterable(piece.lines() for piece in pieces)


def _read(
    lines: Iterable[tuple[int, bytes]],
    files: Sequence[SourceFile],
    kind: tuple[Kind, int | None],
    *,
    labels_required: bool,
) -> Samples:
    """The samples of a shard; kind: that of the candidates, and how many ready numbers they have."""
    groups, rows = GroupColumns(files), RowColumns(labels_required)
    rows.kind, rows.width = kind
    with without_garbage_collection():
        add_lines(lines, 0, groups, rows)
    return as_samples(kind[0], list(files), groups, rows)


def line_in_all(files: Sequence[SourceFile], error: SampleError) -> int:
    """The line that the error names, counted through all files."""
    path, line = error.args[:2]
    return int(line + next(file.before for file in files if file.path == path))


def temporary(byte_count: int) -> str:
    """How much was written to temporary files, and where."""
    return f"temporary files of {max(byte_count >> 20, 1):,} MB in {tempfile.gettempdir()}"
