"""A bar for work of more than a second, on a terminal only."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ltr.config.run import RunConfig
    from ltr.experiments.batch import Planned
    from ltr.training.config import Epoch

PATIENCE = 1.0  # seconds


@contextmanager
def watched(
    what: str, epochs: int | None, *, quiet: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[Callable[["Epoch"], None]]:
    """A function to call at the end of each epoch; it draws a bar once the epochs have taken a while.

    Epoch 1 begins other work, with a bar of its own; the last one ends it. Without a number of
    epochs the bar has no end.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda epoch: None
        return
    bar: list[tuple[Progress, TaskID]] = []
    start = clock()

    def stop() -> None:
        while bar:
            bar.pop()[0].stop()

    def on_epoch(epoch: "Epoch") -> None:
        nonlocal start
        if epoch.number == 1:
            stop()
            start = clock()
        if not bar and clock() - start > PATIENCE:
            bar.append(_started(what, epochs))
        for progress, task in bar:
            progress.update(task, completed=epoch.number, description=f"{what}, loss {epoch.loss:.4f}")
        if epoch.number == epochs:
            stop()

    try:
        yield on_epoch
    finally:
        stop()


@contextmanager
def batch_watched(
    plan: "Sequence[Planned]", *, quiet: bool, clock: Callable[[], float] = time.monotonic
) -> Iterator[tuple[Callable[["Epoch"], None], Callable[[], None]]]:
    """Two functions to call, as an epoch ends and as a run ends; of several runs the bar counts the runs."""
    if len(plan) == 1:
        with watched("training", planned_epochs(plan[0].config), quiet=quiet, clock=clock) as on_epoch:
            yield on_epoch, lambda: None
        return
    start, ended, bar = clock(), 0, list["tuple[Progress, TaskID]"]()

    def on_run() -> None:
        nonlocal ended
        ended += 1
        draw("runs")

    def draw(what: str) -> None:
        if not bar and clock() - start > PATIENCE and ended < len(plan):
            bar.append(_started("runs", len(plan)))
        for progress, task in bar:
            progress.update(task, completed=ended, description=what)

    if quiet or not sys.stderr.isatty():
        yield lambda epoch: None, lambda: None
        return
    try:
        yield lambda epoch: draw(f"epoch {epoch.number:,}, loss {epoch.loss:.4f}; runs"), on_run
    finally:
        while bar:
            bar.pop()[0].stop()


def planned_epochs(config: "RunConfig") -> int | None:
    """The epochs of a run, where it is known how many there will be."""
    return config.train.epochs if config.train.trainer == "descent" else None


def _started(what: str, epochs: int | None) -> "tuple[Progress, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console, transient=True)
    progress.start()
    return progress, progress.add_task(what, total=epochs)
