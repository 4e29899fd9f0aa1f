"""Evaluations as they are kept on disk, read back: metrics.json and per_query.jsonl of a run or of `evaluate -o`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.data.jsonlines import records
from ltr.errors import FileError
from ltr.evaluation.metrics.ranked import MRR, TOP1, TOP3
from ltr.files.reading import AnyPath, read_bytes, read_lines
from ltr.results.query_records import Query
from ltr.storage.model_file import held
from ltr.storage.run_directory import METRICS, PER_QUERY

FIXED = {TOP1: "top1", TOP3: "top3", MRR: "reciprocal_rank"}  # metrics that every record has, and their keys
LARGEST_METRICS = 256 << 20  # with a value for each of many parts
NEEDED = {"": "a line of per_query.jsonl as ltr writes it is needed"}

Key = tuple[str, str]  # trace_id, node_id


@dataclass(frozen=True, slots=True, eq=False)
class StoredEvaluation:
    """One evaluation."""

    name: str
    metrics: dict[str, Any]
    queries: dict[Key, Query]
    places: dict[Key, int]  # of each query, from 0
    values: dict[str, FloatArray]  # (queries,) of each metric, in the order of the queries; NaN: left out

    def column(self, metric: str, keys: list[Key]) -> FloatArray:
        """The values of the metric for these queries."""
        return self.values[metric][[self.places[key] for key in keys]]


def read_stored_evaluation(directory: AnyPath) -> StoredEvaluation:
    """What the directory keeps of its evaluation."""
    home = Path(directory)
    try:
        metrics = msgspec.json.decode(read_bytes(held(home, METRICS), limit=LARGEST_METRICS), type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise FileError(str(home / METRICS), f"not what ltr writes: {error}") from error
    path = home / PER_QUERY
    every = [query for _, query in records(path, read_lines(path), Query, NEEDED)]
    queries = {(query.trace_id, query.node_id): query for query in every}
    if len(queries) < len(every) or not every:
        raise FileError(str(path), "a query stands twice" if every else "no query")
    values = {name: _column([getattr(query, key) for query in every]) for name, key in FIXED.items()}
    places = {key: place for place, key in enumerate(queries)}
    return StoredEvaluation(home.as_posix(), metrics, queries, places, values | _asked(path))


def _asked(path: Path) -> dict[str, FloatArray]:
    """The metrics whose values stand after the fixed keys."""
    first = msgspec.json.decode(next(line for _, line in read_lines(path) if line.strip()), type=dict[str, Any])
    names = [key for key in first if key not in Query.__struct_fields__ and key != "contributions"]
    fields = [(f"m{place}", float | None) for place in range(len(names))]
    rename = {field: name for (field, _), name in zip(fields, names, strict=True)}
    line_type = msgspec.defstruct("Asked", fields, rename=rename)
    rows = [msgspec.structs.astuple(line) for _, line in records(path, read_lines(path), line_type, NEEDED)]
    return {name: _column(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)}


def _column(values: Any) -> FloatArray:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
