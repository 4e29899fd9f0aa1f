"""Lines of traces that are spread over files, brought together in temporary files."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice, takewhile

import msgspec
import numpy as np

from ltr.arrays import IntArray
from ltr.data.sample_chunks import Pieces
from ltr.data.sample_reader import Samples
from ltr.data.schema import Id
from ltr.files.mergeable_tables import Table, table
from ltr.files.table_keys import digests, places
from ltr.files.temporary_lines import LineWriter, StoredLines

LINES_AT_ONCE = 1 << 16  # whose traces are looked up together


class _Traced(msgspec.Struct):
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
    shards, decode = shard_of_traces(traces, most_rows), msgspec.json.Decoder(_Traced).decode
    for chunk in chunks:
        for block in _blocks(_lines([chunk], stop)):
            keys = digests([str(decode(line).trace_id) for _, line in block])
            for shard, (number, line) in zip(shards[places(traces.keys, keys)].tolist(), block, strict=True):
                writer.write(shard, number, line)
        for copy in chunk:
            if isinstance(copy, StoredLines):
                copy.remove()
    writer.flush()
    return [(StoredLines(writer.folder, shard),) for shard in range(int(shards.max(initial=-1)) + 1)]


def lines_of_some_traces(shards: Sequence[Pieces], share: float) -> Iterator[tuple[int, bytes]]:
    """The lines of about that share of the traces: those whose digests are lowest, whatever the order of the lines."""
    decode, limit = msgspec.json.Decoder(_Traced).decode, int(share * (1 << 64))
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
