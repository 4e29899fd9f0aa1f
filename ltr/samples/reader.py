"""Samples files become columns: a row for each candidate, each text stored once; errors name file, line and field."""

import gc
import math
import sys
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import TYPE_CHECKING, Any, Self, TypeVar

import msgspec
import numpy as np

from ltr.arrays import Array, Codes, FloatArray, IntArray
from ltr.catalogues import NO_TREE
from ltr.errors import DataError, FieldError, FileError, SampleError
from ltr.files import ContentDigest
from ltr.jsonl import ADVISERS, FAILURES, FOREIGN, decode_error, excerpt, sample_lines
from ltr.paths import AnyPath, shown
from ltr.samples.candidates import CONTEXTS, PREVIOUS, TYPES, SourceFile, place
from ltr.samples.columns import Coded, Column, Texts, at
from ltr.samples.draws import DRAW_RULES, LOGGED, PROBABILITIES, RULES
from ltr.samples.groups import ABSENT, RIGHT, WRONG
from ltr.samples.schema import NEEDED, Candidate, Id, Kind, Sample, seconds, with_suggestion

if TYPE_CHECKING:
    from ltr.samples.frames import TableRows

Value = TypeVar("Value")

NONE_ALONE = "stands alone; what was offered is needed beside it"
NO_FEATURES = -1
BESIDE_NONE = (
    *("tool", "tool_description", "candidate_id", "candidate_type", "tree"),
    *("features", "drawn", "draw_probability"),
)


@dataclass(frozen=True, slots=True)
class Most:
    """How much is read at once."""

    rows: int = sys.maxsize
    bytes: int = sys.maxsize


EVERYTHING = Most()
DESCRIPTIONS = Coded("rows", "description_texts", of_one_kind=True)
TREES = Coded("rows", "tree_texts", of_one_kind=True)


@dataclass(frozen=True, slots=True, eq=False)
class NoneCandidates:
    """Every none candidate as it was read; a group may hold one."""

    groups: IntArray  # codes
    lines: IntArray  # counted through all files
    labels: FloatArray  # 0 or 1; NaN where a line has none

    @classmethod
    def of(cls, groups: "array[int]", lines: "array[int]", labels: "array[float]") -> Self:
        """The columns as arrays."""
        return cls(np.array(groups, dtype=np.int64), np.array(lines, dtype=np.int64), np.array(labels))

    def of_groups(self, groups: IntArray) -> Self:
        """Those of the groups with these codes, in rising order, which become 0, 1 and so on."""
        is_kept = np.isin(self.groups, groups)
        codes = np.searchsorted(groups, self.groups[is_kept])
        return type(self)(codes, self.lines[is_kept], self.labels[is_kept])

    def marks(self, groups: int) -> IntArray:
        """ABSENT, WRONG or RIGHT for each of so many groups.

        >>> NoneCandidates.of(array("q", [2, 0]), array("q", [9, 4]), array("d", [1.0, 0.0])).marks(4)
        array([1, 0, 2, 0])
        """
        marks = np.full(groups, ABSENT)
        marks[self.groups[self.labels == 0]] = WRONG
        marks[self.groups[self.labels == 1]] = RIGHT
        return marks


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


class NameCodes(Codes):
    """Codes of candidate names; a blank name is refused."""

    def __init__(self, field: str) -> None:
        super().__init__()
        self.field = field

    def __missing__(self, key: str) -> int:
        if not key.strip():
            raise FieldError(self.field, f"found {excerpt(key)}; a name is needed")
        return super().__missing__(key)


