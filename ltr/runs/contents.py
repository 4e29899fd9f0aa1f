"""What a run directory says, all of it: written when a run ends, read again for the page of an older run."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self, TypeVar

from ltr.files import read_bytes, read_lines
from ltr.jsonl import records
from ltr.paths import AnyPath
from ltr.records.metrics import ExampleRecord, MetricsRecord, QueryRecord, ToolRecord
from ltr.records.run import LARGEST_DOCUMENT, RUN_FORMAT, RunRecord, read_record
from ltr.records.training import EpochRecord
from ltr.runs.directory import NEEDED, Part, RunDirectory, StoredQueries
from ltr.runs.model import ModelRecord

Kind = TypeVar("Kind")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContents:
    """The records of a run; an evaluation has metrics, curves and queries alone."""

    path: str
    record: RunRecord
    is_recorded: bool  # an evaluation has no run.json
    metrics: MetricsRecord
    model: ModelRecord | None
    curves: dict[str, dict[str, list[float]]]
    history: list[EpochRecord]
    queries: Iterable[QueryRecord]
    examples: list[ExampleRecord]
    tools: list[ToolRecord]
    config: str

    @property
    def name(self) -> str:
        """The name of the run in its record; without one that of its directory."""
        return self.record.name or Path(self.path).name or self.path

    def write(self) -> None:
        """Write all but the model, run.json and the page."""
        home = RunDirectory(self.path)
        home.write(Part.CONFIG, self.config)
        home.write(Part.HISTORY, self.history)
        home.write_results(self.metrics, self.curves, self.tools)
        if not isinstance(self.queries, StoredQueries):  # those were written as they came
            home.write(Part.PER_QUERY, self.queries)
        home.write(Part.EXAMPLES, self.examples)

    @classmethod
    def read(cls, path: AnyPath) -> Self:
        """Return what the run, or the evaluation, in the directory says."""
        directory = RunDirectory(path)
        home = directory.path
        record, config = _optional(home / Part.RUN, RunRecord), home / Part.CONFIG
        return cls(
            path=home.as_posix(),
            record=record or RunRecord(format=RUN_FORMAT),
            is_recorded=record is not None,
            metrics=directory.metrics,
            model=_optional(home / Part.MODEL, ModelRecord),
            curves=_optional(home / Part.CURVES, dict[str, dict[str, list[float]]]) or {},
            history=_lines(home / Part.HISTORY, EpochRecord),
            queries=_lines(home / Part.PER_QUERY, QueryRecord),
            examples=_lines(home / Part.EXAMPLES, ExampleRecord),
            tools=_lines(home / Part.BY_TOOL, ToolRecord),
            config=read_bytes(config, limit=LARGEST_DOCUMENT).decode("utf-8", "replace") if config.exists() else "",
        )


def _optional(path: Path, kind: type[Kind]) -> Kind | None:
    return read_record(path, kind) if path.exists() else None


def _lines(path: Path, kind: type[Kind]) -> list[Kind]:
    return [line for _, line in records(path, read_lines(path), kind, NEEDED)] if path.exists() else []
