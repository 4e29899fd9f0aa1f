"""Smoothed success rates: how often a tool, or a type of graphs, was right where it was offered."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, distinct
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups
from ltr.features.feature_context import Context
from ltr.features.option_ranges import Positive, Rate
from ltr.features.registry import feature
from ltr.features.state_learners import Counted
from ltr.features.text_tables import names_table
from ltr.files.learned_state_types import Count, Json, Record, learns
from ltr.files.mergeable_tables import Part, texts_of


def count_success(groups: Groups, context: Context) -> Part:
    """For each tool, or type of graphs, in how many groups it was right, and how many offered it.

    A row that was drawn from a catalogue was not offered.
    """
    codes, names = named_candidates(groups.candidates)
    width, is_logged = max(len(names), 1), groups.candidates.is_logged
    group = np.repeat(np.arange(len(groups.offsets) - 1), np.diff(groups.offsets))
    keys = (group * width + codes)[is_logged]  # a type may stand several times in a group, and counts once
    seen = np.bincount(keys[distinct(keys)[0]] % width, minlength=len(names))
    right = keys[groups.labels[is_logged] > 0]
    wins = np.bincount(right[distinct(right)[0]] % width, minlength=len(names))
    return {"names": names_table(names, wins=wins, seen=seen)}


@learns(Record(success=Json(dict[str, tuple[Count, Count]])))
def success_state(part: Part) -> State:
    """For each tool, or type of graphs, [wins, seen]."""
    names = texts_of(part["names"].facts["name"])
    wins, seen = (part["names"].sums[column].tolist() for column in ("wins", "seen"))
    return {"success": {name: [w, s] for name, w, s in sorted(zip(names, wins, seen, strict=True)) if s}}


SUCCESS = Counted(count_success, success_state)


@feature("tool.hist", "hist", fit=SUCCESS, title="success rate when offered")
@feature("graph.hist", "hist", fit=SUCCESS, title="success rate of its type")
def success_rate(
    candidates: Candidates, state: State, context: Context, *, prior: Rate = 0.5, strength: Positive = 2.0
) -> FloatArray:
    """(wins + prior * strength) / (seen + strength) of the tool, or of the graph's type; never seen: prior."""
    codes, names = named_candidates(candidates)
    success = state["success"]
    wins, seen = np.array([success.get(name, (0, 0)) for name in names], dtype=float).reshape(-1, 2).T
    return ((wins + prior * strength) / (seen + strength))[codes]


def named_candidates(candidates: Candidates) -> tuple[IntArray, tuple[str, ...]]:
    """Return the tool of each row, or the type of its graph, as codes into names."""
    if candidates.kind == "tool":
        return candidates.names, candidates.name_texts
    return candidates.types, candidates.type_texts
