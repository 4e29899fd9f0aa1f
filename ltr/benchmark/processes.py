"""Work in processes of its own, whose end by accident is an error like any other."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from ltr.errors import LtrError, RunError
from ltr.experiments.workers import work

Given = TypeVar("Given")
Found = TypeVar("Found")

LONGEST_CAUSE = 300


def apart(call: Callable[[Given], Found], each: Sequence[Given]) -> list[Found]:
    """call(given) of each, at the same time, each in a fresh process; whatever one raises is a RunError here."""
    found: dict[int, Any] = {}
    for place, answer in work(partial(_careful, call), each, range(len(each)), workers=len(each)):
        if isinstance(answer, LtrError):
            raise answer
        found[place], problem = answer
        if problem:
            raise RunError(problem)
    return [found[place] for place in range(len(each))]


def _careful(call: Callable[[Any], Any]) -> Callable[[Any], tuple[Any, str]]:
    """What gives the result of the call, and the cause where there is none: not every exception can be sent."""

    def tried(given: Any) -> tuple[Any, str]:
        try:
            return call(given), ""
        except Exception as error:  # a library or a plug-in may raise anything
            return None, cause(error)

    return tried


def cause(error: Exception) -> str:
    """The error in one line, with its kind where it is none of ours."""
    said = " ".join(str(error).split())[:LONGEST_CAUSE]
    return said if isinstance(error, LtrError) else f"{type(error).__name__}: {said}"