class GroupColumns:
    """One entry a group: key, query, context, what was used before, weight, time, outcome.

    Lines of one group that contradict each other are refused.
    """

    def __init__(self, files: Sequence[SourceFile]) -> None:
        self.files = files
        self.key: tuple[Id, Id, str] | None = None  # of the line before: most lines repeat it
        self.group = -1
        self.codes, self.trace_codes, self.node_codes, self.query_codes = (Codes() for _ in range(4))
        self.traces, self.nodes, self.queries, self.first_lines = (array("q") for _ in range(4))
        self.weights: dict[int, tuple[float, int]] = {}  # of a group: the value and the line that has it first
        self.times: dict[int, tuple[float, int]] = {}
        self.outcomes: dict[int, tuple[str, int]] = {}
        self.contexts: dict[int, tuple[str, int]] = {}
        self.previous: dict[int, tuple[tuple[str, ...], int]] = {}
        self.context_texts: dict[str, str] = {}  # each held once, however many groups have it
        self.previous_names = NameCodes("previous")

    def enter(self, sample: Sample, line: int) -> int:
        """The code of the line's group, which becomes the current one."""
        key = self.key
        if key is None or sample.node_id != key[1] or sample.trace_id != key[0] or sample.query != key[2]:
            trace, node = self.trace_codes[str(sample.trace_id)], self.node_codes[str(sample.node_id)]
            self.group = self.codes[trace << 32 | node]  # one integer takes half the memory of a pair
            query = self.query_codes[sample.query]
            if self.group == len(self.traces):
                self.traces.append(trace)
                self.nodes.append(node)
                self.queries.append(query)
                self.first_lines.append(line)
            elif self.queries[self.group] != query:
                earlier_query = list(self.query_codes)[self.queries[self.group]]
                raise self._contradiction("query", sample.query, earlier_query, self.first_lines[self.group])
            self.key = sample.trace_id, sample.node_id, sample.query
        if sample.weight is not None:
            self._set("weight", self.weights, sample.weight, line)
        if sample.time is not None:
            self._set("time", self.times, seconds(sample.time), line)
        if sample.outcome is not None:
            self._set("outcome", self.outcomes, str(sample.outcome), line)
        if sample.context is not None:
            context = self.context_texts.setdefault(sample.context, sample.context)
            self._set("context", self.contexts, context, line)
        if sample.previous is not None:
            self._set("previous", self.previous, self._names(sample.previous), line)
        return self.group

    def _names(self, previous: list[str]) -> tuple[str, ...]:
        """The names; a name that was met before is the same text in memory."""
        for name in previous:
            self.previous_names[name]
        return tuple(previous)

    def _set(self, field: str, values: dict[int, tuple[Value, int]], value: Value, line: int) -> None:
        earlier_value, earlier_line = values.setdefault(self.group, (value, line))
        if earlier_value != value:
            raise self._contradiction(field, value, earlier_value, earlier_line)

    def _contradiction(self, field: str, value: object, earlier_value: object, earlier_line: int) -> FieldError:
        path, number = place(self.files, earlier_line)
        remedy = "; each query of a trace needs a node_id of its own" if field == "query" else ""
        problem = f"found {excerpt(value)}; {path}:{number} has {excerpt(earlier_value)} for the same group{remedy}"
        return FieldError(field, problem)


