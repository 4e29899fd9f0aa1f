"""What an engine is: a map that keeps the order, and values that each worker holds once. The default is a loop."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")
HeldValue = TypeVar("HeldValue", covariant=True)


class Shared(Protocol[HeldValue]):
    """A value that goes to each worker once, and stays warm there; what crosses with an item is only its name."""

    @property
    def value(self) -> HeldValue:
        """The value, which nobody changes."""


class Engine(Protocol):
    """Calls a function on items, somewhere; as a block, it ends what it started.

    >>> with InProcess() as engine:
    ...     list(engine.map(abs, [-1, 2]))
    [1, 2]
    """

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """function(item) of each, in order, each when it is asked for; a few may be ready before.

        The function is one of a module, or a `partial` of one. Items are small: the path and number of a shard, never
        its rows. What is large and the same for all goes in through `shared`. One map runs at a time.
        """

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of machine that work, where that may be another than this one."""

    def shared(self, value: Value) -> Shared[Value]:
        """The value for functions of `map`, for as long as somebody holds what is returned."""

    def __enter__(self) -> "Engine": ...

    def __exit__(self, *exception: object) -> None: ...


@dataclass(frozen=True, slots=True)
class Here(Generic[Value]):
    """A value that is where it is needed already."""

    value: Value


class InProcess:
    """One item after the other, here."""

    kinds: tuple[str, ...] = ()

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """function(item) of each."""
        return map(function, items)

    def shared(self, value: Value) -> Shared[Value]:
        """The value itself."""
        return Here(value)

    def __enter__(self) -> "InProcess":
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing was started."""


IN_PROCESS = InProcess()
