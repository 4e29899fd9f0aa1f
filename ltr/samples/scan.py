"""Samples in shards: groups of whole traces that are read one shard at a time, whatever the files hold together.

One scan reads every line and cuts the files into chunks of about equal size; they are the shards, unless a trace goes
on in another chunk: then the lines are regrouped in temporary files.
"""

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, islice, takewhile
from pathlib import Path
from typing import Protocol

import msgspec
import numpy as np

from ltr.arrays import IntArray
from ltr.catalogues import GraphCatalogue, ToolCatalogue, foreign_catalogue
from ltr.errors import DataError, SampleError, count
from ltr.files import ContentDigest, TextFile
from ltr.jsonl import sample_lines
from ltr.logs import LOG, stage
from ltr.paths import AnyPath, expand, shown
from ltr.samples.candidates import SourceFile
from ltr.samples.grouping import NOTHING_TWICE, Repetitions, first_contradictions, group_samples, merge_repetitions
from ltr.samples.groups import Groups, Shards
from ltr.samples.reader import Builder, Most, Samples, without_garbage_collection
from ltr.samples.schema import Id, Kind
from ltr.tables import Merging, Part, Table, digests, merged, places, table
from ltr.temporary import LineWriter, temporary_directory

SHARD_BYTES = 32 << 20  # of lines: while it is featurised, a shard takes ten times as much
PACKED = 8  # how many times its size a compressed file is likely to have
READING, CONTRADICTIONS = 0, 1  # in this order a file in memory is checked
LINES_AT_ONCE = 1 << 16  # whose traces are looked up together


class Piece(Protocol):
    """Lines that can be read again: of a file that is the user's own, or copied to a temporary one."""

    def lines(self) -> Iterator[tuple[int, bytes]]:
        """Yield number and content of each line."""
        ...

    def remove(self) -> None:
        """Give the space of a copy back."""
        ...


Pieces = tuple[Piece, ...]  # where the lines of a chunk, or of a shard, lie


@dataclass(frozen=True, slots=True, kw_only=True)
class SampleShards(Shards):
    """Groups of whole traces, a shard at a time: `shards[i]` reads one. It can be sent to other processes.

    The shards stand in the order of the first lines of their traces; the groups in each, of their own first lines.
    """

    kind: Kind
    files: tuple[SourceFile, ...]
    pieces: tuple[Pieces, ...]  # of each shard
    width: int | None  # of ready numbers, as the builder has it
    labels_required: bool
    candidates: int
    groups: int
    traces: int
    are_regrouped: bool  # lines of other shards lie between those of one
    notes: tuple[str, ...] = ()  # what was copied to temporary files, and why
    repeated: Repetitions = NOTHING_TWICE  # candidates that were merged
    tools: ToolCatalogue = field(default_factory=dict)
    graphs: GraphCatalogue = field(default_factory=dict)
    catalogues: tuple[SourceFile, ...] = ()

    def __len__(self) -> int:
        return len(self.pieces)

    def __getitem__(self, number: int) -> Groups:
        groups = self._read(lines_of_pieces(self.pieces[number]))
        return replace(groups, candidates=replace(groups.candidates, catalogues=self.catalogues))

    def sample(self, candidates: int) -> Groups:
        """About so many candidates, or all: the traces whose digests are lowest."""
        share = min(candidates / max(self.candidates, 1), 1.0)
        return self._read(lines_of_some_traces(self.pieces, share))

    def _read(self, lines: Iterable[tuple[int, bytes]]) -> Groups:
        samples = _read(lines, self.files, (self.kind, self.width), labels_required=self.labels_required)
        return group_samples(merge_repetitions(samples)[0], tools=self.tools, graphs=self.graphs)


