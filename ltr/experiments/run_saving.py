"""What a run keeps in its directory, once all of it is known; run.json last, which says that the run is complete."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ltr.config import yaml_text
from ltr.records.metrics import QueryRecord
from ltr.records.run import RunRecord
from ltr.records.training import epoch_records
from ltr.report import run_page
from ltr.results import examples
from ltr.runs import Learned, Part, RunContents, RunDirectory, save_model

if TYPE_CHECKING:
    from ltr.flow import RunResult

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Times:
    """How long a run took, and when saving it began, by the clock."""

    run_seconds: float
    saving_since: float
    clock: Clock = time.perf_counter


def write_all(
    home: Path,
    result: "RunResult",
    record: RunRecord,
    queries: Iterable[QueryRecord],
    times: Times,
    learned: Learned | None = None,
) -> None:
    """Write the files of a run, its tools, what outcomes are learned with, its page and log, and its record."""
    files = RunContents(
        path=home.as_posix(),
        record=record,
        is_recorded=True,
        metrics=result.measured.record,
        model=save_model(home, result.router),
        curves=result.measured.curves(),
        history=epoch_records(result.model.training),
        queries=queries,
        examples=list(examples(result.measured, result.router).records),
        tools=result.measured.by_tool(),
        config=yaml_text(result.config.seen_from(home)),
    )
    files.write()
    directory = RunDirectory(home)
    directory.write_tools(result.router.tools)
    if learned is not None:
        learned.write(home)
    directory.write(Part.REPORT, run_page(files))
    timings = {"run_seconds": times.run_seconds, "save_seconds": times.clock() - times.saving_since}
    directory.write(Part.LOG, [{"event": name, "seconds": spent} for name, spent in timings.items()])
    directory.complete(msgspec.structs.replace(record, timings=timings))
