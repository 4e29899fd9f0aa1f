"""What a run or an evaluation has on disk, in the flat view of the command line."""

from pathlib import Path

import msgspec

from ltr.records.metrics import MetricsRecord
from ltr.records.run import read_record
from ltr.report.flat import flat
from ltr.results.queries import query_records


def stored_metrics(directory):
    """metrics.json of the directory."""
    return flat(read_record(Path(directory, "metrics.json"), MetricsRecord))


def flat_metrics(evaluated):
    """What would be stored of an evaluated ranking."""
    return flat(evaluated.record)


def stored_queries(evaluated):
    """The lines of per_query.jsonl of an evaluated ranking."""
    return [msgspec.to_builtins(record) for record in query_records(evaluated)]
