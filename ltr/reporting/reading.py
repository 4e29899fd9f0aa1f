"""What lies in a run directory, read for a page. All of it is untrusted: types are checked, texts stay texts."""

from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ltr.data.jsonlines import records
from ltr.files.reading import AnyPath, read_bytes, read_lines
from ltr.storage.model_file import LARGEST_DOCUMENT, MODEL, ModelRecord
from ltr.storage.record_file import read_record
from ltr.storage.records import EpochRecord, ExampleRecord, MetricsRecord, QueryRecord
from ltr.storage.run_directory import CONFIG, CURVES, EXAMPLES, HISTORY, METRICS, PER_QUERY
from ltr.storage.run_record import RUN, RUN_FORMAT, RunRecord

NEEDED = {"": "a line as ltr writes it is needed"}
Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFiles:
    """All that is kept of a run; of an evaluation the metrics, and what is known of each query."""

    path: str
    record: RunRecord
    is_recorded: bool  # an evaluation has no record, and nobody looked at its data
    metrics: MetricsRecord
    model: ModelRecord | None
    curves: dict[str, dict[str, list[float]]]
    history: list[EpochRecord]
    queries: list[QueryRecord]
    examples: list[ExampleRecord]
    config: str

    @property
    def name(self) -> str:
        """What the run is called."""
        return self.record.name or Path(self.path).name or self.path


def read_run(directory: AnyPath, known: RunRecord | None = None) -> RunFiles:
    """The run, or the evaluation, that lies there; `known`: what its record will say once it is written."""
    home = Path(directory)
    record = known or optional(home / RUN, RunRecord)
    config = home / CONFIG
    return RunFiles(
        path=home.as_posix(),
        record=record or RunRecord(format=RUN_FORMAT),
        is_recorded=record is not None,
        metrics=read_record(home / METRICS, MetricsRecord),
        model=optional(home / MODEL, ModelRecord),
        curves=optional(home / CURVES, dict[str, dict[str, list[float]]]) or {},
        history=_lines(home / HISTORY, EpochRecord),
        queries=_lines(home / PER_QUERY, QueryRecord),
        examples=_lines(home / EXAMPLES, ExampleRecord),
        config=read_bytes(config, limit=LARGEST_DOCUMENT).decode("utf-8", "replace") if config.exists() else "",
    )


def optional(path: Path, kind: type[Kind]) -> Kind | None:
    """The document of the kind; None where there is no such file."""
    return read_record(path, kind) if path.exists() else None


def _lines(path: Path, kind: type[Kind]) -> list[Kind]:
    return [line for _, line in records(path, read_lines(path), kind, NEEDED)] if path.exists() else []
