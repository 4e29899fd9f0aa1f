"""Queries sorted by a field of their samples, so that the metrics of each value can be told apart."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.data.groups import Candidates, Groups, key_order
from ltr.data.jsonlines import FAILURES, excerpt
from ltr.errors import FileError, SampleError, UsageError, suggestion
from ltr.evaluation.evaluate import Evaluation
from ltr.evaluation.ranking import Ties, order, rank
from ltr.files.reading import STDIN, ContentDigest, read_lines, shown

ABSENT = ""


@dataclass(frozen=True, slots=True, eq=False)
class Parts:
    """The part each query belongs to."""

    field: str
    names: tuple[str, ...]  # the values of the field, in order; "" where a query has none
    codes: IntArray  # (queries,)


@dataclass(frozen=True, slots=True)
class Part:
    """The means over the queries of one part."""

    name: str
    num_queries: int  # in the means
    means: dict[str, float | None]


def parts_by(field: str, groups: Groups) -> Parts:
    """The queries by the field: a part of the key, or what the line of the right candidate says.

    Of several right candidates the one with the highest label speaks, then the first by name; without any, the first
    by name. Fields that the reader does not keep are read from the files again.
    """
    known = _known(groups)
    if field in known:
        values = known[field]()
    else:
        values = _read_again(groups.candidates, right_rows(groups), field, list(known))
    names = sorted(set(values))
    places = {name: place for place, name in enumerate(names)}
    return Parts(field, tuple(names), np.array([places[value] for value in values], dtype=np.int64))


def right_rows(groups: Groups) -> IntArray:
    """The row of each group that has the highest label, the first by name among equals."""
    by_label = rank(groups.labels, groups.offsets, keys=key_order(groups.candidates))
    return order(by_label, Ties.EXPECTED)[groups.offsets[:-1]]


def _known(groups: Groups) -> dict[str, Callable[[], list[str]]]:
    candidates = groups.candidates
    name = "tool" if candidates.kind == "tool" else "candidate_id"
    known: dict[str, Callable[[], list[str]]] = {
        "trace_id": lambda: [candidates.trace_ids[code] for code in candidates.traces.tolist()],
        "node_id": lambda: list(candidates.node_ids),
        "query": lambda: [candidates.query_texts[code] for code in candidates.queries.tolist()],
        name: lambda: [candidates.name_texts[code] for code in candidates.names[right_rows(groups)].tolist()],
    }
    if candidates.kind == "graph":
        types = candidates.type_texts
        known["candidate_type"] = lambda: [types[code] for code in candidates.types[right_rows(groups)].tolist()]
    return known


def _read_again(candidates: Candidates, rows: IntArray, field: str, known: list[str]) -> list[str]:
    """What the key `field` says on the line of each row."""
    line_type = msgspec.defstruct("Line", [("value", Any, msgspec.UNSET)], rename={"value": field})
    decode = msgspec.json.Decoder(line_type).decode
    wanted: dict[int, list[int]] = {}
    for query, line in enumerate(candidates.lines[rows].tolist()):
        wanted.setdefault(line, []).append(query)
    values, is_found = [ABSENT] * len(rows), False
    for source in candidates.files:
        if source.path == shown(STDIN) or source.path.endswith(".npz"):
            raise UsageError(f"group_by {field}: {source.path} cannot be read for it; known: {', '.join(known)}")
        seen = ContentDigest()
        for number, line in read_lines(source.path, digest=seen):
            for query in wanted.get(source.before + number, ()):
                value = _value(decode, line, source.path, number)
                is_found |= value is not msgspec.UNSET
                values[query] = _text(value, source.path, number, field)
        if seen.sha256 != source.sha256:
            raise FileError(source.path, "was changed while it was read")
    if not is_found:
        hint = suggestion(field, known)
        raise UsageError(f"group_by {field}: no sample has that key{hint}; known without it: {', '.join(known)}")
    return values


def _value(decode: Callable[[bytes], Any], line: bytes, path: str, number: int) -> Any:
    try:
        return decode(line).value
    except FAILURES as failure:
        raise SampleError(path, number, "", str(failure)) from failure


def _text(value: object, path: str, number: int, field: str) -> str:
    if value is None or value is msgspec.UNSET:
        return ABSENT
    if isinstance(value, str):
        return value
    if isinstance(value, int | float):
        return msgspec.json.encode(value).decode()
    raise SampleError(path, number, field, f"found {excerpt(value)}; a text, a number or a truth value is needed")


def part_means(evaluation: Evaluation, parts: Parts) -> list[Part]:
    """The mean of each metric over the queries of each part that count in it."""
    counted = ~np.isnan(next(iter(evaluation.values.values())))
    sizes = np.bincount(parts.codes[counted], minlength=len(parts.names)).tolist()
    columns = {name: _means(values, parts) for name, values in evaluation.values.items()}
    return [
        Part(name, sizes[place], {metric: column[place] for metric, column in columns.items()})
        for place, name in enumerate(parts.names)
    ]


def _means(values: FloatArray, parts: Parts) -> list[float | None]:
    counted = ~np.isnan(values)
    sizes = np.bincount(parts.codes[counted], minlength=len(parts.names))
    sums = np.bincount(parts.codes[counted], weights=values[counted], minlength=len(parts.names))
    return [total / size if size else None for total, size in zip(sums.tolist(), sizes.tolist(), strict=True)]
