"""One reranker measured in a process of its own: its scores, its times, its memory."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

from ltr.data.groups import Groups
from ltr.engines.process_pool import PATIENCE, work
from ltr.errors import LtrError, RunError
from ltr.plugins import load_code
from ltr.rerankers.documents import QueryWithDocuments, queries_with_documents
from ltr.rerankers.registry import Reranker, RerankerChoice, Setting, checked_scores

Clock = Callable[[], float]
Argument = TypeVar("Argument")
Result = TypeVar("Result")

LONGEST_CAUSE = 300


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
        """Whether it has a score for every document of all queries, and every time that the task asks for."""
        sizes = dict(enumerate(np.diff(task.groups.offsets).tolist()))
        return (
            {query: len(values) for query, values in self.scores.items()} == sizes
            and self.timed == list(task.timed)
            and len(self.latencies_ms) == len(task.timed) * task.repeats
            and min(self.latencies_ms) >= 0
        )


def in_own_process(call: Callable[[Argument], Result], arguments: Sequence[Argument]) -> list[Result]:
    """call(argument) of each, at the same time, each in a fresh process; whatever one raises is a RunError here."""
    results: dict[int, Result] = {}
    start = partial(_guarded, call)
    for place, outcome in work(start, arguments, range(len(arguments)), workers=len(arguments), tidying=PATIENCE):
        if isinstance(outcome, LtrError):
            raise outcome
        if isinstance(outcome, _Failure):
            raise RunError(outcome.cause)
        results[place] = outcome
    return [results[place] for place in range(len(arguments))]


@dataclass(frozen=True, slots=True)
class _Failure:
    """What a process sends where its call raised: not every exception can be sent."""

    cause: str


def _guarded(call: Callable[[Argument], Result]) -> Callable[[Argument], Result | _Failure]:
    def guarded(argument: Argument) -> Result | _Failure:
        try:
            return call(argument)
        except Exception as error:  # a library or a plug-in may raise anything
            return _Failure(cause_of(error))

    return guarded


def cause_of(error: Exception) -> str:
    """The error in one line, with its type where it is not an error of ltr."""
    text = " ".join(str(error).split())[:LONGEST_CAUSE]
    return text if isinstance(error, LtrError) else f"{type(error).__name__}: {text}"


def measured(task: Task) -> Measurement:
    """The measurement of a task, in a process that did nothing before: memory and cold start are the reranker's own."""
    prepare_process(task.code)
    return measure_reranker(task, queries_with_documents(task.groups))


def scored(task: Task) -> list[list[float]]:
    """The scores of all queries of the task, untimed."""
    prepare_process(task.code)
    with opened(task) as reranker:
        return [
            checked_scores(task.choice.name, reranker, query.query, query.documents).tolist()
            for query in queries_with_documents(task.groups)
        ]


def revision_of(task: Task) -> str:
    """The revision of the task's reranker, in a process that did nothing before."""
    prepare_process(task.code)
    return revision(task.choice.opened(task.setting))


def measure_reranker(
    task: Task, queries: Sequence[QueryWithDocuments], clock: Clock = time.perf_counter
) -> Measurement:
    """Cold start, warm-up, then the timed queries one after the other, each as often as repeats says.

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
    """The reranker of the task; at the end it may end what it started."""
    reranker = task.choice.opened(task.setting)
    try:
        yield reranker
    finally:
        if callable(close := getattr(reranker, "close", None)):
            close()


def revision(reranker: Reranker) -> str:
    """What its scores depend on besides its options, such as a digest of its model, in its own words."""
    return str(getattr(reranker, "revision", ""))


def prepare_process(code: Sequence[str]) -> None:
    """Make a fresh process one of the bench: its plug-ins are there, and nothing but results reaches stdout."""
    sys.stdout.flush()
    os.dup2(2, 1)
    for file in code:
        load_code(file)


def peak_memory_mb() -> float | None:
    """The most memory that this process and its running children have held, added up; None where nobody counts it.

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