class RowColumns:
    """One entry a candidate. All are of one kind and have the same number of features."""

    def __init__(self, labels_required: bool) -> None:
        self.labels_required = labels_required
        self.kind: Kind | None = None
        self.width: int | None = None
        self.byte_count = 0  # of the lines, counted only where a limit is set
        self.tool_codes, self.id_codes = NameCodes("tool"), NameCodes("candidate_id")
        self.description_codes, self.type_codes, self.tree_codes = (Codes() for _ in range(3))
        self.lines, self.groups, self.names = (array("q") for _ in range(3))
        self.descriptions, self.types, self.trees = (array("q") for _ in range(3))
        self.labels, self.features = array("d"), array("d")
        self.draw_rules, self.draw_probabilities = array("q"), array("d")  # up to the last row that was drawn
        self.none_groups, self.none_lines, self.none_labels = array("q"), array("q"), array("d")

    def add_all(self, sample: Sample, group: int, line: int) -> None:
        """The rows of a line that holds several candidates."""
        if not sample.candidates:
            raise FieldError("candidates", "found []; at least one candidate is needed")
        for key in ("tool", "candidate_id", "label", "features", "drawn", "draw_probability", "none"):
            if getattr(sample, key) is not None:
                raise FieldError(key, "stands beside candidates; its place is inside one of them")
        for index, candidate in enumerate(sample.candidates):
            try:
                self.add(candidate, group, line)
            except FieldError as cause:
                field, problem = cause.args
                raise FieldError(f"candidates[{index}].{field}", problem) from cause

    def add(self, candidate: Candidate, group: int, line: int) -> None:
        """One more row; that nothing offered is right is none."""
        tool, label, features = candidate.tool, candidate.label, candidate.features
        if candidate.none:
            self._add_none(candidate, group, line)
            return
        if tool is None or candidate.candidate_id is not None or self.kind != "tool":
            self._settle_kind(candidate)
        if (NO_FEATURES if features is None else len(features)) != self.width:
            self._settle_width(features)
        if label is None:
            if self.labels_required:
                raise FieldError("label", f"missing; {NEEDED['label']}")
            label = math.nan
        if tool is None:
            self.names.append(self.id_codes[str(candidate.candidate_id)])
            self.types.append(self.type_codes[candidate.candidate_type or ""])
            self.trees.append(self.tree_codes[bytes(candidate.tree)])
        else:
            self.names.append(self.tool_codes[tool])
            self.descriptions.append(self.description_codes[candidate.tool_description or ""])
        if features is not None:
            self.features.fromlist(features)
        if candidate.drawn is not None or candidate.draw_probability is not None:
            self._add_draw(candidate)
        self.labels.append(label)
        self.groups.append(group)
        self.lines.append(line)

    def _add_none(self, candidate: Candidate, group: int, line: int) -> None:
        for key in BESIDE_NONE:
            value = getattr(candidate, key)
            if value is not None and (key != "tree" or bytes(value) not in NO_TREE):
                raise FieldError(key, "stands beside none; a candidate is a tool, a graph or none")
        if candidate.label is None and self.labels_required:
            raise FieldError("label", "missing; 0 or 1 is needed beside none")
        if candidate.label not in (None, 0, 1):
            raise FieldError("label", f"found {excerpt(candidate.label)}; 0 or 1 is needed beside none")
        self.none_groups.append(group)
        self.none_lines.append(line)
        self.none_labels.append(math.nan if candidate.label is None else candidate.label)

    def _add_draw(self, candidate: Candidate) -> None:
        """That the row to come was drawn, and how probably it would be; NaN for a random one that does not say it."""
        missing = len(self.labels) - len(self.draw_rules)
        unknown = 1.0 if candidate.drawn == "near" else math.nan
        rule = LOGGED if candidate.drawn is None else DRAW_RULES.index(candidate.drawn) + 1
        self.draw_rules.extend([LOGGED] * missing + [rule])
        self.draw_probabilities.extend([1.0] * missing + [candidate.draw_probability or unknown])

    def _settle_kind(self, candidate: Candidate) -> None:
        if candidate.tool is None and candidate.candidate_id is None:
            raise FieldError("tool", "missing; tool, candidate_id or candidates is needed")
        if candidate.tool is not None and candidate.candidate_id is not None:
            raise FieldError("candidate_id", "stands beside tool; a candidate is a tool or a graph")
        kind: Kind = "graph" if candidate.tool is None else "tool"
        if self.kind is None:
            self.kind = kind
        if self.kind != kind:
            field = "candidate_id" if candidate.tool is None else "tool"
            raise FieldError(
                field, f"found a {kind}; the candidates before it are {self.kind}s, and one kind is needed"
            )

    def _settle_width(self, features: list[float] | None) -> None:
        width = NO_FEATURES if features is None else len(features)
        if width == 0:
            raise FieldError("features", f"found []; {NEEDED['features']}")
        if self.width is None:
            self.width = width
        elif width != self.width:
            here, before = ("none" if n == NO_FEATURES else f"{n} numbers" for n in (width, self.width))
            raise FieldError("features", f"found {here}; the candidates before have {before}")


