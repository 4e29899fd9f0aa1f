"""What a run or an evaluation has on disk, in the flat view of the command line."""

from pathlib import Path

from ltr.results.metrics_record import flat, metrics_record
from ltr.storage.records import MetricsRecord, read_record


def stored_metrics(directory):
    """metrics.json of the directory."""
    return flat(read_record(Path(directory, "metrics.json"), MetricsRecord))


def flat_metrics(evaluated):
    """What would be stored of an evaluated ranking."""
    return flat(metrics_record(evaluated))
