"""One reranker measured in a process of its own: its scores, its times, its memory."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np

from ltr.engine import run_each
from ltr.errors import LtrError, RunError
from ltr.plugins import load_code
from ltr.rerankers.protocol import (
    QueryWithDocuments,
    Reranker,
    RerankerChoice,
    Setting,
    checked_scores,
    queries_with_documents,
)
from ltr.samples import Groups

Clock = Callable[[], float]
Argument = TypeVar("Argument")
Result = TypeVar("Result")

LONGEST_CAUSE = 300
TIDYING = 5.0  # seconds that a process has to end the program it started


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Task:
    """The work of one process."""

    choice: RerankerChoice
    setting: Setting
    groups: Groups  # the queries of the bench
    timed: tuple[int, ...]  # the numbers of those that are timed, in this order
    repeats: int = 1
    warm_up: int = 1
    code: tuple[str, ...] = ()  # files that register plug-ins


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """The result of one process."""

    revision: str
    cold_start_ms: float  # from opening to the first answer
    peak_memory_mb: float | None  # of the process and what it started; None: the system does not say
    timed: list[int]  # numbers of the queries whose latencies follow, all of them once, then all again
    latencies_ms: list[float]
    scores: dict[int, list[float]]  # of every query, by its number

    def answers(self, task: Task) -> bool:
        """Return whether it has a score for every document of all queries, and every time that the task asks for."""
        sizes = dict(enumerate(np.diff(task.groups.offsets).tolist()))
        return (
            {query: len(values) for query, values in self.scores.items()} == sizes
            and self.timed == list(task.timed)
            and len(self.latencies_ms) == len(task.timed) * task.repeats
            and min(self.latencies_ms) >= 0
        )


def in_own_process(call: Callable[[Argument], Result], arguments: Sequence[Argument]) -> list[Result]:
    """Return call(argument) of each, at the same time, each in a fresh process; what one raises is a RunError here."""
    results: dict[int, Result] = {}
    start = partial(_guarded, call)
    for place, outcome in run_each(start, arguments, range(len(arguments)), workers=len(arguments), tidying=TIDYING):
        if isinstance(outcome, LtrError):
            raise outcome
        result, cause = outcome
        if cause is not None:
            raise RunError(cause)
        results[place] = result
    return [results[place] for place in range(len(arguments))]


def _guarded(call: Callable[[Argument], Result]) -> Callable[[Argument], tuple[Any, str | None]]:
    """Return the call, which sends what it raises as a text: not every exception can be sent."""

    def guarded(argument: Argument) -> tuple[Any, str | None]:
        try:
            return call(argument), None
        except Exception as error:  # a library or a plug-in may raise anything
            return None, cause_of(error)

    return guarded


def cause_of(error: Exception) -> str:
    """Return the error in one line, with its type where it is not an error of ltr."""
    text = " ".join(str(error).split())[:LONGEST_CAUSE]
    return text if isinstance(error, LtrError) else f"{type(error).__name__}: {text}"


def measured(task: Task) -> Measurement:
    """Measure a task, in a process that did nothing before: memory and cold start are the reranker's own."""
    prepare_process(task.code)
    return measure_reranker(task, queries_with_documents(task.groups))


def scored(task: Task) -> list[list[float]]:
    """Return the scores of all queries of the task, untimed."""
    prepare_process(task.code)
    with opened(task) as reranker:
        return [
            checked_scores(task.choice.name, reranker, query.query, query.documents).tolist()
            for query in queries_with_documents(task.groups)
        ]


def revision_of(task: Task) -> str:
    """Return the revision of the task's reranker, in a process that did nothing before."""
    prepare_process(task.code)
    return revision(task.choice.opened(task.setting))


def measure_reranker(
    task: Task, queries: Sequence[QueryWithDocuments], clock: Clock = time.perf_counter
) -> Measurement:
    """Time the cold start, then after the warm-up the timed queries one after the other, as often as repeats says.

    The warm-up asks the first queries, which may be timed later: no reranker of ours remembers a query.
    """
    start = clock()
    with opened(task) as reranker:

        def timed(query: QueryWithDocuments) -> tuple[float, list[float]]:
            before = clock()
            values = checked_scores(task.choice.name, reranker, query.query, query.documents)
            return (clock() - before) * 1000, values.tolist()

        timed(queries[0])
        cold_start_ms = (clock() - start) * 1000
        for query in queries[1 : task.warm_up]:
            timed(query)
        latencies, scores_of = [], {}
        for number in [*task.timed] * task.repeats:
            elapsed, scores_of[number] = timed(queries[number])
            latencies.append(elapsed)
        return Measurement(
            revision=revision(reranker),
            cold_start_ms=cold_start_ms,
            peak_memory_mb=peak_memory_mb(),
            timed=list(task.timed),
            latencies_ms=latencies,
            scores=scores_of,
        )


@contextmanager
def opened(task: Task) -> Iterator[Reranker]:
    """Open the reranker of the task; at the end it may end what it started."""
    reranker = task.choice.opened(task.setting)
    try:
        yield reranker
    finally:
        if callable(close := getattr(reranker, "close", None)):
            close()


def revision(reranker: Reranker) -> str:
    """Return what its scores depend on besides its options, such as a digest of its model, in its own words."""
    return str(getattr(reranker, "revision", ""))


def prepare_process(code: Sequence[str]) -> None:
    """Make a fresh process one of the bench: its plug-ins are there, and nothing but results reaches stdout."""
    sys.stdout.flush()
    os.dup2(2, 1)
    for file in code:
        load_code(file)


def peak_memory_mb() -> float | None:
    """Return the most memory that this process and its running children have held; None where nobody counts it.

    On Linux it is VmHWM: getrusage would count what the parent held when it started the process.

    >>> peak_memory_mb() is None or peak_memory_mb() > 1
    True
    """
    total_kb = 0
    try:
        children = Path("/proc/self/task/", str(os.getpid()), "children").read_bytes().decode().split()
        for process in ("self", *children):
            lines = Path("/proc", process, "status").read_bytes().decode().splitlines()
            # a child that has ended has no such line
            total_kb += sum(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))
    except (OSError, ValueError):
        if sys.platform == "win32":
            return None
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1 << 20 if sys.platform == "darwin" else 1 << 10)
    return total_kb / 1024
