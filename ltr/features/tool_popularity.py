"""How often a tool was right: against chance, and at all."""

from typing import Annotated

import numpy as np

from ltr.arrays import FloatArray, State, code_sums
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList
from ltr.data.groups import Groups
from ltr.features.feature_context import Context
from ltr.features.registry import feature
from ltr.features.state_learners import Counted
from ltr.features.text_tables import names_table, place_of, spelled_table, table_texts
from ltr.files.learned_state_types import Floats, Integers, TextTable, learns
from ltr.files.mergeable_tables import Part


def count_wins(groups: Groups, context: Context) -> Part:
    """For each tool how often it was right, and how often it would have been if chosen blindly among those offered.

    A row that was drawn from a catalogue was not offered.
    """
    candidates, sizes = groups.candidates, np.diff(groups.offsets)
    is_logged = candidates.is_logged.astype(float)
    is_right = (groups.labels > 0) * is_logged
    names, count = candidates.names, len(candidates.name_texts)
    right, offered = (
        np.add.reduceat(rows, groups.offsets[:-1]) if len(sizes) else rows for rows in (is_right, is_logged)
    )
    blind = np.repeat(right / np.maximum(offered, 1), sizes) * is_logged
    wins, chance = code_sums(names, is_right, count), code_sums(names, blind, count)
    return {"tools": names_table(candidates.name_texts, wins=wins.astype(np.int64), chance=chance)}


@learns(TextTable("tools", wins=Integers("tools"), chance=Floats("tools")))
def lift_state(part: Part) -> State:
    """Wins and chance of each tool."""
    return spelled_table(part["tools"].facts["name"], **part["tools"].sums)


def strength_by_moments(wins: FloatArray, chance: FloatArray) -> float:
    """The strength of shrinkage, 1/v: v = (sum over tools of (wins - chance)^2 - sum of chance) / sum of chance^2.

    Of wins that vary by chance alone the squares are as large as chance, and v is 0. Infinite where v is not above 0.

    >>> strength_by_moments(np.array([9.0, 1.0]), np.array([5.0, 5.0]))  # 1 / ((16 + 16 - 10) / 50)
    2.272727272727273
    >>> strength_by_moments(np.array([5.0, 5.0]), np.array([5.0, 5.0]))
    inf
    """
    beyond, squares = float(((wins - chance) ** 2).sum() - chance.sum()), float((chance**2).sum())
    return squares / beyond if beyond > 0 else float("inf")


def tool_lifts(
    tools: ToolList, state: State, context: Context, *, strength: Annotated[float | None, "above 0"] = None
) -> FloatArray:
    """The lift of each tool."""
    places = context.of_state(listed_names, state)
    wins, chance = (found(places, state[column], tools.names) for column in ("wins", "chance"))
    shrunk_by = strength_by_moments(state["wins"], state["chance"]) if strength is None else strength
    if shrunk_by == float("inf"):
        return np.zeros(len(wins))
    return np.log((wins + shrunk_by) / (chance + shrunk_by))


@feature(
    "tool.lift",
    "hist",
    fit=Counted(count_wins, lift_state),
    prepare=tool_lifts,
    title="how often chosen when offered",
)
def lift(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """ln((wins + s) / (chance + s)); chance = sum over groups that offered the tool of right / candidates; unseen: 0.

    s is the option `strength`; without it 1/v, v = (sum over tools of (wins - chance)^2 - sum of chance) / sum of
    chance^2. Where v is not above 0, tools differ no more than by chance, and all values are 0.
    """
    return context.prepared(np.ndarray)[context.tools]


@learns(TextTable("tools"))
def right_tools(part: Part) -> State:
    """The tools that were right; none where no tool was right twice.

    Then a tool that was right elsewhere is never right again, and the column would tell the label of its own row.
    """
    wins = part["tools"].sums["wins"]
    known = np.flatnonzero(wins) if wins.max(initial=0) > 1 else np.empty(0, dtype=np.int64)
    return spelled_table(part["tools"].facts["name"].take(known))


def known_tools(tools: ToolList, state: State, context: Context) -> FloatArray:
    """1 for a tool of the state, else 0."""
    places = context.of_state(listed_names, state)
    return found(places, np.ones(len(places)), tools.names)


@feature(
    "tool.known",
    "struct",
    fit=Counted(count_wins, right_tools),
    prepare=known_tools,
    title="was right before",
)
def was_right(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """1 if the tool was right in the groups it was fitted on, else 0; its weight is learned. No tool right twice: 0."""
    return context.prepared(np.ndarray)[context.tools]


def listed_names(state: State) -> dict[str, int]:
    """Where each name stands in a state."""
    return place_of(table_texts(state))


def found(places: dict[str, int], numbers: FloatArray, names: tuple[str, ...]) -> FloatArray:
    """The number of each name; 0 where it has no place."""
    return np.append(numbers, 0).astype(np.float64)[[places.get(name, -1) for name in names]]
