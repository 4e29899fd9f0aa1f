"""How often a tool, or a type of graphs, was right: where it was offered, against chance, and after which tool."""

from typing import Annotated

import numpy as np

from ltr.arrays import FloatArray, IntArray, State, code_sums, distinct, group_sums, most_frequent, texts_of
from ltr.features.protocol import Context, Counted, Finish, feature
from ltr.features.tables import listed_names, looked_up, names_table, positions, spelled_table, table_texts
from ltr.registry import Positive, Rate
from ltr.samples import Candidates, Groups, ToolList
from ltr.states import Count, Floats, Integers, Json, Record, TextTable, learns
from ltr.tables import Part, digests, halves, pairs, table


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


def count_wins(groups: Groups, context: Context) -> Part:
    """For each tool how often it was right, and how often it would have been if chosen blindly among those offered."""
    candidates = groups.candidates
    names, count = candidates.names, len(candidates.name_texts)
    wins, chance = (code_sums(names, of_rows, count) for of_rows in _right_and_blind(groups))
    return {"tools": names_table(candidates.name_texts, wins=wins.astype(np.int64), chance=chance)}


def _right_and_blind(groups: Groups) -> tuple[FloatArray, FloatArray]:
    """Return whether each row is right, and its chance; 0 for one drawn from a catalogue, which was not offered."""
    is_logged, sizes = groups.candidates.is_logged.astype(float), np.diff(groups.offsets)
    is_right = (groups.labels > 0) * is_logged
    if not len(sizes):
        return is_right, is_logged
    right, offered = (group_sums(of_rows, groups.offsets) for of_rows in (is_right, is_logged))
    return is_right, np.repeat(right / np.maximum(offered, 1), sizes) * is_logged


@learns(TextTable("tools", wins=Integers("tools"), chance=Floats("tools")))
def lift_state(part: Part) -> State:
    """Return wins and chance of each tool."""
    return spelled_table(part["tools"].facts["name"], **part["tools"].sums)


def strength_by_moments(wins: FloatArray, chance: FloatArray) -> float:
    """Return the strength of shrinkage, 1/v; v = (sum of (wins - chance)^2 - sum of chance) / sum of chance^2.

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
    """Return the lift of each tool."""
    places = context.of_state(listed_names, state)
    wins, chance = (looked_up(places, state[column], tools.names) for column in ("wins", "chance"))
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
    """Return the tools that were right; none where no tool was right twice.

    Then a tool that was right elsewhere is never right again, and the column would tell the label of its own row.
    """
    wins = part["tools"].sums["wins"]
    known = np.flatnonzero(wins) if wins.max(initial=0) > 1 else np.empty(0, dtype=np.int64)
    return spelled_table(part["tools"].facts["name"].take(known))


def known_tools(tools: ToolList, state: State, context: Context) -> FloatArray:
    """Return 1 for a tool of the state, else 0."""
    places = context.of_state(listed_names, state)
    return looked_up(places, np.ones(len(places)), tools.names)


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


MOST_PAIRS = 1 << 20  # of a tool and the one before it: the size of the state


def last_used(candidates: Candidates) -> tuple[IntArray, tuple[str, ...]]:
    """Return the tool used last before each row, as a code into names; -1 where nothing is known of it."""
    if candidates.previous is None:
        return np.full(len(candidates.names), -1), ()
    lasts = [listed[-1] if listed else None for listed in candidates.previous_lists]
    names = tuple(dict.fromkeys(name for name in lasts if name is not None))
    codes = positions(names, lasts)[candidates.previous]
    return np.repeat(codes, np.diff(candidates.offsets)), names


def count_successors(groups: Groups, context: Context) -> Part:
    """For each tool and the one used before it: groups that offered it, its wins there, and those of blind choice."""
    candidates, (is_right, blind) = groups.candidates, _right_and_blind(groups)
    before, names = last_used(candidates)
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
    """Return wins and chance of each pair; with more than MOST_PAIRS those that were offered most."""
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
