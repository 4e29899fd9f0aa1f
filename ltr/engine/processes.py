"""Processes of this machine that answer calls and stay warm between them, each waited for by a thread of its own.

A process that dies takes only its own call with it. None hears a Ctrl-C, and none outlives the one that started it.
"""

import os
import signal
import sys
import threading
import time
import traceback
import warnings
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from multiprocessing import connection, get_context, parent_process, resource_tracker
from typing import Any, Generic, NoReturn, Self, TypeVar

from ltr.engine.calls import NO_MEMORY, CallResult, Surroundings, outcome_of
from ltr.engine.engine import Shared
from ltr.errors import EndedBySignal, LtrError, LtrWarning, RunError
from ltr.memory import keep_freed_memory
from ltr.signals import deferring

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")
Start = Callable[[], Callable[[Any], Any]]

AHEAD = 2  # results a worker that may wait to be asked for
TIDYING = 0.5  # seconds that a process takes at most to remove what it was writing
PATIENCE = 5.0  # seconds after which a process that does not end is killed
GLANCE = 1.0  # seconds between two looks whether a silent process is alive: one that it forked may hold its pipe open
MARK = b"ltr answers"  # before each answer: what else stands in a pipe, say of a plug-in that closed it, is none
NO_ANSWER = "its process gave no answer that can be read; plug-ins must leave the files of others alone"

# a start looks at all children, too, and of two that ask for one exit code only one is told
STARTS_AND_ENDS = threading.Lock()
VALUES: dict[int, Any] = {}  # in a worker: the shared values that it has been sent, by number


class LostProcessError(RunError):
    """A process that ended before its work did: its exit code, which is 0 where we ended the talk."""

    def __init__(self, code: int | None) -> None:
        super().__init__(code)

    def __str__(self) -> str:
        code = self.args[0]
        was_told = code in (-signal.SIGTERM, 128 + signal.SIGTERM)
        cause = "a SIGTERM, perhaps of a plug-in" if was_told else "too little memory, or killed"
        return f"its process ended with {code}: {cause}" if code else NO_ANSWER


