"""A team of processes: who works on what, and how they end.

A process that dies takes only its own piece of work with it, and none outlives the one that started it.
"""

import os
import signal
import sys
import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing import connection, get_context, parent_process, resource_tracker
from typing import Any, Generic, NoReturn, Protocol, Self, TypeVar

from ltr.engines.deferred_signals import deferring
from ltr.engines.remote_calls import NO_MEMORY
from ltr.errors import EndedBySignal, LtrError, RunError
from ltr.files.freed_memory import keep_freed_memory

Item = TypeVar("Item")
Result = TypeVar("Result")
Start = Callable[[], Callable[[Item], Result]]

TIDYING = 0.5  # seconds that a process takes at most to remove what it was writing
PATIENCE = 5.0  # seconds after which a process that does not end is killed
MARK = b"ltr answers"  # before each answer: what else stands in a pipe, say of a plug-in that closed it, is none
NO_ANSWER = "its process gave no answer that can be read; plug-ins must leave the files of others alone"


class LostProcessError(RunError):
    """A process that ended before its work did: its exit code, which is 0 where we ended the talk."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)

    def __str__(self) -> str:
        code = self.args[0]
        was_told = code in (-signal.SIGTERM, 128 + signal.SIGTERM)
        cause = "a SIGTERM, perhaps of a plug-in" if was_told else "too little memory, or killed"
        return f"its process ended with {code}: {cause}" if code else NO_ANSWER


@dataclass(slots=True)
class Worker:
    """A process, our end of its pipe, and what it is at."""

    process: Any
    pipe: Any
    key: Hashable = None
    index: int | None = None  # of the item it works on
    since: float = 0.0
    has_answered: bool = False  # else it may still load what it needs, and hears nobody
    values: set[int] = field(default_factory=set)  # that it has been sent, by number


class Queue(Protocol):
    """Which item is next."""

    def taken(self, worker: Worker, team: Sequence[Worker], /) -> int | None:
        """The place of the next item for the worker; None while there is none for it."""

    def ended(self, worker: Worker, /) -> None:
        """Hear that the worker is done with its item."""


@dataclass(slots=True)
class ByKey:
    """A worker goes on with the key it has worked on, as long as there is work for it.

    Items that nobody works on, by key, in their order; how long the first of a key took, and the latest.
    """

    by_key: dict[Hashable, deque[int]] = field(default_factory=dict)
    seconds: dict[Hashable, tuple[float, float | None]] = field(default_factory=dict)

    @classmethod
    def of(cls, keys: Sequence[Hashable]) -> "ByKey":
        """All items, by the key of each."""
        queue = cls()
        for index, key in enumerate(keys):
            queue.by_key.setdefault(key, deque()).append(index)
        return queue

    def taken(self, worker: Worker, team: Sequence[Worker]) -> int | None:
        """The next item for the worker: of the key it had; else of one that nobody has; else of one that is shared."""
        held = {member.key for member in team if member is not worker}
        own = [key for key in self.by_key if key == worker.key]
        free = [key for key in self.by_key if key not in held]
        keys = own or free or [max(self._shared(worker), key=lambda key: len(self.by_key[key]), default=None)]
        if keys[0] not in self.by_key:
            return None
        worker.key = keys[0]
        items = self.by_key[worker.key]
        index = items.popleft()
        if not items:
            del self.by_key[worker.key]
        return index

    def _shared(self, worker: Worker) -> list[Hashable]:
        """Keys worth a second worker, which repeats what only the first item of a key costs.

        One that has done nothing yet loses nothing by it; later the items that wait must take longer than that.
        """
        if worker.key is None:
            return list(self.by_key)
        costs = {key: self.seconds.get(key, (0.0, None)) for key in self.by_key}
        return [key for key, (first, latest) in costs.items() if len(self.by_key[key]) * (latest or 0.0) > first]

    def ended(self, worker: Worker) -> None:
        """Note how long the worker took."""
        took = time.monotonic() - worker.since
        first = self.seconds.get(worker.key)
        self.seconds[worker.key] = (took, None) if first is None else (first[0], took)


def as_it_is(worker: Worker, item: Any) -> Any:  # noqa: ARG001 - others say more to a worker that knows less
    """What a worker is sent: the item."""
    return item


class Team(Generic[Item, Result]):
    """Processes that remember: start() in each gives what is called on items. As a block, it ends them.

    `tidying`: seconds that a process has to clean up when it is told to end, such as a program of its own.
    """

    def __init__(self, start: Start[Item, Result], workers: int, tidying: float = TIDYING) -> None:
        self._start, self._size, self._tidying = start, workers, tidying
        self._members: list[Worker] = []

    def work(
        self, items: Sequence[Any], queue: Queue, message: Callable[[Worker, Any], Item] = as_it_is
    ) -> Iterator[tuple[int, Result | LtrError]]:
        """Place and result of each item as it ends, in the order that the queue gives them out.

        An error stands for the result where the process was lost, or could not begin. Any other exception is raised
        here. Who is still at work when nobody wants more goes on, and its result is dropped.
        """
        team = self._members

        def give(worker: Worker) -> None:
            worker.index, worker.since = queue.taken(worker, team), time.monotonic()
            if worker.index is not None:
                _send(worker, message(worker, items[worker.index]))

        self._settle()
        while len(team) < min(self._size, len(items)):
            team.append(_hired(self._start, self._tidying))
        for worker in team:
            give(worker)
        while busy := [member for member in team if member.index is not None]:
            for pipe in connection.wait([member.pipe for member in busy]):
                worker = next(member for member in busy if member.pipe is pipe)
                queue.ended(worker)
                ended = _ended(worker)
                if worker.pipe.closed:
                    team[team.index(worker)] = _hired(self._start, self._tidying)
                yield ended
                for idle in (member for member in team if member.index is None):
                    give(idle)

    def _settle(self) -> None:
        """Wait for what nobody wants to hear any more of an earlier work."""
        for worker in [member for member in self._members if member.index is not None]:
            with suppress(Exception):
                _ended(worker)
            if worker.pipe.closed:
                self._members.remove(worker)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        _dismiss(self._members)
        self._members.clear()


def work(
    start: Start[Item, Result],
    items: Sequence[Item],
    keys: Sequence[Hashable],
    *,
    workers: int,
    tidying: float = TIDYING,
) -> Iterator[tuple[int, Result | LtrError]]:
    """Place and result of each item as it ends, by a team for these items alone, which share keys."""
    with Team(start, workers, tidying) as team:
        yield from team.work(items, ByKey.of(keys))


def _send(worker: Worker, message: Any) -> None:
    try:
        worker.pipe.send(message)
    except OSError:  # it has died, or waits for the rest of what cannot be sent: its end of the pipe tells
        worker.process.kill()


def _ended(worker: Worker) -> tuple[int, Any]:
    """The result of the item the worker had."""
    index, worker.index = worker.index or 0, None
    try:
        is_good, outcome = _received(worker.pipe)
        worker.has_answered = True
    except Exception:  # whatever reading of nonsense raises
        return index, LostProcessError(_end(worker))
    if not is_good:
        raise outcome
    return index, outcome


def _received(pipe: Any) -> tuple[bool, Any]:
    """The answer in the pipe."""
    if pipe.recv_bytes(len(MARK)) != MARK:  # no more is read, whatever length stands there
        raise ValueError("no answer")
    is_good, outcome = pipe.recv()
    return is_good, outcome


def _end(worker: Worker) -> int | None:
    """The exit code of a process that nobody talks to any more."""
    worker.pipe.close()
    worker.process.join(PATIENCE)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()
    code: int | None = worker.process.exitcode
    return code


def _hired(start: Start[Any, Any], tidying: float) -> Worker:
    """A process of its own, which no Ctrl-C reaches: whoever started it ends it."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(start, theirs, tidying), daemon=True)
    try:
        with _sigint_blocked():
            deferring(process.start)()
    except BaseException:  # a signal came, which waited until the process had started
        if process.pid is not None:
            process.kill()
        raise
    theirs.close()
    return Worker(process, ours)


