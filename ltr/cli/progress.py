"""A bar for work of more than a second, on a terminal only."""

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

    from ltr.experiments.batch import Planned
    from ltr.progress import OnProgress, Step

SHOWN_AFTER = 1.0  # seconds; shorter work needs no bar
Clock = Callable[[], float]


class StageBar:
    """One bar at a time: that of the stage in hand, once the stage has taken a while."""

    def __init__(self, clock: Clock, patience: float = SHOWN_AFTER) -> None:
        self._clock, self._patience = clock, patience
        self._bar: Progress | None = None
        self._timer: threading.Timer | None = None
        self._lock = threading.RLock()
        self._step: Step | None = None
        self._start = clock()

    def __call__(self, step: "Step") -> None:
        """Note that a stage began, or a part of it ended; the last part ends the bar, epoch 1 begins a training."""
        with self._lock:
            is_other = self._step is None or step.stage != self._step.stage or step.done < self._step.done
            if is_other or (step.epoch is not None and step.epoch.number == 1):
                self.stop()
                self._start = self._start if self._step is None and step.done != 1 else self._clock()
                self._timer = threading.Timer(self._patience, self._draw)  # a stage that reports no parts is shown, too
                self._timer.daemon = True
                self._timer.start()
            self._step = step
            if self._bar is not None or self._clock() - self._start > self._patience:
                self._draw()
            if step.done == step.total:
                self.stop()

    def stop(self) -> None:
        """Clear the bar."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()
            self._timer = self._bar = None

    def _draw(self) -> None:
        with self._lock:
            step = self._step
            if step is None or self._timer is None:  # the stage has ended
                return
            if self._bar is None:
                self._bar = started_bar(step.stage, step.total)
            loss = "" if step.epoch is None else f", loss {step.epoch.loss:.4f}"
            self._bar.update(self._bar.task_ids[0], completed=step.done, description=f"{step.stage}{loss}")


@contextmanager
def run_progress(
    *, quiet: bool, clock: Clock = time.monotonic, patience: float = SHOWN_AFTER
) -> Iterator["OnProgress"]:
    """Give what a run reports its stages to; it draws nothing in a pipe, or where nobody wants it."""
    if quiet or not sys.stderr.isatty():
        yield lambda step: None
        return
    bar = StageBar(clock, patience)
    try:
        yield bar
    finally:
        bar.stop()


@contextmanager
def batch_progress(
    plan: "Sequence[Planned]", *, quiet: bool, clock: Clock = time.monotonic
) -> Iterator[tuple["OnProgress", Callable[[], None]]]:
    """Give two functions to call, as a step of a run ends and as a run ends; of several the bar counts the runs."""
    if len(plan) == 1:
        with run_progress(quiet=quiet, clock=clock) as on_progress:
            yield on_progress, lambda: None
        return
    start, ended, bar = clock(), 0, list["Progress"]()

    def on_run() -> None:
        nonlocal ended
        ended += 1
        draw("runs")

    def on_step(step: "Step") -> None:
        part = f"epoch {step.epoch.number:,}, loss {step.epoch.loss:.4f}" if step.epoch else step.stage
        draw(f"{part}; runs")

    def draw(description: str) -> None:
        if not bar and clock() - start > SHOWN_AFTER and ended < len(plan):
            bar.append(started_bar("runs", len(plan)))
        for progress in bar:
            progress.update(progress.task_ids[0], completed=ended, description=description)

    if quiet or not sys.stderr.isatty():
        yield lambda step: None, lambda: None
        return
    try:
        yield on_step, on_run
    finally:
        while bar:
            bar.pop().stop()


def started_bar(description: str, total: int | None) -> "Progress":
    """Start a bar on stderr with one task; without a total it moves and counts nothing."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console, transient=True)
    progress.start()
    progress.add_task(description, total=total)
    return progress
