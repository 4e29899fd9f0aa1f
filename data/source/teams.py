"""Teams of agents: who hands work to whom, and the many ways in which a team can be slightly wrong."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any

from data.source.dice import Dice

Handover = tuple[str, str]
LARGEST = 7  # agents of a team
BRANCHES = 0.6  # share of the needless agents at the end that may stand behind any other


@dataclass(frozen=True)
class Team:
    """Agents in the order in which they are listed, each once, and directed hand-overs between them."""

    agents: tuple[str, ...]
    handovers: frozenset[Handover]

    @cached_property
    def parts(self) -> frozenset[str | Handover]:
        """What two teams may share, and what makes them two: the order of the list does not."""
        return self.handovers | set(self.agents)


@cache
def parsed(text: str) -> Team:
    """The team that a line describes.

    >>> team = parsed("coder <> tester, coder > reviewer")
    >>> team.agents, sorted(team.handovers)
    (('coder', 'tester', 'reviewer'), [('coder', 'reviewer'), ('coder', 'tester'), ('tester', 'coder')])
    """
    agents, handovers = dict[str, None](), set[Handover]()
    for part in text.split(","):
        words = part.split()
        agents |= dict.fromkeys(words[::2])
        if len(words) == 3:
            handovers.add((words[0], words[2]))
        if "<>" in words:
            handovers.add((words[2], words[0]))
    return Team(tuple(agents), frozenset(handovers))


@cache
def joined(team: Team, adds: str) -> Team:
    """The team with the hand-overs of a wish; `last` is the agent listed last."""
    added = parsed(adds.replace("last", team.agents[-1]))
    return Team(tuple(dict.fromkeys(team.agents + added.agents)), team.handovers | added.handovers)


@cache
def shape(team: Team) -> str:
    """solo, chain or tree; the way back of a pair does not count, nor does a missing hand-over."""
    place = {agent: index for index, agent in enumerate(team.agents)}
    forward = [(a, b) for a, b in team.handovers if place[a] < place[b] or (b, a) not in team.handovers]
    if len(team.agents) == 1:
        return "solo"
    heads = {a for a, _ in forward}
    return "chain" if len(heads) == len(forward) else "tree"


def tree(team: Team, descriptions: dict[str, str]) -> dict[str, Any]:
    """The team as samples write it."""
    ids = {agent: f"n{place}" for place, agent in enumerate(team.agents)}
    return {
        "nodes": [{"id": ids[agent], "name": agent, "description": descriptions[agent]} for agent in team.agents],
        "edges": [
            {"source": source, "target": target}
            for source, target in sorted((ids[a], ids[b]) for a, b in team.handovers)
        ],
    }


def renamed(team: Team, names: dict[str, str]) -> Team:
    """The team with other agents in the same places."""
    return Team(
        tuple(names.get(agent, agent) for agent in team.agents),
        frozenset((names.get(a, a), names.get(b, b)) for a, b in team.handovers),
    )


def with_stranger(team: Team, dice: Dice, known: Sequence[str]) -> Team:
    """The wrong agent in one place."""
    stranger = dice.pick([agent for agent in known if agent not in team.agents])
    return renamed(team, {dice.pick(team.agents): stranger})


def in_wrong_order(team: Team, dice: Dice, known: Sequence[str]) -> Team:
    """Two agents in each other's places."""
    first, second = dice.shuffled(team.agents)[:2] if len(team.agents) > 1 else team.agents * 2
    return renamed(team, {first: second, second: first})


def without_step(team: Team, dice: Dice, known: Sequence[str]) -> Team:
    """One agent less; who stood before it hands over to who stood behind it."""
    if len(team.agents) == 1:
        return team
    gone = dice.pick(team.agents)
    kept = {(a, b) for a, b in team.handovers if gone not in (a, b)}
    before = [a for a, b in team.handovers if b == gone and (b, a) not in team.handovers]
    behind = [b for a, b in team.handovers if a == gone and (b, a) not in team.handovers]
    return Team(
        tuple(agent for agent in team.agents if agent != gone),
        frozenset(kept | {(a, b) for a in before for b in behind}),
    )