@contextmanager
def _sigint_blocked() -> Iterator[None]:
    """What is started here never hears a Ctrl-C, from its first moment on; we hear it afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    resource_tracker.ensure_running()  # to start it would end the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(start: Start[Any, Any], pipe: Any, tidying: float) -> None:
    """Work in, results out, until there are no more or a SIGTERM comes."""
    keep_freed_memory()
    heard: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: _terminate(number, tidying, heard))
    threading.Thread(target=_end_with_parent, daemon=True).start()
    with suppress(OSError):
        os.dup2(2, 1)  # results go through the pipe: what a plug-in prints is none
    try:
        _answer_each(start, pipe)
    except Exception:
        if heard:  # a library took the end for a failure of its own, as of an import
            raise EndedBySignal(128 + heard[0]) from None
        raise


def _terminate(number: int, tidying: float, heard: list[int]) -> NoReturn:
    """End as if the work had failed, so that half-written files are removed; where that takes long, without it.

    An exception that reaches a finaliser, as of a library that compiles, is dropped and would be reported there.
    """
    heard.append(number)
    sys.unraisablehook = lambda unraisable: None
    overdue = threading.Timer(tidying, os._exit, (128 + number,))
    overdue.daemon = True
    overdue.start()
    raise EndedBySignal(128 + number)


def _answer_each(start: Start[Any, Any], pipe: Any) -> None:
    call = _started(start)
    while True:
        try:
            answer = _tried(call, pipe.recv())
            _answer(pipe, answer)
        except (EOFError, OSError):  # whoever started this process wants no more of it
            return


def _started(start: Start[Any, Any]) -> Callable[[Any], Any]:
    """What is called on items; where it cannot be had, what gives the reason for each."""
    try:
        return start()
    except LtrError as error:
        reason = error
    return lambda item: reason


def _tried(call: Callable[[Any], Any], item: Any) -> tuple[bool, Any]:
    try:
        return True, call(item)
    except Exception:  # a bug of ours: told by whoever started this process
        return False, RuntimeError(traceback.format_exc())


def _answer(pipe: Any, answer: tuple[bool, Any]) -> None:
    pipe.send_bytes(MARK)
    try:
        pipe.send(answer)
    except OSError:
        raise
    except MemoryError:
        pipe.send((True, RunError(NO_MEMORY)))
    except Exception as error:  # of a plug-in that returns what no other process can have
        pipe.send((True, RunError(f"a worker's answer cannot be sent: {error}")))


def _end_with_parent() -> None:
    """Stop at once when the parent is gone, however it went: nobody else may find this process still writing.

    It stops as at a SIGTERM, so that what it has started itself, such as a program that ranks, ends with it.
    """
    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(PATIENCE)
        os._exit(1)


def _dismiss(team: Sequence[Worker]) -> None:
    for worker in team:
        worker.pipe.close()  # one that waits ends by itself
        if worker.index is not None or not worker.has_answered:
            worker.process.terminate()
    for worker in team:
        _end(worker)
