"""What came before in the trace: tools that follow the one used last."""

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, code_sums, distinct, most_frequent
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups
from ltr.features.feature_context import Context
from ltr.features.option_ranges import Positive
from ltr.features.registry import feature
from ltr.features.state_learners import Counted
from ltr.features.text_tables import names_table, positions, spelled_table, table_texts
from ltr.files.learned_state_types import Floats, Integers, Record, TextTable, learns
from ltr.files.mergeable_tables import Part, table
from ltr.files.table_keys import digests, halves, pairs

MOST_PAIRS = 1 << 20  # of a tool and the one before it: the size of the state


def last_used(candidates: Candidates) -> tuple[IntArray, tuple[str, ...]]:
    """The tool used last before each row, as a code into names; -1 where nothing is known of what came before."""
    if candidates.previous is None:
        return np.full(len(candidates.names), -1), ()
    lasts = [listed[-1] if listed else None for listed in candidates.previous_lists]
    names = tuple(dict.fromkeys(name for name in lasts if name is not None))
    codes = positions(names, lasts)[candidates.previous]
    return np.repeat(codes, np.diff(candidates.offsets)), names


def count_successors(groups: Groups, context: Context) -> Part:
    """For each tool and the one used before it: groups that offered it, its wins there, and those of blind choice."""
    candidates, sizes = groups.candidates, np.diff(groups.offsets)
    before, names = last_used(candidates)
    is_logged = candidates.is_logged.astype(float)  # a row that was drawn from a catalogue was not offered
    is_right = (groups.labels > 0) * is_logged
    right, offered = (
        np.add.reduceat(column, groups.offsets[:-1]) if len(sizes) else column for column in (is_right, is_logged)
    )
    blind = np.repeat(right / np.maximum(offered, 1), sizes)
    rows = np.flatnonzero((before >= 0) & candidates.is_logged)
    width = max(len(candidates.name_texts), 1)
    first, pair = distinct(before[rows] * width + candidates.names[rows])
    former, tools = before[rows][first], candidates.names[rows][first]
    sums = {
        "offers": np.bincount(pair, minlength=len(first)),
        "wins": code_sums(pair, is_right[rows], len(first)),
        "chance": code_sums(pair, blind[rows], len(first)),
    }
    return {
        "names": names_table([*names, *candidates.name_texts]),
        "pairs": table(pairs(digests(names)[former], digests(candidates.name_texts)[tools]), sums),
    }


@learns(
    Record(
        names=TextTable("names"),
        pairs=Record(
            before=Integers("pairs", below="names", rising=True),
            tools=Integers("pairs", below="names"),
            wins=Floats("pairs"),
            chance=Floats("pairs"),
        ),
    )
)
def successors_state(part: Part) -> State:
    """Wins and chance of each pair; with more than MOST_PAIRS those that were offered most."""
    names, counted = part["names"], part["pairs"]
    before, tools = (np.searchsorted(names.keys, keys) for keys in halves(counted.keys))
    stored = most_frequent(counted.sums["offers"], MOST_PAIRS) if len(counted) else np.empty(0, dtype=np.int64)
    return {
        "names": spelled_table(names.facts["name"]),
        "pairs": {
            "before": before[stored].astype(np.int32),
            "tools": tools[stored].astype(np.int32),
            "wins": counted.sums["wins"][stored],
            "chance": counted.sums["chance"][stored],
        },
    }


@feature(
    "tool.follows",
    "hist",
    fit=Counted(count_successors, successors_state),
    title="often comes after the last one",
)
def follows(candidates: Candidates, state: State, context: Context, *, strength: Positive = 2.0) -> FloatArray:
    """ln((wins + 2) / (chance + 2)) among the queries before which the same tool was used last; nothing known: 0.

    chance = sum over those queries that offered the tool of right / candidates; 2 is the option `strength`.
    """
    before, names = last_used(candidates)
    listed, pairs_of = table_texts(state["names"]), state["pairs"]
    former, tools = positions(listed, names), positions(listed, candidates.name_texts)
    width = max(len(listed), 1)
    keys = pairs_of["before"].astype(np.int64) * width + pairs_of["tools"]
    values, rows = np.zeros(len(before)), np.flatnonzero(before >= 0)
    left, right = former[before[rows]], tools[candidates.names[rows]]
    rows, wanted = rows[(left >= 0) & (right >= 0)], (left * width + right)[(left >= 0) & (right >= 0)]
    place = positions(keys.tolist(), wanted.tolist())
    wins, chance = (np.append(pairs_of[column], 0.0)[place] for column in ("wins", "chance"))
    values[rows] = np.log((wins + strength) / (chance + strength))
    return values


@feature("tool.repeat", "hist", title="was used last")
def repeats(candidates: Candidates, state: None, context: Context) -> FloatArray:
    """1 if the tool is the one that was used last before the query, else 0; nothing known: 0."""
    before, names = last_used(candidates)
    codes = positions(candidates.name_texts, names)
    return (np.append(codes, -1)[before] == candidates.names).astype(float)
