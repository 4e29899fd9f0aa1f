"""Work in processes of its own, whose end by accident is an error like any other."""

import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from ltr.errors import LtrError, RunError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.context import SpawnProcess

Given = TypeVar("Given")
Found = TypeVar("Found")

PATIENCE = 10.0  # seconds a process has to end what it started
LONGEST_CAUSE = 300


def apart(call: Callable[[Given], Found], each: Sequence[Given]) -> list[Found]:
    """call(given) of each, at the same time, in fresh processes; whatever one raises is a RunError here.

    A pool would not do: its processes wait for more work for ever when this one is killed.
    """
    running = [_started(call, given) for given in each]
    try:
        return [_result(pipe) for _, pipe in running]
    finally:
        for process, pipe in running:
            pipe.close()
            _end(process)


def _started(call: Callable[[Given], Any], given: Given) -> "tuple[SpawnProcess, Connection]":
    from multiprocessing import get_context

    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_work, args=(theirs, call, given))
    process.start()
    theirs.close()  # else its end would never be heard of
    return process, ours


def _work(pipe: "Connection", call: Callable[[Any], Any], given: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever started this is interrupted, too, and ends it
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))  # what was begun is tidied up
    try:
        answer = call(given), ""
    except Exception as error:  # a library or a plug-in may raise anything, also what cannot be sent
        answer = None, cause(error)
    with suppress(OSError):  # nobody waits for it any more
        pipe.send(answer)


def cause(error: Exception) -> str:
    """The error in one line, with its kind where it is none of ours."""
    said = " ".join(str(error).split())[:LONGEST_CAUSE]
    return said if isinstance(error, LtrError) else f"{type(error).__name__}: {said}"


def _result(pipe: "Connection") -> Any:
    try:
        found, problem = pipe.recv()
    except (EOFError, OSError):
        raise RunError("its process died: out of memory, or a fault in a library") from None
    if problem:
        raise RunError(problem)
    return found


def _end(process: "SpawnProcess") -> None:
    process.join(0.5)
    if process.is_alive():
        process.terminate()
        process.join(PATIENCE)
    if process.is_alive():
        process.kill()
    process.join()
