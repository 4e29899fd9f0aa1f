"""Sessions of people who need a team: each query with candidates of which neither size nor likeness tells the truth."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from data.source.dice import Dice
from data.source.drafts import distance, each_to_others, place
from data.source.teams import LARGEST, Team, joined, parsed, shape, tree, wandered
from data.source.wording import REGISTERS, Manner, Speaker, lines, manner, of_side, source, unspoken

EXTRAS = {0: 8, 1: 7, 2: 4, 3: 2}  # wishes a job comes with, and how often
WIDTHS = (2, 2, 3, 3, 4)  # teams that are one slip away from another: a right team and its slips
SHAPES = {"solo": 0.14, "chain": 0.63, "tree": 0.23}  # of right teams, so also of wrong ones
URGENCY = (2, 2, 2, 1, 1, 0.5)  # of size, the other `places`, and the mix of shapes
MARGIN = 0.5  # how far beyond the first and the last a place may be drawn: few lists reach the ends without it
DRAFTS = 50  # lists made, of which the least telling is kept
FEW, LONG = 0.3, 0.2  # places that those of few words aim below, and long ones above
SIZE_FITS, SHORT = 0.85, 5  # share of the lists that aim at a size to fit the query; words of a query that is not short
MISSING_NEAR, MISSING_FAR = 0.8, 0.2  # share of the wrong hand-overs that are forgotten, in slips of either team
EITHER = 0.5  # share of the lists that hold both of two right teams, where a job has two

Phrases = dict[str, list[str]]


@dataclass(frozen=True)
class Extra:
    """A wish, where it fits, and how it is said."""

    name: str
    adds: str
    fits: tuple[str, ...]
    phrases: Phrases


@dataclass(frozen=True)
class Job:
    """What is to be done, how it is said, and the teams that do it."""

    name: str
    teams: tuple[Team, ...]
    extras: tuple[Extra, ...]
    phrases: Phrases


@dataclass(frozen=True)
class Order:
    """A job with wishes: the teams that are right."""

    job: Job
    extras: tuple[Extra, ...]
    right: tuple[Team, ...]


def descriptions() -> dict[str, str]:
    """What each agent does."""
    agents: dict[str, str] = source("teams.yaml")["agents"]
    return agents


def catalogue() -> dict[str, Any]:
    """The agents in the shape of a tool catalogue."""
    return {"tools": {name: {"description": text} for name, text in sorted(descriptions().items())}}


def jobs(side: str) -> list[Job]:
    """The hand-written jobs with the phrases of the side."""
    written = source("teams.yaml")
    extras = {
        name: Extra(name, entry["adds"], tuple(entry["fits"]), phrases(entry, side))
        for name, entry in written["extras"].items()
    }
    return [
        Job(
            name,
            tuple(parsed(entry[key]) for key in ("team", "also") if key in entry),
            tuple(extras[extra] for extra in entry["extras"]),
            phrases(entry, side),
        )
        for name, entry in written["jobs"].items()
    ]


def phrases(entry: dict[str, str], side: str) -> Phrases:
    """What the side may say, by register."""
    return {register: of_side(lines(entry[register]), side) for register in REGISTERS}


def samples(side: str, first_trace: int, queries: int) -> Iterator[dict[str, Any]]:
    """Lines of at least that many queries, session by session."""
    dice, known_jobs, spoken, texts = Dice(f"teams {side}"), jobs(side), set[str](), descriptions()
    speaking, trace = manner(side), first_trace
    while len(spoken) < queries:
        for node, (order, query) in enumerate(session(dice, known_jobs, speaking, spoken), start=1):
            for number, (team, label) in enumerate(shortlist(dice, known_jobs, order, query, list(texts))):
                yield {
                    "trace_id": f"s{trace:04d}",
                    "node_id": f"n{node}",
                    "query": query,
                    "candidate_id": f"g{number}",
                    "candidate_type": shape(team),
                    "tree": tree(team, texts),
                    "label": label,
                }
        trace += 1


def session(dice: Dice, jobs: Sequence[Job], manner: Manner, spoken: set[str]) -> Iterator[tuple[Order, str]]:
    """Two to five orders for different jobs, and what is said."""
    speaker = Speaker(dice, manner)
    for job in dice.shuffled(jobs)[: dice.between(2, 5)]:
        order = ordered(dice, job)
        yield order, unspoken(speaker, lambda order=order: worded(dice, order), spoken)


def ordered(dice: Dice, job: Job) -> Order:
    """The job with some of the wishes that fit."""
    right, extras = job.teams, list[Extra]()
    for extra in dice.shuffled(job.extras)[: dice.weighted(EXTRAS)]:
        wider = tuple(joined(team, extra.adds) for team in right)
        if set(extra.fits) & set(right[0].agents) and max(len(team.agents) for team in wider) <= LARGEST:
            right, extras = wider, [*extras, extra]
    return Order(job, tuple(extras), right)


def worded(dice: Dice, order: Order) -> Phrases:
    """The order in each register: the job, then its wishes."""
    job, extras = order.job, order.extras
    said = {register: [dice.pick(each.phrases[register]) for each in (job, *extras)] for register in REGISTERS}
    *before, last = said["ask"]
    return {
        "ask": [f"{', '.join(before)} and {last}" if before else last],
        "say": [" ".join(said["say"])],
        "terse": [", ".join(said["terse"])],
    }


def shortlist(
    dice: Dice, jobs: Sequence[Job], order: Order, query: str, known: Sequence[str]
) -> list[tuple[Team, int]]:
    """Candidates with their labels, shuffled: of several drafts the one that tells least.

    Where the right team is to stand by each of `places` is drawn first; the draft that comes nearest, with the
    usual mix of shapes, is kept. So the right team is seldom betrayed by being the largest, the smallest, the
    densest, the most typical or the oddest.
    """
    size, either = dice.between(8, 12), dice.chance(EITHER)
    right = order.right if either else order.right[:1]
    wanted = [wanted_size(dice, query), *(dice.beyond(MARGIN) for _ in URGENCY[1:-1]), 0.0]
    drafts = [draft(dice, jobs, order, known, size) for _ in range(DRAFTS)]
    teams = min(drafts, key=lambda teams: distance(places(teams), wanted, URGENCY))
    listed = [*right, *teams[1:]][:size]
    return [(team, int(team in right)) for team in dice.shuffled(listed)]


def wanted_size(dice: Dice, query: str) -> float:
    """The place by size to aim at: mostly among the first for a few words and the last for a long order, else any."""
    if not dice.chance(SIZE_FITS):
        return dice.beyond(MARGIN)
    is_short = len(query.split()) < SHORT
    return FEW - (FEW + MARGIN) * dice.share() if is_short else LONG + (1 + MARGIN - LONG) * dice.share()


def draft(dice: Dice, jobs: Sequence[Job], order: Order, known: Sequence[str], size: int) -> list[Team]:
    """The right team with its slips, then right teams of other jobs, each with its slips; the right one first."""
    others = dice.shuffled([job for job in jobs if job is not order.job])
    teams = wandered(order.right[0], dice.pick(WIDTHS), dice, known, MISSING_NEAR)
    right = {team.parts for team in order.right}
    listed = {team.parts: team for team in teams[:1] + [team for team in teams if team.parts not in right]}
    while len(listed) < size:
        start = ordered(dice, others.pop()).right[0]
        teams = wandered(start, dice.pick(WIDTHS), dice, known, MISSING_FAR)
        listed |= {team.parts: team for team in teams if team.parts not in right}
    return list(listed.values())[:size]


def places(teams: Sequence[Team]) -> list[float]:
    """Where the first team stands: by size, hand-overs, these an agent, likeness to all and to one; odd shapes."""
    sizes, handovers = [len(team.agents) for team in teams], [len(team.handovers) for team in teams]
    density = [edges / nodes for edges, nodes in zip(handovers, sizes, strict=True)]
    alike = each_to_others([team.parts for team in teams])
    columns = sizes, handovers, density, list(map(sum, alike)), list(map(max, alike))
    return [*map(place, columns), odd_shapes(teams[1:])]


def odd_shapes(teams: Sequence[Team]) -> float:
    """How far the mix of shapes is from the usual one."""
    shapes = [shape(team) for team in teams]
    return sum(abs(shapes.count(name) / len(shapes) - share) for name, share in SHAPES.items())
