"""Work in processes of its own, whose end by accident is an error like any other."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from ltr.errors import RunError

Given = TypeVar("Given")
Found = TypeVar("Found")


def apart(call: Callable[[Given], Found], each: Sequence[Given]) -> list[Found]:
    """call(given) of each, at the same time, in fresh processes that end with it."""
    from concurrent.futures import ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    try:
        with ProcessPoolExecutor(max(len(each), 1), mp_context=get_context("spawn")) as pool:
            return list(pool.map(call, each))
    except BrokenProcessPool:
        raise RunError("its process died: out of memory, or a fault in a library") from None
