"""What a run keeps in its directory, once all of it is known; run.json last, which says that the run is complete."""

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from ltr.files.atomic_write import write_lines, write_text
from ltr.reporting.run_page import run_page
from ltr.serving.router import Router
from ltr.storage.run_contents import RunContents, write_run
from ltr.storage.run_directory import REPORT, write_log, write_record
from ltr.storage.run_record import TOOLS
from ltr.storage.training_groups import Learned, write_learned
from ltr.storage.update_state import TRAINING

Clock = Callable[[], float]


def write_all(
    files: RunContents,
    router: Router,
    learned: Learned | None,
    *,
    seconds: float,
    saving_since: float,
    clock: Clock = time.perf_counter,
    workers: Sequence[str] = (),
) -> None:
    """Write the files of a run, its tools, what outcomes are learned with, its page and log, and its record.

    `seconds`: of the run; `saving_since`: when saving began, by the clock; `workers`: the kinds of machine that worked.
    """
    home = Path(files.path)
    write_run(files)
    if router.tools:
        tools = ({"name": name, **text._asdict()} for name, text in router.tools.items())
        write_lines(home / TOOLS, map(msgspec.json.encode, tools))
    if learned is not None:
        write_learned(home / TRAINING, learned)
    write_text(home / REPORT, run_page(files))
    timings = {"run_seconds": seconds, "save_seconds": clock() - saving_since}
    write_log(home, [{"event": name, "seconds": spent} for name, spent in timings.items()])
    write_record(home, msgspec.structs.replace(files.record, timings=timings, workers=list(workers)))
