"""What a catalogue of tools alone decides for columns: computed once for each tool."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np

from ltr.arrays import IntArray, distinct
from ltr.data.candidates import Candidates
from ltr.data.tool_texts import ToolText
from ltr.features.feature_context import StateMemo
from ltr.features.plain_tool_text import plain_tool_text


@dataclass(frozen=True, slots=True)
class ToolList:
    """Tools that a feature prepares: distinct pairs of a name and a text, in no order that means anything."""

    names: tuple[str, ...]
    texts: "tuple[ToolText, ...]"

    def part(self, first: int, last: int) -> "ToolList":
        """Those of the places first:last."""
        return ToolList(self.names[first:last], self.texts[first:last])

    @property
    def plain_texts(self) -> tuple[str, ...]:
        """What learned features read of each."""
        return tuple(plain_tool_text(name, text.description) for name, text in zip(self.names, self.texts, strict=True))


class Table(Protocol):
    """What a feature prepares of tools: an array with a row for each, or an object with this method."""

    def extended(self, more: Self) -> Self:
        """The rows of this, then those of tools that came later."""
        ...


def tools_of_rows(candidates: Candidates, context: object) -> tuple[ToolList, IntArray]:
    """The distinct tools of the rows, and which of them each row has; for `Context.shared`."""
    pairs = candidates.names * len(candidates.tool_texts) + candidates.texts
    first, codes = distinct(pairs)
    names, texts = np.divmod(pairs[first], max(len(candidates.tool_texts), 1))
    names_of_tools = tuple(candidates.name_texts[name] for name in names.tolist())
    return ToolList(names_of_tools, tuple(candidates.tool_texts[text] for text in texts.tolist())), codes


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
