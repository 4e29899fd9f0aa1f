"""Samples files become columns: a row for each candidate, each text stored once; errors name file, line and field."""

import gc
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec
import numpy as np

from ltr.arrays import Array, FloatArray, IntArray
from ltr.data.candidates import CONTEXTS, PREVIOUS, TYPES
from ltr.data.columns import Coded, Column, Texts, at
from ltr.data.draw_rules_and_probabilities import LOGGED, PROBABILITIES, RULES
from ltr.data.integer_codes import Codes
from ltr.data.json_decode_errors import FAILURES, decode_error
from ltr.data.json_stream import sample_lines
from ltr.data.misspelt_keys import with_suggestion
from ltr.data.none_candidates import NoneCandidates
from ltr.data.sample_column_builders import GroupColumns, RowColumns
from ltr.data.schema import NEEDED, Kind, Sample
from ltr.data.source_files import SourceFile, place
from ltr.errors import DataError, FieldError, FileError, SampleError
from ltr.files.content_digests import ContentDigest
from ltr.files.path_arguments import AnyPath, shown

if TYPE_CHECKING:
    from ltr.data.data_frame_rows import TableRows

Value = TypeVar("Value")

NONE_ALONE = "stands alone; what was offered is needed beside it"


@dataclass(frozen=True, slots=True)
class Most:
    """How much is read at once."""

    rows: int = sys.maxsize
    bytes: int = sys.maxsize


EVERYTHING = Most()
DESCRIPTIONS = Coded("rows", "description_texts", of_one_kind=True)
TREES = Coded("rows", "tree_texts", of_one_kind=True)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Samples:
    """Columns in file order. A code is an index into the table beside it, in order of first appearance."""

    kind: Kind
    files: tuple[SourceFile, ...]
    lines: IntArray = field(metadata={"column": Column("rows")})  # counted through all files
    groups: IntArray = field(metadata={"column": Column("rows")})  # codes of the keys (trace_id, node_id)
    names: IntArray = field(metadata={"column": Coded("rows", "name_texts")})  # of tools, or candidate ids
    name_texts: tuple[str, ...]
    labels: FloatArray = field(metadata={"column": Column("rows")})  # NaN where a line has none
    features: FloatArray | None = field(metadata={"column": Column("rows")})  # (rows, n)
    descriptions: IntArray = field(metadata={"column": DESCRIPTIONS})
    description_texts: tuple[str, ...]
    types: IntArray = field(metadata={"column": TYPES})
    type_texts: tuple[str, ...]
    trees: IntArray = field(metadata={"column": TREES})
    tree_texts: tuple[bytes, ...]  # JSON as it stands in the file
    draw_rules: IntArray | None = field(metadata={"column": RULES})  # None where every row is of the log
    draw_probabilities: FloatArray | None = field(metadata={"column": PROBABILITIES})  # None as above
    traces: IntArray = field(metadata={"column": Coded("groups", "trace_ids")})
    trace_ids: tuple[str, ...]
    nodes: IntArray = field(metadata={"column": Coded("groups", "node_ids")})
    node_ids: tuple[str, ...]
    queries: IntArray = field(metadata={"column": Coded("groups", "query_texts")})
    query_texts: tuple[str, ...]
    contexts: IntArray | None = field(metadata={"column": CONTEXTS})  # None where no group has one
    context_texts: tuple[str, ...]
    previous: IntArray | None = field(metadata={"column": PREVIOUS})  # None as above
    previous_lists: tuple[tuple[str, ...], ...]
    none: NoneCandidates | None  # None where there is none
    weights: FloatArray | None = field(metadata={"column": Column("groups")})  # None where no group has one
    times: FloatArray | None = field(metadata={"column": Column("groups")})  # None as above
    outcomes: tuple[str, ...] | None = field(metadata={"column": Texts("groups")})  # None: no group is an outcome

    def at(self, rows: IntArray) -> Self:
        """Return these rows, of the same groups."""
        return replace(self, **at(Samples, self, {"rows": rows}))

    def of_groups(self, groups: IntArray) -> Self:
        """Return the groups with these codes, in rising order, which become 0, 1 and so on."""
        rows = np.flatnonzero(np.isin(self.groups, groups))
        of_groups = at(Samples, self, {"groups": groups, "rows": rows})
        of_groups["groups"] = np.searchsorted(groups, of_groups["groups"])
        none = None if self.none is None else self.none.of_groups(groups)
        return replace(self, **of_groups, none=none)


def read_samples(sources: "Iterable[AnyPath | TableRows]", *, labels_required: bool = True) -> Samples:
    """The samples of all files, or of rows. Blank lines are skipped; no sample at all is an error."""
    files: list[SourceFile] = []
    groups, rows = GroupColumns(files), RowColumns(labels_required)
    with without_garbage_collection():
        for source in sources:
            _read_source(source, files, groups, rows)
    if rows.kind is None:
        raise nothing_read(files, rows)
    return as_samples(rows.kind, files, groups, rows)


@contextmanager
def without_garbage_collection() -> Iterator[None]:
    """Reading makes millions of short-lived objects without cycles: collecting costs time, frees nothing."""
    collects_garbage = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects_garbage:
            gc.enable()


def nothing_read(files: list[SourceFile], rows: RowColumns) -> DataError:
    """The error for files without a candidate that is a tool or a graph."""
    if rows.none_lines:
        return SampleError(*place(files, rows.none_lines[0]), "none", NONE_ALONE)
    names = ", ".join(source.path for source in files) or "no file"
    return DataError(f"{names}: no samples; at least one line is needed")


