"""What an engine is: a map that keeps the order, and values that each worker holds once. The default is a loop."""

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Literal, Protocol, TypeVar

from ltr.errors import LtrWarning, UsageError

Item = TypeVar("Item")
Result = TypeVar("Result")
Value = TypeVar("Value")
HeldValue = TypeVar("HeldValue", covariant=True)

NO_SHARDS = (
    "the engine works on shards, and has none here: the samples are in memory; a directory of columns has shards"
)


@dataclass(frozen=True, kw_only=True)
class EngineConfig:
    """Who works on the shards; nothing of it changes a byte of a result."""

    name: Literal["local", "ray"] = "local"
    """local: processes of this machine; ray: a Ray cluster."""
    workers: int | None = None
    """How many shards at the same time; without it, one here, and on a cluster one for each processor."""
    address: str | None = None
    """The Ray cluster, as HOST:PORT or auto; without it, Ray starts on this machine for the time of the command."""

    def __post_init__(self) -> None:
        if self.workers is not None and self.workers < 1:
            raise ValueError(f"workers is {self.workers}; it must be at least 1")


class Shared(Protocol[HeldValue]):
    """A value that goes to each worker once, and stays warm there; what crosses with an item is only its name."""

    @property
    def value(self) -> HeldValue:
        """The value, which nobody changes."""


class Engine(Protocol):
    """Calls a function on items, somewhere; as a block, it ends what it started."""

    def map(self, function: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        """Yield function(item) of each, in order, each when it is asked for; a few may be ready before.

        The function is one of a module, or a `partial` of one. Items are small: the path and number of a shard, never
        its rows. What is large and the same for all goes in through `shared`.
        """

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of machine that work, where that may be another than this one."""

    def shared(self, value: Value) -> Shared[Value]:
        """Return the value for functions of `map`, for as long as somebody holds what is returned."""

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
        """Yield function(item) of each."""
        return map(function, items)

    def shared(self, value: Value) -> Shared[Value]:
        """Return the value itself."""
        return Here(value)

    def __enter__(self) -> "InProcess":
        return self

    def __exit__(self, *exception: object) -> None:
        """End nothing: nothing was started."""


IN_PROCESS: InProcess = InProcess()


def open_engine(config: EngineConfig, code: Sequence[str] = ()) -> Engine:
    """Return the engine, to be used as a block; `code`: the files of plug-ins that its workers are to run first."""
    if config.name == "ray":
        from ltr.engine.ray import OnRay

        return OnRay(config.workers, config.address, code=code)
    if config.address is not None:
        raise UsageError(f"address {config.address!r} is that of a Ray cluster: it needs --engine ray")
    if config.workers is None or config.workers == 1:
        return IN_PROCESS
    from ltr.engine.processes import Local

    return Local(config.workers, code=code)


def warn_without_shards(config: EngineConfig) -> None:
    """Warn where an engine was asked for, and everything is done in memory."""
    if config != EngineConfig():
        warnings.warn(NO_SHARDS, LtrWarning, stacklevel=3)
