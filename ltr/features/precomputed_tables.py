"""What a catalogue of tools alone decides for columns: computed once for each tool."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from ltr.arrays import IntArray
from ltr.features.feature_context import StateMemo


class Table(Protocol):
    """What a feature prepares of tools: an array with a row for each, or an object with this method."""

    def extended(self, more: Self) -> Self:
        """The rows of this, then those of tools that came later."""
        ...


@dataclass(frozen=True, slots=True)
class Tables:
    """What each feature prepared of tools, None for one that prepares nothing; and the row of each candidate there."""

    of_features: tuple[Any, ...]
    rows: IntArray  # (rows,)
    of_states: StateMemo  # what features made of their states alone, held from query to query


def extended(table: Any, more: Any) -> Any:
    """The rows of a table, then those of tools that came later.

    >>> extended(np.array([1, 2]), np.array([3]))
    array([1, 2, 3])
    """
    if isinstance(table, np.ndarray):
        return np.concatenate([table, more])
    return None if table is None else table.extended(more)


def all_extended(tables: Sequence[Any], more: Sequence[Any]) -> tuple[Any, ...]:
    """The same of the tables of all features."""
    return tuple(extended(table, rows) for table, rows in zip(tables, more, strict=True))
