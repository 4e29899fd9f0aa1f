"""One reranker put to the test, in a process of its own: what it says, how long it takes, what it holds."""

import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ltr.data.groups import Groups
from ltr.plugins import load_code
from ltr.rerankers.documents import Offer, offers
from ltr.rerankers.registry import Choice, Reranker, Setting, scores

Clock = Callable[[], float]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Task:
    """What one process does."""

    choice: Choice
    setting: Setting
    groups: Groups  # the queries of the bench
    timed: tuple[int, ...]  # which of them, in this order
    repeats: int = 1
    warm_up: int = 1
    code: tuple[str, ...] = ()  # files that register plug-ins


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What one process found."""

    revision: str
    cold_start_ms: float  # from opening to the first answer
    peak_memory_mb: float | None  # of the process and what it started; None: the system does not tell
    timed: list[int]  # places of the queries whose latencies follow, all of them once, then all again
    latencies_ms: list[float]
    scores: dict[int, list[float]]  # of each query that was asked, by its place

    def answers(self, task: Task) -> bool:
        """Whether it has a score for every document of all queries, and every time that the task asks for."""
        sizes = dict(enumerate(np.diff(task.groups.offsets).tolist()))
        return (
            {place: len(found) for place, found in self.scores.items()} == sizes
            and self.timed == list(task.timed)
            and len(self.latencies_ms) == len(task.timed) * task.repeats
            and min(self.latencies_ms) >= 0
        )


def measured(task: Task) -> Measurement:
    """The measurement of a task, in a process that did nothing before: memory and cold start are the reranker's own."""
    prepare_process(task.code)
    return measure(task, offers(task.groups))


def measure(task: Task, asked: Sequence[Offer], clock: Clock = time.perf_counter) -> Measurement:
    """Cold start, warm-up, then the timed queries one after the other, each as often as repeats says.

    The warm-up asks the first queries, which may be timed later: no reranker of ours remembers a query.
    """
    name, start = task.choice.name, clock()
    reranker = task.choice.opened(task.setting)
    try:
        _timed(name, reranker, asked[0], clock)
        cold = (clock() - start) * 1000
        for offer in asked[1 : task.warm_up]:
            _timed(name, reranker, offer, clock)
        latencies, found = [], {}
        for _ in range(task.repeats):
            for place in task.timed:
                elapsed, found[place] = _timed(name, reranker, asked[place], clock)
                latencies.append(elapsed)
        return Measurement(
            revision=revision(reranker),
            cold_start_ms=cold,
            peak_memory_mb=peak_memory_mb(),
            timed=list(task.timed),
            latencies_ms=latencies,
            scores=found,
        )
    finally:
        close(reranker)


def _timed(name: str, reranker: Reranker, offer: Offer, clock: Clock) -> tuple[float, list[float]]:
    """Milliseconds of one query, and its scores."""
    start = clock()
    found = scores(name, reranker, offer.query, offer.documents)
    return (clock() - start) * 1000, found.tolist()


def scored(task: Task) -> list[list[float]]:
    """The scores of all queries of the task, untimed."""
    prepare_process(task.code)
    reranker = task.choice.opened(task.setting)
    try:
        return [scores(task.choice.name, reranker, each.query, each.documents).tolist() for each in offers(task.groups)]
    finally:
        close(reranker)


def revised(task: Task) -> str:
    """The revision of the task's reranker, in a process that did nothing before."""
    prepare_process(task.code)
    return revision(task.choice.opened(task.setting))


def revision(reranker: Any) -> str:
    """What it says that its scores depend on besides its options, such as a digest of its model."""
    return str(getattr(reranker, "revision", ""))


def close(reranker: Any) -> None:
    """Let it end what it started."""
    if callable(ending := getattr(reranker, "close", None)):
        ending()


def prepare_process(code: Sequence[str]) -> None:
    """Make a fresh process one of the bench: its plug-ins are there, and nothing but results reaches stdout."""
    sys.stdout.flush()
    os.dup2(2, 1)
    for file in code:
        load_code(file)


def peak_memory_mb() -> float | None:
    """The most memory this process, and each that it has started and that still runs, has held; the sum of them.

    >>> peak_memory_mb() is None or peak_memory_mb() > 1
    True
    """
    try:
        started = Path("/proc/self/task/", str(os.getpid()), "children").read_bytes().decode().split()
        held = [_high_water_kb(name) for name in ("self", *started)]
    except (OSError, ValueError):
        return _peak_by_usage()
    return sum(held) / 1024


def _high_water_kb(process: str) -> int:
    """VmHWM; getrusage would count what the parent held when it started the process."""
    for line in Path("/proc", process, "status").read_bytes().decode().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    return 0  # one that has ended


def _peak_by_usage() -> float | None:
    if sys.platform == "win32":
        return None
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