class Builder:
    """What is read grows here: the files, and the columns of groups and rows."""

    def __init__(self, files: list[SourceFile], *, labels_required: bool) -> None:
        self.files = files
        self.labels_required = labels_required
        self.groups, self.rows = GroupColumns(files), RowColumns(labels_required)

    def begin_again(self) -> None:
        """Drop what was read, but for the kind and the width that all rows must have."""
        kind, width = self.rows.kind, self.rows.width
        self.groups, self.rows = GroupColumns(self.files), RowColumns(self.labels_required)
        self.rows.kind, self.rows.width = kind, width

    def read(self, source: "AnyPath | TableRows") -> None:
        """Add the samples of a file, or of rows."""
        before, digest = sum(earlier.line_count for earlier in self.files), ContentDigest()
        file: AnyPath | None = source if isinstance(source, str | PathLike) else None
        if isinstance(source, str | PathLike):
            path, lines = shown(source), sample_lines(source, digest=digest)
        else:
            path, lines = source.name, source.lines(digest=digest)
        self.files.append(SourceFile(path, before))
        number, _ = self.add_lines(lines, before, file=file)
        self.files[-1] = SourceFile(path, before, number, digest.sha256, digest.byte_count)

    def add(self, sample: Sample, line: int) -> None:
        """Add the candidates of a line, whose number counts through all files."""
        group = self.groups.enter(sample, line)
        add = self.rows.add if sample.candidates is None else self.rows.add_all
        add(sample, group, line)

    def add_lines(
        self,
        lines: Iterable[tuple[int, bytes]],
        before: int = 0,
        *,
        file: AnyPath | None = None,
        most: Most = EVERYTHING,
    ) -> tuple[int, bytes | None]:
        """Add the samples of the lines, which are numbered from the one after `before` on.

        Return the number of the last line, and None; or the line that was not added, the first of a trace that is new
        to the groups which already hold `most`. The first line of a `file` may show that it is of another format.
        """
        groups, rows = self.groups, self.rows
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
        except (FieldError, *FAILURES) as failure:
            if file is not None and len(rows.lines) == rows_before:
                refuse_other_format(file, line)
            raise SampleError(*place(self.files, before + number), *line_error(failure, line).args) from failure
        return number, None

    def nothing_read(self) -> DataError:
        """Return the error for files without a candidate that is a tool or a graph."""
        if self.rows.none_lines:
            return SampleError(*place(self.files, self.rows.none_lines[0]), "none", NONE_ALONE)
        names = ", ".join(source.path for source in self.files) or "no file"
        return DataError(f"{names}: no samples; at least one line is needed")

    def samples(self) -> Samples:
        """Return the columns of everything that was read."""
        groups, rows = self.groups, self.rows
        if rows.kind is None:
            raise self.nothing_read()
        contexts, context_texts = _coded(groups.contexts, len(groups.traces), absent="")
        previous, previous_lists = _coded(groups.previous, len(groups.traces), absent=())
        return Samples(
            kind=rows.kind,
            files=tuple(self.files),
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


def read_samples(sources: "Iterable[AnyPath | TableRows]", *, labels_required: bool = True) -> Samples:
    """Read the samples of all files, or of rows. Blank lines are skipped; no sample at all is an error."""
    builder = Builder([], labels_required=labels_required)
    with without_garbage_collection():
        for source in sources:
            builder.read(source)
    return builder.samples()


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


def refuse_other_format(path: AnyPath, line: bytes) -> None:
    """Raise where a file whose first line is no sample looks like one of another format, naming the next command."""
    if advice := ADVISERS[FOREIGN](path, line):
        raise FileError(shown(path), advice)


def line_error(failure: Exception, line: bytes) -> FieldError:
    """Return what is wrong with a line that could not be read, and what would be right."""
    error = failure if isinstance(failure, FieldError) else decode_error(line, failure, NEEDED)
    return with_suggestion(error, line)


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
