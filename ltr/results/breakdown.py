"""Queries by the value of a field of their samples, and the metrics of each value."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from ltr.arrays import IntArray, code_sums
from ltr.errors import FileError, SampleError, UsageError, suggestion
from ltr.evaluation import Evaluation, Ties, order, rank
from ltr.files import ContentDigest, read_lines
from ltr.jsonl import FAILURES, excerpt
from ltr.paths import STDIN, shown
from ltr.records.metrics import PartRecord
from ltr.samples import Candidates, Groups
from ltr.sums import AddsUp

ABSENT = ""
AnyCodes = npt.NDArray[np.signedinteger[Any]]  # a byte each where there are few values


@dataclass(frozen=True, slots=True, eq=False)
class Breakdown(AddsUp):
    """The value of a field for each query."""

    field: str
    names: tuple[str, ...]  # the values of the field, in order; "" where a query has none
    codes: AnyCodes  # (queries,): the value of each query, as its place in the names

    def aligned(self, before: "Breakdown") -> "Breakdown":
        """Return this with the names of before first."""
        return self._renamed(tuple(dict.fromkeys((*before.names, *self.names))))

    def settled(self) -> "Breakdown":
        """Return this with the names in order."""
        return self._renamed(tuple(sorted(self.names)))

    def _renamed(self, names: tuple[str, ...]) -> "Breakdown":
        if names == self.names:
            return self
        places = {name: place for place, name in enumerate(names)}
        lookup = np.array([places[name] for name in self.names], dtype=np.int64)
        return replace(self, names=names, codes=lookup[self.codes])


def break_down(groups: Groups, field: str) -> Breakdown:
    """The queries by the field: a part of the key, or a field on the line of the right candidate.

    The right candidate is the one with the highest label, the first by name among equals. Fields that the reader
    does not keep are read from the files again.
    """
    candidates = groups.candidates
    by_label = rank(groups.labels, groups.offsets, keys=candidates.key_order())
    right_rows = order(by_label, Ties.EXPECTED)[groups.offsets[:-1]]
    columns = {
        "trace_id": [candidates.trace_ids[code] for code in candidates.traces.tolist()],
        "node_id": list(candidates.node_ids),
        "query": [candidates.query_texts[code] for code in candidates.queries.tolist()],
    }
    name = "tool" if candidates.kind == "tool" else "candidate_id"
    columns[name] = [candidates.name_texts[code] for code in candidates.names[right_rows].tolist()]
    if candidates.kind == "graph":
        columns["candidate_type"] = [candidates.type_texts[code] for code in candidates.types[right_rows].tolist()]
    values = columns[field] if field in columns else _read_again(candidates, right_rows, field, list(columns))
    names = sorted(set(values))
    codes = {name: code for code, name in enumerate(names)}
    return Breakdown(field, tuple(names), np.array([codes[value] for value in values], dtype=np.int64))


def _read_again(candidates: Candidates, rows: IntArray, field: str, columns: list[str]) -> list[str]:
    """The value of the key `field` on the line of each row; the columns need no reading."""
    for source in candidates.files:
        if source.path == shown(STDIN) or source.path.endswith(".npz"):
            raise UsageError(f"group_by {field}: {source.path} cannot be read for it; known: {', '.join(columns)}")
    line_type = msgspec.defstruct("Line", [("value", Any, msgspec.UNSET)], rename={"value": field})
    decoder: msgspec.json.Decoder[Any] = msgspec.json.Decoder(line_type)
    values, has_field = [ABSENT] * len(rows), False
    for query, path, number, line in _lines_again(candidates, rows):
        try:
            value = decoder.decode(line).value
        except FAILURES as failure:
            raise SampleError(path, number, "", str(failure)) from failure
        has_field |= value is not msgspec.UNSET
        if value is None or value is msgspec.UNSET:
            continue
        if not isinstance(value, str | int | float):
            problem = f"found {excerpt(value)}; a text, a number or a truth value is needed"
            raise SampleError(path, number, field, problem)
        values[query] = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    if not has_field:
        hint = suggestion(field, columns)
        raise UsageError(f"group_by {field}: no sample has that key{hint}; known without it: {', '.join(columns)}")
    return values


def _lines_again(candidates: Candidates, rows: IntArray) -> Iterator[tuple[int, str, int, bytes]]:
    """Place in `rows`, path, line number and line of each row, read from the unchanged files."""
    places_of_line: dict[int, list[int]] = {}
    for place, line in enumerate(candidates.lines[rows].tolist()):
        places_of_line.setdefault(line, []).append(place)
    for source in candidates.files:
        digest = ContentDigest()
        for number, line in read_lines(source.path, digest=digest):
            for place in places_of_line.get(source.before + number, ()):
                yield place, source.path, number, line
        if digest.sha256 != source.sha256:
            raise FileError(source.path, "was changed while it was read")


def part_means(evaluation: Evaluation, breakdown: Breakdown) -> list[PartRecord]:
    """The mean of each metric over the queries of each part that count in it."""
    count, means = len(breakdown.names), dict[str, list[float | None]]()
    for metric, values in evaluation.values.items():
        counted = ~np.isnan(values)
        codes = breakdown.codes[counted]
        sums, sizes = code_sums(codes, values[counted], count), np.bincount(codes, minlength=count)
        means[metric] = [
            total / size if size else None for total, size in zip(sums.tolist(), sizes.tolist(), strict=True)
        ]
    headline = next(iter(evaluation.values.values()))
    num_queries = np.bincount(breakdown.codes[~np.isnan(headline)], minlength=count).tolist()
    return [
        PartRecord(name, num_queries[code], {metric: column[code] for metric, column in means.items()})
        for code, name in enumerate(breakdown.names)
    ]
