"""Which span of a tool belongs to which call of a model's answer."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

Moment = tuple[int, int, int]  # when it happened, when its span began, the number of the span in the log


class Used(NamedTuple):
    """A tool as an answer calls it, or as it ran."""

    at: Moment
    name: str
    call_id: str = ""


KEYS: tuple[tuple[Callable[[Used], tuple[str, ...]], bool], ...] = (  # and whether the run may come before the call
    (lambda used: (used.call_id, used.name) if used.call_id else (), True),
    (lambda used: (used.call_id,) if used.call_id else (), True),
    (lambda used: (used.name,), False),
    (lambda used: (used.name,), True),
)


def match_calls(calls: Sequence[Used], runs: Sequence[Used]) -> dict[int, int]:
    """For each run that has one, its call; both in order of time, each call with one run at most.

    Ids come before names. Of several calls the latest before the run is taken. One after it comes last: the clocks of
    two machines differ, and a run that is taken for a call of its own would tell the answer before it is given.

    >>> match_calls([Used((1, 1, 1), "mail"), Used((5, 5, 4), "mail")], [Used((6, 6, 5), "mail")])
    {0: 1}
    """
    call_of_run: dict[int, int] = {}
    taken: set[int] = set()
    for key, may_precede in KEYS:
        waiting: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for number, call in enumerate(calls):
            if number not in taken and key(call):
                waiting[key(call)].append(number)
        for number, run in enumerate(runs):
            listed = waiting.get(key(run), []) if number not in call_of_run else []
            earlier = bisect_right(listed, run.at, key=lambda call: calls[call].at)
            if listed and (earlier or may_precede):
                call_of_run[number] = listed.pop(earlier - 1 if earlier else 0)
                taken.add(call_of_run[number])
    return call_of_run