def _read_source(
    source: "AnyPath | TableRows", files: list[SourceFile], groups: GroupColumns, rows: RowColumns
) -> None:
    before, digest = sum(earlier.line_count for earlier in files), ContentDigest()
    file: AnyPath | None = source if isinstance(source, str | PathLike) else None
    if isinstance(source, str | PathLike):
        path, lines = shown(source), sample_lines(source, digest=digest)
    else:
        path, lines = source.name, source.lines(digest=digest)
    files.append(SourceFile(path, before))
    number, _ = add_lines(lines, before, groups, rows, file=file)
    files[-1] = SourceFile(path, before, number, digest.sha256, digest.byte_count)


def add_lines(
    lines: Iterable[tuple[int, bytes]],
    before: int,
    groups: GroupColumns,
    rows: RowColumns,
    *,
    file: AnyPath | None = None,
    most: Most = EVERYTHING,
) -> tuple[int, bytes | None]:
    """Add the samples of the lines, which are numbered from the one after `before` on.

    The number of the last line, and None; or the line that was not added, the first of a trace that is new to the
    groups which already hold `most`. The first line of a `file` may show that it is of another format.
    """
    number, rows_before, is_cut = 0, len(rows.lines), most != EVERYTHING
    decode, enter, add = msgspec.json.Decoder(Sample).decode, groups.enter, rows.add
    labels, trace_codes, most_rows, most_bytes = rows.labels, groups.trace_codes, most.rows, most.bytes
    try:
        for number, line in lines:
            if not line or line.isspace():
                continue
            if not line.isascii():
                line.decode()  # the decoder skips unknown keys, bad bytes included
            sample, place_in_all = decode(line), before + number
            if is_cut:
                size = rows.byte_count + len(line)
                if size > most_bytes or len(labels) >= most_rows:
                    is_long = size > 2 * most_bytes or len(labels) >= 2 * most_rows  # its trace goes on elsewhere
                    if labels and (is_long or str(sample.trace_id) not in trace_codes):
                        return number, line
                rows.byte_count = size
            group = enter(sample, place_in_all)
            if sample.candidates is None:
                add(sample, group, place_in_all)
            else:
                rows.add_all(sample, group, place_in_all)
    except FieldError as cause:
        if file is not None and len(rows.lines) == rows_before:
            refuse_other_format(file, line)
        raise SampleError(*place(groups.files, before + number), *with_suggestion(cause, line).args) from cause
    except FAILURES as failure:
        if file is not None and len(rows.lines) == rows_before:
            refuse_other_format(file, line)
        misfit = with_suggestion(decode_error(line, failure, NEEDED), line)
        raise SampleError(*place(groups.files, before + number), *misfit.args) from failure
    return number, None


def refuse_other_format(path: AnyPath, line: bytes) -> None:
    """Raise where a file whose first line is no sample looks like one of another format, naming the next command."""
    from ltr.data.importers.format_recognition import foreign  # the importers, which good files do not need

    if advice := foreign(path, line):
        raise FileError(shown(path), advice)


def as_samples(kind: Kind, files: list[SourceFile], groups: GroupColumns, rows: RowColumns) -> Samples:
    """The columns of everything that was read."""
    contexts, context_texts = _coded(groups.contexts, len(groups.traces), absent="")
    previous, previous_lists = _coded(groups.previous, len(groups.traces), absent=())
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
        draw_rules=_until_end(rows.draw_rules, len(rows.labels), absent=LOGGED),
        draw_probabilities=_until_end(rows.draw_probabilities, len(rows.labels), absent=1.0),
        traces=_integers(groups.traces),
        trace_ids=tuple(groups.trace_codes),
        nodes=_integers(groups.nodes),
        node_ids=tuple(groups.node_codes),
        queries=_integers(groups.queries),
        query_texts=tuple(groups.query_codes),
        contexts=contexts,
        context_texts=context_texts,
        previous=previous,
        previous_lists=previous_lists,
        none=NoneCandidates.of(rows.none_groups, rows.none_lines, rows.none_labels) if rows.none_groups else None,
        weights=_per_group(groups.weights, len(groups.traces), absent=1.0),
        times=_per_group(groups.times, len(groups.traces), absent=np.nan),
        outcomes=_outcomes(groups),
    )


def _integers(column: "array[int]") -> IntArray:
    return np.frombuffer(column, dtype=np.int64)  # the same memory, not a copy


def _until_end(values: "array[Any]", rows: int, *, absent: float) -> Array | None:
    """The values of the first rows, and that of the others; None where there is none."""
    return np.concatenate([np.array(values), np.full(rows - len(values), absent)]) if values else None


def _outcomes(groups: GroupColumns) -> tuple[str, ...] | None:
    """The id of each group that is an outcome."""
    ids = groups.outcomes
    return tuple(ids.get(group, ("", 0))[0] for group in range(len(groups.traces))) if ids else None


def _per_group(values: Mapping[int, tuple[float, int]], groups: int, *, absent: float) -> FloatArray | None:
    if not values:
        return None
    column = np.full(groups, absent)
    column[list(values)] = [value for value, _ in values.values()]
    return column


def _coded(
    values: Mapping[int, tuple[Value, int]], groups: int, *, absent: Value
) -> tuple[IntArray | None, tuple[Value, ...]]:
    """The code of each group's value, and the values in order of first appearance."""
    if not values:
        return None, ()
    codes, nothing = Codes(), (absent, 0)
    return np.array([codes[values.get(group, nothing)[0]] for group in range(groups)]), tuple(codes)
