"""Signals that arrive inside a call that must not be broken off wait until it has returned.

A handler that raises while numba makes Python objects of a result ends in a SystemError, or is lost; a process whose
start is broken off in the middle complains that it was told nothing.
"""

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def deferring(call: Callable[..., Any]) -> Callable[..., Any]:
    """The call, during which SIGINT and SIGTERM wait: their handlers run when it has returned."""

    def called(*arguments: Any) -> Any:
        if threading.current_thread() is not threading.main_thread():  # handlers run in the main thread alone
            return call(*arguments)
        arrived: list[tuple[int, FrameType | None]] = []
        handlers = {number: signal.getsignal(number) for number in SIGNALS}
        own = {int(number): handler for number, handler in handlers.items() if callable(handler)}
        is_at_work = True

        def hear(number: int, frame: FrameType | None) -> None:
            if is_at_work:
                arrived.append((number, frame))
            else:  # a handler that was back before has raised, and the others were not put back: this one stands for it
                own[number](number, frame)

        try:
            for number in own:
                signal.signal(number, hear)
            return call(*arguments)
        finally:
            is_at_work = False
            for number, handler in own.items():
                signal.signal(number, handler)
            for event in arrived:
                own[event[0]](*event)

    return called
