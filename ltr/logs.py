"""What the work has to tell on its way, for whoever asked to hear it: files, encoders, how long each stage took."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

Given = ParamSpec("Given")
Result = TypeVar("Result")
Listener = Callable[[str], None]
_listeners: list[Listener] = []


def tell(text: str) -> None:
    """One line to each listener; mostly there is none."""
    for listener in _listeners:
        listener(text)


@contextmanager
def told_to(listener: Listener) -> Iterator[None]:
    """All that is told within goes to the listener as well.

    >>> with told_to(print):
    ...     tell("read a.jsonl")
    read a.jsonl
    >>> tell("nobody hears")
    """
    _listeners.append(listener)
    try:
        yield
    finally:
        _listeners.remove(listener)


@contextmanager
def stage(name: str, clock: Callable[[], float] = time.perf_counter) -> Iterator[None]:
    """Tells how long the work within took.

    >>> with told_to(print), stage("training", clock=iter([1.0, 3.5]).__next__):
    ...     pass
    training took 2.500 s
    """
    start = clock()
    yield
    tell(f"{name} took {clock() - start:.3f} s")


def timed(name: str) -> Callable[[Callable[Given, Result]], Callable[Given, Result]]:
    """A decorator: each call of the function is a stage of that name."""

    def around(function: Callable[Given, Result]) -> Callable[Given, Result]:
        @wraps(function)
        def staged(*args: Given.args, **kwargs: Given.kwargs) -> Result:
            with stage(name):
                return function(*args, **kwargs)

        return staged

    return around
