"""Samples files become columns: a row for each candidate, each text stored once; errors name file, line and field."""

import gc
from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import msgspec
import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.data.draws import Draws
from ltr.data.growing_columns import GroupColumns, RowColumns
from ltr.data.jsonlines import FAILURES, decode_error
from ltr.data.misspelt_keys import with_suggestion
from ltr.data.schema import NEEDED, Kind, Sample
from ltr.data.source_files import SourceFile
from ltr.errors import DataError, FieldError, SampleError
from ltr.files.reading import AnyPath, ContentDigest, read_lines, shown


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Samples:
    """Columns in file order. A code is an index into the table beside it, in order of first appearance."""

    kind: Kind
    files: tuple[SourceFile, ...]
    lines: IntArray  # (rows,) line number, counted through all files
    groups: IntArray  # (rows,) codes of the keys (trace_id, node_id)
    names: IntArray  # (rows,) codes of tool names or candidate ids
    name_texts: tuple[str, ...]
    labels: FloatArray  # (rows,) NaN where a line has none
    features: FloatArray | None  # (rows, n)
    descriptions: IntArray  # (rows,) for tools, else empty; so is its table
    description_texts: tuple[str, ...]
    types: IntArray  # (rows,) for graphs, else empty; so are trees and both tables
    type_texts: tuple[str, ...]
    trees: IntArray
    tree_texts: tuple[bytes, ...]  # JSON as it stands in the file
    draws: Draws | None  # (rows,); None where every row is of the log
    traces: IntArray  # (groups,) codes
    trace_ids: tuple[str, ...]
    nodes: IntArray  # (groups,) codes
    node_ids: tuple[str, ...]
    queries: IntArray  # (groups,) codes
    query_texts: tuple[str, ...]
    weights: FloatArray | None  # (groups,) 1 where a group has none; None where no group has one
    times: FloatArray | None  # (groups,) seconds since 1970, NaN where a group has none; None as above


def read_samples(paths: Iterable[AnyPath], *, labels_required: bool = True) -> Samples:
    """The samples of all files. Blank lines are skipped; no sample at all is an error."""
    files: list[SourceFile] = []
    groups, rows = GroupColumns(files), RowColumns(labels_required)
    collects_garbage = gc.isenabled()
    gc.disable()  # reading makes millions of short-lived objects without cycles: collecting costs time, frees nothing
    try:
        for path in paths:
            _read_file(path, files, groups, rows)
    finally:
        if collects_garbage:
            gc.enable()
    if rows.kind is None:
        names = ", ".join(source.path for source in files) or "no file"
        raise DataError(f"{names}: no samples; at least one line is needed")
    return as_samples(rows.kind, files, groups, rows)


def _read_file(path: AnyPath, files: list[SourceFile], groups: GroupColumns, rows: RowColumns) -> None:
    before, number, digest = sum(file.line_count for file in files), 0, ContentDigest()
    files.append(SourceFile(shown(path), before))
    decode, enter, add = msgspec.json.Decoder(Sample).decode, groups.enter, rows.add
    try:
        for number, line in read_lines(path, digest=digest):
            if not line or line.isspace():
                continue
            if not line.isascii():
                line.decode()  # the decoder skips unknown keys, bad bytes included
            sample = decode(line)
            group = enter(sample, before + number)
            if sample.candidates is None:
                add(sample, group, before + number)
            else:
                rows.add_all(sample, group, before + number)
    except FieldError as cause:
        raise SampleError(shown(path), number, *with_suggestion(cause, line).args) from cause
    except FAILURES as failure:
        misfit = with_suggestion(decode_error(line, failure, NEEDED), line)
        raise SampleError(shown(path), number, *misfit.args) from failure
    files[-1] = SourceFile(shown(path), before, number, digest.sha256, digest.byte_count)


def as_samples(kind: Kind, files: list[SourceFile], groups: GroupColumns, rows: RowColumns) -> Samples:
    """The columns of everything that was read."""
    return Samples(
        kind=kind,
        files=tuple(files),
        lines=_integers(rows.lines),
        groups=_integers(rows.groups),
        names=_integers(rows.names),
        name_texts=tuple(rows.tool_codes or rows.id_codes),
        labels=np.frombuffer(rows.labels),
        features=np.frombuffer(rows.features).reshape(len(rows.labels), -1) if rows.features else None,
        descriptions=_integers(rows.descriptions),
        description_texts=tuple(rows.description_codes),
        types=_integers(rows.types),
        type_texts=tuple(rows.type_codes),
        trees=_integers(rows.trees),
        tree_texts=tuple(rows.tree_codes),
        draws=Draws.of(rows.draw_rules, rows.draw_probabilities, len(rows.labels)) if rows.draw_rules else None,
        traces=_integers(groups.traces),
        trace_ids=tuple(groups.trace_codes),
        nodes=_integers(groups.nodes),
        node_ids=tuple(groups.node_codes),
        queries=_integers(groups.queries),
        query_texts=tuple(groups.query_codes),
        weights=_per_group(groups.weights, len(groups.traces), absent=1.0),
        times=_per_group(groups.times, len(groups.traces), absent=np.nan),
    )


def _integers(column: "array[int]") -> IntArray:
    return np.frombuffer(column, dtype=np.int64)  # the same memory, not a copy


def _per_group(values: Mapping[int, tuple[float, int]], groups: int, *, absent: float) -> FloatArray | None:
    if not values:
        return None
    column = np.full(groups, absent)
    column[list(values)] = [value for value, _ in values.values()]
    return column
