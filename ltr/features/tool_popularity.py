"""How often a tool was right: against chance, and at all."""

import numpy as np

from ltr.arrays import FloatArray, State, code_sums
from ltr.data.groups import Candidates, Groups
from ltr.features.learning import Counted
from ltr.features.registry import Context, Positive, feature
from ltr.features.tables import looked_up, spelled_table, table_texts
from ltr.files.parts import Part, digests, spelled, table
from ltr.files.state_types import Floats, Integers, TextTable, learns


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
    sums = {"wins": wins.astype(np.int64), "chance": chance}
    return {"tools": table(digests(candidates.name_texts), sums, lists={"name": spelled(candidates.name_texts)})}


@learns(TextTable("tools", wins=Integers("tools"), chance=Floats("tools")))
def lift_state(part: Part) -> State:
    """Wins and chance of each tool."""
    return spelled_table(part["tools"].lists["name"], **part["tools"].sums)


@feature("tool.lift", "hist", fit=Counted(count_wins, lift_state), title="how often chosen when offered")
def lift(candidates: Candidates, state: State, context: Context, *, strength: Positive = 5.0) -> FloatArray:
    """ln((wins + 5) / (chance + 5)); chance = sum over groups that offered the tool of right / candidates; unseen: 0.

    5 is the option `strength`.
    """
    names = table_texts(state)
    wins, chance = (looked_up(names, state[column], candidates.name_texts) for column in ("wins", "chance"))
    return np.log((wins + strength) / (chance + strength))[candidates.names]


@learns(TextTable("tools"))
def right_tools(part: Part) -> State:
    """The tools that were right."""
    return spelled_table(part["tools"].lists["name"].take(np.flatnonzero(part["tools"].sums["wins"])))


@feature("tool.known", "struct", fit=Counted(count_wins, right_tools), title="was right before")
def was_right(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """1 if the tool was right in the groups it was fitted on, else 0; its weight is learned."""
    names = table_texts(state)
    return looked_up(names, np.ones(len(names)), candidates.name_texts)[candidates.names]
