"""The three ways in which a feature learns the state that its column reads.

No function here knows which rows are training rows: cross-fitting decides which groups it sees.
"""

import inspect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from ltr.arrays import FloatArray, State
from ltr.data.candidates import Candidates
from ltr.files.mergeable_tables import merged

Function = Callable[..., Any]


class LeftOut(Protocol):
    """What a feature learned of some parts at once, and would have learned without some of them."""

    def rest(self, left_out: Collection[int], /) -> State:
        """Return what `column` reads where these parts are left out, by their places."""
        ...

    def state(self, left_out: Collection[int], /) -> State:
        """Return what is learned of the other parts."""
        ...

    @staticmethod
    def column(candidates: Candidates, rest: State, /) -> FloatArray:
        """Return the values of candidates whose queries are in the parts that were left out."""
        ...


@dataclass(frozen=True, slots=True)
class Counted:
    """Learned by counting. Each shard of whole traces is counted once; parts of shards make that of all of them.

    A part holds exact sums and unions. Only `state` may bound or round, so that any cut into shards gives one state.
    Without a `merge` of its own a part is a mapping of tables (`ltr.files.mergeable_tables.table`). Where what is
    learned without some parts is quicker to say of all at once, `left_out` does; it may decline with None.
    """

    count: Function  # (groups, context) -> part
    state: Callable[..., State]  # (part) -> state
    merge: Function = merged  # (part, part) -> part
    left_out: Callable[..., LeftOut | None] | None = None  # (parts) -> what is learned without some of them

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions whose keyword-only parameters are options."""
        return self.count, self.state, *([self.left_out] if self.left_out else [])


@dataclass(frozen=True, slots=True)
class Optimised:
    """Learned as the optimum of a convex problem: from a fixed start, each pass a sum over the shards in their order.

    A shard has `groups` and the `context` in which they are read.
    """

    state: Callable[..., State]  # (shards, context) -> state

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions whose keyword-only parameters are options."""
        return (self.state,)


@dataclass(frozen=True, slots=True)
class InMemory:
    """Learned from all groups at once: anything goes, once for each fold, in memory."""

    state: Callable[..., State]  # (groups, context) -> state

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions whose keyword-only parameters are options."""
        return (self.state,)


Learner = Counted | Optimised | InMemory


@cache
def option_names(function: Function) -> tuple[str, ...]:
    """The names of a function's keyword-only parameters: the options it takes.

    >>> option_names(lambda part, *, strength=2.0: {})
    ('strength',)
    """
    parameters = inspect.signature(function).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)
