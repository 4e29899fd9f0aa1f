"""Evaluations on disk, read back: metrics.json and per_query.jsonl of a run or of `evaluate -o`."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ltr.arrays import FloatArray
from ltr.data.jsonlines import records
from ltr.errors import FileError
from ltr.evaluation.metrics.ranking_measures import MRR, TOP1, TOP3
from ltr.files.path_arguments import AnyPath
from ltr.files.reading import read_lines
from ltr.storage.evaluation_records import MetricsRecord, QueryRecord
from ltr.storage.record_reader import read_record
from ltr.storage.run_directory import METRICS, PER_QUERY
from ltr.storage.run_file_lookup import run_file

FIXED = {TOP1: "top1", TOP3: "top3", MRR: "reciprocal_rank"}  # metrics that every record has, and their fields
NEEDED = {"": "a line of per_query.jsonl as ltr writes it is needed"}

Key = tuple[str, str]  # trace_id, node_id


@dataclass(frozen=True, slots=True, eq=False)
class StoredEvaluation:
    """One evaluation."""

    name: str
    metrics: MetricsRecord
    queries: dict[Key, QueryRecord]
    positions: dict[Key, int]  # of each query, from 0
    values: dict[str, FloatArray]  # (queries,) of each metric, in the order of the queries; NaN: left out

    def column(self, metric: str, keys: list[Key]) -> FloatArray:
        """The values of the metric for these queries."""
        return self.values[metric][[self.positions[key] for key in keys]]


def read_stored_evaluation(directory: AnyPath) -> StoredEvaluation:
    """The evaluation that the directory holds."""
    home = Path(directory)
    metrics = read_record(run_file(home, METRICS), MetricsRecord)
    path = home / PER_QUERY
    rows = [row for _, row in records(path, read_lines(path), QueryRecord, NEEDED)]
    queries = {(row.trace_id, row.node_id): row for row in rows}
    if len(queries) < len(rows) or not rows:
        raise FileError(str(path), "a query stands twice" if rows else "no query")
    columns = {name: [getattr(row, field) for row in rows] for name, field in FIXED.items()}
    for name in rows[0].metrics:
        if any(row.metrics.keys() != rows[0].metrics.keys() for row in rows):
            raise FileError(str(path), "not every query has the metrics of the first")
        columns[name] = [row.metrics[name] for row in rows]
    values = {
        name: np.array([np.nan if value is None else value for value in column], dtype=np.float64)
        for name, column in columns.items()
    }
    positions = {key: position for position, key in enumerate(queries)}
    return StoredEvaluation(home.as_posix(), metrics, queries, positions, values)