@contextmanager
def sample_shards(
    samples: AnyPath | Iterable[AnyPath],
    *,
    rows: int | None = None,
    tools: ToolCatalogue | None = None,
    graphs: GraphCatalogue | None = None,
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


def are_large(files: Iterable[str]) -> bool:
    """Whether the files hold more than a shard, as far as their sizes tell; of stdin nothing is known."""
    sizes = [(name, Path(name).stat().st_size) for name in files if Path(name).is_file()]
    return sum(size * (PACKED if name.endswith((".gz", ".zst")) else 1) for name, size in sizes) > SHARD_BYTES


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

    def shards(self, paths: Sequence[str], tools: ToolCatalogue) -> SampleShards:
        """The shards of the files."""
        stop = self._scan(paths, tools)
        files, rows = self._cutter.files, self._cutter.builder.rows
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
            raise self._cutter.builder.nothing_read()
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

    def _scan(self, paths: Sequence[str], tools: ToolCatalogue) -> int | None:
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
        rows = self._cutter.builder.rows
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


class Cutter:
    """Reads files chunk by chunk. A chunk ends before a trace that is new to it, if one comes in time."""

    def __init__(self, folder: Path, most: Most, *, labels_required: bool) -> None:
        self.builder = Builder([], labels_required=labels_required)
        self.files = self.builder.files
        self.plain: dict[int, str] = {}  # by place in `files`: those that can be read from the middle
        self.copies = LineWriter(folder)  # the lines of the others
        self._most = most
        self._firsts: list[list[int]] = []  # of each file: the first lines of its pieces
        self._pieces: list[list[tuple[int, int] | int]] = [[]]  # of each chunk: file and piece, or part of the copies

    def chunks(self, paths: Iterable[str]) -> Iterator[Samples]:
        """The samples of each chunk; what is wrong with a line is raised."""
        for path in paths:
            for _ in self._cuts(path):
                yield from self.unfinished()
                self.builder.begin_again()
        self.copies.flush()
        yield from self.unfinished()

    def unfinished(self) -> Iterator[Samples]:
        """The samples of the last chunk so far, if there are any."""
        if self.builder.rows.kind and len(self.builder.groups.traces):
            yield self.builder.samples()

    def _cuts(self, path: str) -> Iterator[int]:
        """Add the lines of a file; the number of each line before which the chunk is full."""
        before, digest = sum(file.line_count for file in self.files), ContentDigest()
        place, is_plain = len(self.files), TextFile(path).can_be_cut()
        self.files.append(SourceFile(shown(path), before))
        self._firsts.append([])
        lines = iter(sample_lines(path, digest=digest))
        if is_plain:
            self.plain[place] = path
        else:
            lines = self._copied(lines, before)
        self._begin_piece(place, 1)
        number, rest = self.builder.add_lines(lines, before, file=path, most=self._most)
        while rest is not None:
            yield number
            self._pieces.append([])
            self._begin_piece(place, number)
            lines = chain([(number, rest)], lines)
            number, rest = self.builder.add_lines(lines, before, most=self._most)
        self.files[place] = SourceFile(shown(path), before, number, digest.sha256, digest.byte_count)
        LOG.info(f"read {shown(path)}: {count(number, 'line')}, {count(digest.byte_count, 'byte')}")

    def _begin_piece(self, place: int, line: int) -> None:
        if place in self.plain:
            self._pieces[-1].append((place, len(self._firsts[place])))
            self._firsts[place].append(line)
        else:
            self._pieces[-1].append(len(self._pieces) - 1)

    def _copied(self, lines: Iterable[tuple[int, bytes]], before: int) -> Iterator[tuple[int, bytes]]:
        """The lines; each is written once the next one is asked for: then it is known which chunk it belongs to."""
        for number, line in lines:
            yield number, line
            self.copies.write(len(self._pieces) - 1, before + number, line)

    def pieces(self) -> tuple[Pieces, ...]:
        """Where the lines of each chunk lie."""
        self.copies.flush()
        ranges = {
            place: TextFile(path).cut(self.files[place].before, self._firsts[place])
            for place, path in self.plain.items()
        }
        return tuple(
            tuple(
                self.copies.part(piece) if isinstance(piece, int) else ranges[piece[0]][piece[1]]
                for piece in dict.fromkeys(pieces)
            )
            for pieces in self._pieces
        )


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
    builder = Builder(list(files), labels_required=labels_required)
    builder.rows.kind, builder.rows.width = kind
    with without_garbage_collection():
        builder.add_lines(lines)
    return builder.samples()


def line_in_all(files: Sequence[SourceFile], error: SampleError) -> int:
    """The line that the error names, counted through all files."""
    path, line = error.args[:2]
    return int(line + next(file.before for file in files if file.path == path))


def temporary(byte_count: int) -> str:
    """How much was written to temporary files, and where."""
    return f"temporary files of {max(byte_count >> 20, 1):,} MB in {tempfile.gettempdir()}"


class Traced(msgspec.Struct):
    """The trace of a line."""

    trace_id: Id


def trace_table(samples: Samples) -> Table:
    """The traces, with their number of rows and their first line."""
    first_lines = np.full(len(samples.trace_ids), np.iinfo(np.int64).max)
    np.minimum.at(first_lines, samples.traces[samples.groups], samples.lines)
    rows = np.bincount(samples.traces[samples.groups], minlength=len(samples.trace_ids))
    return table(digests(samples.trace_ids), {"rows": rows}, facts={"first": first_lines})


def shard_of_traces(traces: Table, most_rows: int) -> IntArray:
    """The shard of each trace: traces in the order of their first lines, so many rows a shard.

    >>> traces = table(digests(["a", "b", "c"]), {"rows": np.array([2, 2, 2])}, facts={"first": np.array([1, 2, 3])})
    >>> sorted(shard_of_traces(traces, 3).tolist())
    [0, 0, 1]
    """
    order = np.argsort(traces.facts["first"], kind="stable")
    rows = traces.sums["rows"][order]
    shards = np.empty(len(order), dtype=np.int64)
    shards[order] = (np.cumsum(rows) - rows) // most_rows
    return np.unique(shards, return_inverse=True)[1]


def regroup(
    chunks: Sequence[Pieces], traces: Table, most_rows: int, writer: LineWriter, *, stop: int | None
) -> list[Pieces]:
    """The lines before `stop`, those of a trace in one part of the writer's folder; copies are removed on the way."""
    shards, decode = shard_of_traces(traces, most_rows), msgspec.json.Decoder(Traced).decode
    for chunk in chunks:
        for block in _blocks(_lines([chunk], stop)):
            keys = digests([str(decode(line).trace_id) for _, line in block])
            for shard, (number, line) in zip(shards[places(traces.keys, keys)].tolist(), block, strict=True):
                writer.write(shard, number, line)
        for piece in chunk:
            piece.remove()
    writer.flush()
    return [(writer.part(shard),) for shard in range(int(shards.max(initial=-1)) + 1)]


def lines_of_some_traces(shards: Sequence[Pieces], share: float) -> Iterator[tuple[int, bytes]]:
    """The lines of about that share of the traces: those whose digests are lowest, whatever the order of the lines."""
    decode, limit = msgspec.json.Decoder(Traced).decode, int(share * (1 << 64))
    for block in _blocks(_lines(shards, None)):
        keys = digests([str(decode(line).trace_id) for _, line in block]).view(">u8")
        for key, numbered in zip(keys.tolist(), block, strict=True):
            if key < limit:
                yield numbered


def _lines(chunks: Sequence[Pieces], stop: int | None) -> Iterator[tuple[int, bytes]]:
    """All lines that are not blank, in their order."""
    for piece in chain.from_iterable(chunks):
        lines = (numbered for numbered in piece.lines() if numbered[1] and not numbered[1].isspace())
        yield from lines if stop is None else takewhile(lambda numbered: numbered[0] < stop, lines)


def _blocks(lines: Iterable[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Lines, so many at a time."""
    lines = iter(lines)
    while block := list(islice(lines, LINES_AT_ONCE)):
        yield block
