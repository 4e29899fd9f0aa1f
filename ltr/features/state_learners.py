"""The three ways in which a feature learns the state that its column reads.

No function here knows which rows are training rows: cross-fitting decides which groups it sees.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from ltr.arrays import State
from ltr.files.mergeable_tables import merged

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Counted:
    """Learned by counting. Each shard of whole traces is counted once; parts of shards make that of all of them.

    A part holds exact sums and unions. Only `state` may bound or round, so that any cut into shards gives one state.
    Without a `merge` of its own a part is a mapping of tables (`ltr.files.mergeable_tables.table`).
    """

    count: Function  # (groups, context) -> part
    state: Callable[..., State]  # (part) -> state
    merge: Function = merged  # (part, part) -> part
    by_name: bool = False  # it reads names and labels alone: a run keeps the part, and outcomes are added

    @property
    def functions(self) -> tuple[Function, ...]:
        """The functions whose keyword-only parameters are options."""
        return self.count, self.state


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
