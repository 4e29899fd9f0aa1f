"""What a run keeps in its directory, once all of it is known; run.json last, which says that the run is complete."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ltr.config.run import relocated, render
from ltr.files.atomic_write import write_lines, write_text
from ltr.reporting.run_page import run_page
from ltr.results.queries import examples
from ltr.results.record import curves
from ltr.results.tools import by_tool
from ltr.storage.evaluation_records import QueryRecord
from ltr.storage.model_file import save_model
from ltr.storage.run_contents import RunContents, write_run
from ltr.storage.run_directory import REPORT, write_log, write_record
from ltr.storage.run_record import TOOLS, RunRecord
from ltr.storage.training_groups import Learned, write_learned
from ltr.storage.training_record import epoch_records
from ltr.storage.update_state import TRAINING

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
        curves=curves(result.measured),
        history=epoch_records(result.model.training),
        queries=queries,
        examples=list(examples(result.measured, result.router).records),
        tools=by_tool(result.measured),
        config=render(relocated(result.config, home)),
    )
    write_run(files)
    if result.router.tools:
        tools = ({"name": name, **text._asdict()} for name, text in result.router.tools.items())
        write_lines(home / TOOLS, map(msgspec.json.encode, tools))
    if learned is not None:
        write_learned(home / TRAINING, learned)
    write_text(home / REPORT, run_page(files))
    timings = {"run_seconds": times.run_seconds, "save_seconds": times.clock() - times.saving_since}
    write_log(home, [{"event": name, "seconds": spent} for name, spent in timings.items()])
    write_record(home, msgspec.structs.replace(record, timings=timings))