class Local:
    """As many processes as there are workers, each started when there is an item for it.

    An item whose process is lost is given to another, once; then it is an error. `code`: files of plug-ins.
    """

    kinds: tuple[str, ...] = ()

    def __init__(self, workers: int, *, code: Sequence[str] = ()) -> None:
        self._workers, self._code = workers, tuple(code)
        self._team: Team | None = None
        self._idle: list[Worker] = []
        self._shared: weakref.WeakValueDictionary[int, _Sent[Any]] = weakref.WeakValueDictionary()
        self._numbers = count()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield function(item) of each, in order."""
        if self._team is None:
            self._team = Team(partial(_serving, Surroundings.here(self._code)), self._workers)
        sent = self._sent(function)
        futures: deque[Future[tuple[LostProcessError | None, CallResult]]] = deque()
        try:
            for item in items:
                live = dict(self._shared.items())  # what nobody holds any more is left out, and workers drop it
                futures.append(self._team.submit(self._call, self._team, live, sent.number, item))
                if len(futures) == AHEAD * self._workers:
                    yield _told(*futures.popleft().result())
            while futures:
                yield _told(*futures.popleft().result())
        finally:
            for future in futures:
                future.cancel()  # those at work go on, and nobody hears of them

    def shared(self, value: Value) -> Shared[Value]:
        """Return the value, which each process is sent once."""
        return self._sent(value)

    def _sent(self, value: Value) -> "_Sent[Value]":
        number = next(self._numbers)
        self._shared[number] = sent = _Sent(number, value)
        return sent

    def _call(
        self, team: "Team", live: dict[int, "_Sent[Any]"], function: int, item: Any
    ) -> tuple[LostProcessError | None, CallResult]:
        """Return what became of the item, in a second process where the first was lost; in a thread."""
        worker, lost = self._idle.pop() if self._idle else team.hire(), None
        try:
            for _ in range(2):
                new = {number: sent.value for number, sent in live.items() if number not in worker.values}
                gone = worker.values - live.keys()
                worker.values = set(live)
                try:
                    return lost, worker.ask((new, gone, live[function], item))
                except LostProcessError as error:
                    lost = error
        finally:
            live.clear()  # the future may hold it a moment longer than anybody else
            self._idle.append(worker)
        problem = f"a worker was lost twice at the same shard: {lost}; try fewer --workers"
        return lost, CallResult(error=RunError(problem))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        team, self._team, self._idle = self._team, None, []
        if team is not None:
            team.__exit__(*exception)


def _told(lost: LostProcessError | None, outcome: CallResult) -> Any:
    if lost is not None:
        warnings.warn("a worker was lost; its shard is worked on again", LtrWarning, stacklevel=3)
    return outcome.told()


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Sent(Generic[Value]):
    """A value here; for the processes, its number."""

    number: int
    value: Value

    def __reduce__(self) -> tuple[Any, ...]:
        return _Received, (self.number,)


@dataclass(frozen=True, slots=True)
class _Received:
    number: int

    @property
    def value(self) -> Any:
        return VALUES[self.number]


def _serving(surroundings: Surroundings) -> Callable[[Any], CallResult]:
    surroundings.enter()
    return _served


def _served(message: tuple[Mapping[int, Any], set[int], _Received, Any]) -> CallResult:
    new, gone, function, item = message
    for number in gone:
        del VALUES[number]
    VALUES.update(new)
    return outcome_of(function.value, item)


def run_each(
    start: Start, items: Sequence[Any], keys: Sequence[Hashable], *, workers: int, tidying: float = TIDYING
) -> Iterator[tuple[int, Any]]:
    """Yield place and result of each item as it ends, by processes for these items alone.

    start() in each process gives what is called on items. A process goes on with the key it has worked on, for as long
    as there are items of that key. An LtrError stands for the result where the process was lost, or could not begin;
    any other exception is raised here. `tidying`: seconds that a process has to clean up when it is told to end.
    """
    size = max(min(workers, len(items)), 1)
    queue, running = ByKey(keys, size), dict[Future[Any], tuple[int, int]]()
    ended: list[tuple[int, Any]] = []
    with Team(start, size, tidying) as team:
        members, idle = [team.hire() for _ in range(size)], set(range(size))
        while True:
            for member in sorted(idle):
                index = queue.next(member)
                if index is not None:
                    idle.remove(member)
                    running[team.submit(members[member].ask, items[index])] = member, index
            yield from ended
            if not running:
                return
            ended = []
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                member, index = running.pop(future)
                queue.ended(member)
                idle.add(member)
                error = future.exception()
                ended.append((index, error if isinstance(error, LtrError) else future.result()))


class ByKey:
    """Which item is next for each member of a team: of its own key, else of a free one, else of one worth sharing."""

    def __init__(self, keys: Sequence[Hashable], members: int) -> None:
        self._waiting: dict[Hashable, deque[int]] = {}  # by key, in their order
        for index, key in enumerate(keys):
            self._waiting.setdefault(key, deque()).append(index)
        self._keys: list[Hashable] = [None] * members
        self._since = [0.0] * members
        self._seconds: dict[Hashable, tuple[float, float | None]] = {}  # of the first item of a key, and the latest

    def next(self, member: int) -> int | None:
        """Return the place of the next item for the member; None while there is none for it."""
        key = self._key(member)
        if key not in self._waiting:
            return None
        self._keys[member], self._since[member] = key, time.monotonic()
        index = self._waiting[key].popleft()
        if not self._waiting[key]:
            del self._waiting[key]
        return index

    def _key(self, member: int) -> Hashable:
        own = self._keys[member]
        if own in self._waiting:
            return own
        held = {*self._keys[:member], *self._keys[member + 1 :]}
        free = next((key for key in self._waiting if key not in held), None)
        if free is not None:
            return free
        # A second process repeats what only the first item of a key costs. One that has done nothing yet loses nothing
        # by it; later the items that wait must take longer than that.
        costs = {key: self._seconds.get(key, (0.0, None)) for key in self._waiting}
        worth = [
            key
            for key, (first, latest) in costs.items()
            if own is None or len(self._waiting[key]) * (latest or 0.0) > first
        ]
        return max(worth, key=lambda key: len(self._waiting[key]), default=None)

    def ended(self, member: int) -> None:
        """Note how long the member took for its item."""
        key, seconds = self._keys[member], time.monotonic() - self._since[member]
        first = self._seconds.get(key)
        self._seconds[key] = (seconds, None) if first is None else (first[0], seconds)


class Team:
    """Processes that remember, and the threads that wait for them; as a block, it ends them.

    start() in each process gives what is called on messages.
    """

    def __init__(self, start: Start, size: int, tidying: float = TIDYING) -> None:
        self.start, self.tidying, self.is_over = start, tidying, False
        self._threads = ThreadPoolExecutor(size, "ltr-worker", _block_interrupts)
        # a handler that raises while a thread starts would lose the thread, and the process that it starts
        self.submit: Callable[..., Future[Any]] = deferring(self._threads.submit)
        self._members: list[Worker] = []

    def hire(self) -> "Worker":
        """Return a worker, whose process starts with the first message for it."""
        worker = Worker(self)
        self._members.append(worker)
        return worker

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        with STARTS_AND_ENDS:
            self.is_over = True
            processes = [member.process for member in self._members if member.process is not None]
            for process in processes:
                process.terminate()
        deadline = time.monotonic() + PATIENCE
        for process in processes:
            if not connection.wait([process.sentinel], max(deadline - time.monotonic(), 0)):
                process.kill()
        self._threads.shutdown(cancel_futures=True)
        for member in self._members:
            member.end()


def _block_interrupts() -> None:
    """Let no process that this thread starts hear a Ctrl-C, from its first moment on: whoever started it ends it."""
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        resource_tracker.ensure_running()  # to start it would unblock them
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})


class Worker:
    """A process, and our end of its pipe; a lost one is followed by another. One thread at a time talks to it."""

    def __init__(self, team: Team) -> None:
        self.process: Any = None
        self.values: set[int] = set()  # that the process has been sent, by number
        self._team = team
        self._pipe: Any = None

    def ask(self, message: Any) -> Any:
        """Return the answer of the process; raise a LostProcessError where there is none."""
        pipe = self._pipe or self._started()
        try:
            pipe.send(message)
        except OSError:  # it has died, or waits for the rest of what cannot be sent: its end of the pipe tells
            self.process.kill()
        try:
            while not pipe.poll(GLANCE):
                if self.process.exitcode is not None:
                    raise EOFError
            if pipe.recv_bytes(len(MARK)) != MARK:  # no more is read, whatever length stands there
                raise EOFError
            result, error = pipe.recv()
        except Exception:  # whatever reading of nonsense raises
            raise LostProcessError(self.end()) from None
        if error is not None:
            raise error
        return result

    def _started(self) -> Any:
        context = get_context("spawn")
        with STARTS_AND_ENDS:
            if self._team.is_over:
                raise LostProcessError(0)
            ours, theirs = context.Pipe()
            process = context.Process(target=_serve, args=(self._team.start, theirs, self._team.tidying), daemon=True)
            process.start()
            self.process, self._pipe = process, ours
        theirs.close()
        return ours

    def end(self) -> int | None:
        """Talk no more to the process, and return its exit code."""
        process, pipe = self.process, self._pipe
        self.process, self._pipe, self.values = None, None, set()
        if process is None:
            return None
        pipe.close()
        if not connection.wait([process.sentinel], PATIENCE):
            process.kill()
        with STARTS_AND_ENDS:
            process.join()
            code: int | None = process.exitcode
        return code


def _serve(start: Start, pipe: Any, tidying: float) -> None:
    """Answer messages, in a process of its own, until there are no more or a SIGTERM comes."""
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


def _answer_each(start: Start, pipe: Any) -> None:
    call, no_start = None, None
    try:
        call = start()
    except LtrError as error:  # told of each message
        no_start = error
    with suppress(EOFError, OSError):  # whoever started this process wants no more of it
        while True:
            message = pipe.recv()
            answer: tuple[Any, Exception | None]
            try:
                answer = (call(message) if call else None), no_start
            except Exception:  # a bug of ours: told by whoever started this process
                answer = None, RuntimeError(traceback.format_exc())
            _answer(pipe, answer)


def _answer(pipe: Any, answer: tuple[Any, Exception | None]) -> None:
    pipe.send_bytes(MARK)
    try:
        pipe.send(answer)
    except OSError:
        raise
    except MemoryError:
        pipe.send((None, RunError(NO_MEMORY)))
    except Exception as error:  # of a plug-in that returns what no other process can have
        pipe.send((None, RunError(f"a worker's answer cannot be sent: {error}")))


def _terminate(number: int, tidying: float, heard: list[int]) -> NoReturn:
    """End as if the work had failed, so that half-written files are removed; where that takes long, without it."""
    heard.append(number)
    # an exception that reaches a finaliser, as of a library that compiles, is dropped and would be reported there
    sys.unraisablehook = lambda unraisable: None
    overdue = threading.Timer(tidying, os._exit, (128 + number,))
    overdue.daemon = True
    overdue.start()
    raise EndedBySignal(128 + number)


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
