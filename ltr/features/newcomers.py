"""Tools without a past: what is put beside trained columns, so that a tool that was never right can come first."""

import numpy as np

from ltr.arrays import FloatArray, State
from ltr.data.candidates import Candidates
from ltr.features.feature_context import Context
from ltr.features.registry import Finish, feature
from ltr.features.state_learners import Counted
from ltr.features.text_tables import spelled_table
from ltr.features.tool_popularity import count_wins, known_tools
from ltr.files.learned_state_types import TextTable, learns
from ltr.files.mergeable_tables import Part


@learns(TextTable("tools"))
def answering_tools(part: Part) -> State:
    """Return the tools that were right."""
    tools = part["tools"]
    return spelled_table(tools.facts["name"].take(np.flatnonzero(tools.sums["wins"])))


NEVER_RIGHT = Counted(count_wins, answering_tools)


@feature("tool.newcomer", "struct", fit=NEVER_RIGHT, prepare=known_tools, title="was never right before")
def newcomer(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """1 if the tool was never right in the groups it was fitted on, else 0."""
    return 1.0 - context.prepared(np.ndarray)[context.tools]


@feature(
    "tool.newcomer_near",
    "struct",
    fit=NEVER_RIGHT,
    prepare=known_tools,
    title="new, and what needs no training says",
    finish=Finish(times="tool.zero_shot"),
)
def newcomer_near(candidates: Candidates, state: State, context: Context) -> FloatArray:
    """tool.newcomer times tool.zero_shot."""
    return newcomer(candidates, state, context)
