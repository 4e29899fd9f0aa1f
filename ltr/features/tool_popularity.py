"""How often a tool was right: against chance, and at all."""

import numpy as np

from ltr.arrays import FloatArray, State, code_sums
from ltr.data.groups import Candidates, Groups
from ltr.features.registry import Context, Positive, feature
from ltr.features.rows import right_rows
from ltr.features.tables import looked_up, table_texts, text_table
from ltr.files.state_types import Floats, Integers, TextTable, learns


@learns(TextTable("tools", wins=Integers("tools"), chance=Floats("tools")))
def fit_lift(groups: Groups, context: Context) -> State:
    """For each tool how often it was right, and how often it would have been if chosen blindly."""
    candidates, sizes = groups.candidates, np.diff(groups.offsets)
    is_right = (groups.labels > 0).astype(float)
    names, count = candidates.names, len(candidates.name_texts)
    blind = np.repeat(np.add.reduceat(is_right, groups.offsets[:-1]) / sizes, sizes) if len(sizes) else is_right
    wins, chance = code_sums(names, is_right, count), code_sums(names, blind, count)
    return text_table(candidates.name_texts, wins=wins.astype(np.int64), chance=chance)


@feature("tool.lift", "hist", fit=fit_lift, title="how often chosen when offered")
def lift(candidates: Candidates, state: State, context: Context, *, strength: Positive = 5.0) -> FloatArray:
    """ln((wins + 5) / (chance + 5)); chance = sum over groups that offered the tool of right / candidates; unseen: 0.

    5 is the option `strength`.
    """
    names = table_texts(state)
    wins, chance = (looked_up(names, state[column], candidates.name_texts) for column in ("wins", "chance"))
    return np.log((wins + strength) / (chance + strength))[candidates.names]


@learns(TextTable("tools"))
def fit_right_tools(groups: Groups, context: Context) -> State:
    """The tools that were right."""
    names = np.unique(groups.candidates.names[right_rows(groups)])
    return text_table([groups.candidates.name_texts[name] for name in names.tolist()])


@feature("tool.known", "struct", fit=fit_right_tools, title="was right before")
def was_right(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """1 if the tool was right in the groups it was fitted on, else 0; its weight is learned."""
    names = table_texts(state)
    return looked_up(names, np.ones(len(names)), candidates.name_texts)[candidates.names]
