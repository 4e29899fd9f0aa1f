"""A bar for work of more than a second, on a terminal only."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

    from ltr.train import Epoch

PATIENCE = 1.0  # seconds


@contextmanager
def watched(what: str, epochs: int | None, *, quiet: bool) -> Iterator[Callable[["Epoch"], None]]:
    """A function to call at the end of each epoch; it draws a bar once the work has taken a while.

    Epoch 1 begins other work, with a bar of its own. Without a number of epochs the bar has no end.
    """
    if quiet or not sys.stderr.isatty():
        yield lambda epoch: None
        return
    bar: list[tuple[Progress, TaskID]] = []
    start = time.monotonic()

    def on_epoch(epoch: "Epoch") -> None:
        nonlocal start
        if epoch.number == 1 and bar:
            bar.pop()[0].stop()
            start = time.monotonic()
        if not bar and time.monotonic() - start > PATIENCE:
            bar.append(_started(what, epochs))
        for progress, task in bar:
            progress.update(task, completed=epoch.number, description=f"{what}, loss {epoch.loss:.4f}")

    try:
        yield on_epoch
    finally:
        for progress, _ in bar:
            progress.stop()


def _started(what: str, epochs: int | None) -> "tuple[Progress, TaskID]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True, markup=False, emoji=False, highlight=False)
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console, transient=True)
    progress.start()
    return progress, progress.add_task(what, total=epochs)