def with_extra_step(team: Team, dice: Dice, known: Sequence[str]) -> Team:
    """An agent nobody asked for, in the middle of a hand-over, behind the last agent or behind any."""
    stranger = dice.pick([agent for agent in known if agent not in team.agents])
    one_way = sorted((a, b) for a, b in team.handovers if (b, a) not in team.handovers)
    if not one_way or dice.chance(0.5):
        before = dice.pick(team.agents) if dice.chance(BRANCHES) else team.agents[-1]
        return Team((*team.agents, stranger), team.handovers | {(before, stranger)})
    before, behind = dice.pick(one_way)
    place = team.agents.index(before) + 1
    handovers = (team.handovers - {(before, behind)}) | {(before, stranger), (stranger, behind)}
    return Team((*team.agents[:place], stranger, *team.agents[place:]), handovers)


def without_handover(team: Team, dice: Dice, known: Sequence[str]) -> Team:
    """One hand-over forgotten, or one way of a pair."""
    if not team.handovers:
        return team
    return Team(team.agents, team.handovers - {dice.pick(sorted(team.handovers))})


def with_needless_pair(team: Team, dice: Dice, known: Sequence[str]) -> Team:
    """Work sent back where one hand-over would have done."""
    if not team.handovers:
        return team
    before, behind = dice.pick(sorted(team.handovers))
    return Team(team.agents, team.handovers | {(behind, before)})


def with_needless_handover(team: Team, dice: Dice, known: Sequence[str]) -> Team:
    """An agent hands its work to one more that is listed behind it."""
    pairs = [(a, b) for place, a in enumerate(team.agents) for b in team.agents[place + 1 :]]
    missing = [pair for pair in pairs if pair not in team.handovers]
    return Team(team.agents, team.handovers | {dice.pick(missing)}) if missing else team


Slip = Callable[[Team, Dice, Sequence[str]], Team]
SIZE_CHANGES = 8  # weight of the slips that add a step or leave one out, together
EDGE_CHANGES = 10  # weight of the slips that forget a hand-over or make a needless one, together


def slips(growth: float, missing: float) -> dict[Slip, float]:
    """What may go wrong and how often.

    Of the changes of size, a share of `growth` adds an agent; of the wrong hand-overs, a share of `missing` lacks one.
    """
    return {
        with_stranger: 5,
        in_wrong_order: 2,
        with_extra_step: SIZE_CHANGES * growth,
        without_step: SIZE_CHANGES * (1 - growth),
        without_handover: EDGE_CHANGES * missing,
        with_needless_handover: EDGE_CHANGES * (1 - missing) / 2,
        with_needless_pair: EDGE_CHANGES * (1 - missing) / 2,
    }


def slipped(team: Team, dice: Dice, known: Sequence[str], weights: dict[Slip, float]) -> Team:
    """The team with one thing wrong."""
    while True:
        changed = dice.weighted(weights)(team, dice, known)
        if changed.parts != team.parts and len(changed.agents) <= LARGEST:
            return changed


def wandered(start: Team, count: int, dice: Dice, known: Sequence[str], missing: float) -> list[Team]:
    """Different teams, `count` with the start, each one slip away from another.

    A random walk over the places of the list that makes a team where it comes first: the slips form a random
    tree in which the start is not more central than the others.
    """
    teams, here, weights = {0: start}, 0, slips(dice.share(), missing)
    while len(teams) < count:
        there = dice.between(0, count - 1)
        if there not in teams:
            new = slipped(teams[here], dice, known, weights)
            if any(new.parts == team.parts for team in teams.values()):
                continue
            teams[there] = new
        here = there
    return list(teams.values())
