"""Processes of this machine, which stay warm between maps."""

import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from typing import Any, Generic, Self, TypeVar

from ltr.engines.engine import Shared
from ltr.engines.process_pool import LostProcessError, Team, Worker
from ltr.engines.remote_calls import CallResult, Surroundings, outcome_of
from ltr.errors import LtrError, LtrWarning, RunError

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")
AHEAD = 2  # results a worker that may wait to be asked for

VALUES: dict[int, Any] = {}  # in a worker: the shared values that it has been sent, by number


class Local:
    """As many processes as there are workers, started when the first item is there.

    An item whose process is lost is given to another, once; then it is an error. `code`: files of plug-ins.
    """

    def __init__(self, workers: int, *, code: Sequence[str] = ()) -> None:
        self._workers, self._code = workers, tuple(code)
        self.kinds: tuple[str, ...] = ()
        self._is_busy = False
        self._team: Team[_Message, CallResult] | None = None
        self._shared: weakref.WeakValueDictionary[int, _Sent[Any]] = weakref.WeakValueDictionary()
        self._numbers = count()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """function(item) of each, in order."""
        if self._is_busy:
            raise RuntimeError("one map runs at a time")
        self._is_busy = True
        try:
            sent = self.shared(function)
            for outcome in self._in_order([_Call(sent, item) for item in items]):
                yield outcome.told()
        finally:
            self._is_busy = False

    def shared(self, value: Value) -> Shared[Value]:
        """The value, which each process is sent once."""
        number = next(self._numbers)
        self._shared[number] = sent = _Sent(number, value)
        return sent

    def _in_order(self, calls: "Sequence[_Call]") -> Iterator[CallResult]:
        if self._team is None:
            self._team = Team(partial(_serving, Surroundings.here(self._code)), self._workers)
        queue, ready = _InOrder(len(calls), AHEAD * self._workers), dict[int, CallResult]()
        for place, outcome in self._team.work(calls, queue, self._message):
            if isinstance(outcome, LostProcessError):
                queue.again(place, outcome)
            elif isinstance(outcome, LtrError):
                raise outcome
            else:
                ready[place] = outcome
            while queue.first in ready:
                yield ready.pop(queue.first)
                queue.first += 1

    def _message(self, worker: Worker, call: "_Call") -> "_Message":
        """The call, with the values that are new to the worker, and the numbers of those that it is to drop."""
        live = dict(self._shared.items())  # what dies meanwhile is left out
        new = {number: sent.value for number, sent in live.items() if number not in worker.values}
        gone = worker.values - live.keys()
        worker.values |= new.keys()
        worker.values -= gone
        return _Message(call, new, gone)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        team, self._team = self._team, None
        if team is not None:
            team.__exit__(*exception)


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


@dataclass(frozen=True, slots=True)
class _Call:
    function: Shared[Callable[[Any], Any]]
    item: Any

    def __call__(self) -> Any:
        return self.function.value(self.item)


@dataclass(frozen=True, slots=True)
class _Message:
    call: _Call
    new: Mapping[int, Any]
    gone: set[int]


def _serving(surroundings: Surroundings) -> Callable[[_Message], CallResult]:
    surroundings.enter()
    return _served


def _served(message: _Message) -> CallResult:
    for number in message.gone:
        del VALUES[number]
    VALUES.update(message.new)
    return outcome_of(_Call.__call__, message.call)


@dataclass(slots=True)
class _InOrder:
    """The first items first, and none far ahead of the first that is waited for."""

    items: int
    ahead: int
    first: int = 0  # that is waited for
    _next: int = 0
    _lost: list[int] = field(default_factory=list)
    _seen_lost: set[int] = field(default_factory=set)

    def taken(self, _worker: Worker, _team: Sequence[Worker]) -> int | None:
        """The next item, unless it is too far ahead."""
        if self._lost:
            return self._lost.pop()
        if self._next >= min(self.items, self.first + self.ahead):
            return None
        self._next += 1
        return self._next - 1

    def ended(self, _worker: Worker) -> None:
        """Nothing changes: the order is fixed."""

    def again(self, place: int, error: LostProcessError) -> None:
        """Another worker is to take the item; raise where that was so before."""
        if place in self._seen_lost:
            raise RunError(f"a worker was lost twice at the same shard: {error}; try fewer --workers")
        warnings.warn("a worker was lost; its shard is worked on again", LtrWarning, stacklevel=2)
        self._seen_lost.add(place)
        self._lost.append(place)
