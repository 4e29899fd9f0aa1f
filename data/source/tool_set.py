"""Sessions of people who need tools: each query with a shortlist that holds the right tool and its near-duplicates."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

from data.source.dice import Dice
from data.source.drafts import distance, each_to_others, place
from data.source.wording import REGISTERS, Speaker, lines, manner, of_side, source, unspoken

SHORTLISTS = ((4, 4), (3, 3, 3), (4, 3, 3), (6, 2), (4, 4, 2), (6, 3, 2), (2, 3, 3), (5, 3, 2))  # of each domain
ON_TOPIC = 0.7  # share of the queries that stay with the one or two domains of their session
DRAFTS = 100  # lists made, of which the least telling is kept
URGENCY = (1, 1, 1, 1, 1)  # of the `places` by which a list may tell
MARGIN = 0.5  # how far beyond the first and the last a place may be drawn: no list reaches the ends without it
ALONE = 0.15  # share of the intents on a list of which one tool is offered, and none of its near-duplicates
BOTH_RIGHT = 0.07  # share of the queries for which a near-duplicate would have done as well


@dataclass(frozen=True)
class Intent:
    """What somebody may want of a domain, how it is said, and which tools get it right how often."""

    name: str
    domain: str
    answered_by: dict[str, int]
    phrases: dict[str, list[str]]


@dataclass(frozen=True)
class World:
    """All that a set of one side is drawn from."""

    tools: dict[str, list[str]]  # of each domain
    intents: dict[str, list[Intent]]  # of each domain
    alike: dict[str, dict[str, float]]  # of each tool, how like each it is by the words of name and description
    lengths: dict[str, tuple[int, int]]  # of each tool's description and inputs


def world(side: str) -> World:
    """The hand-written domains with the phrases of the side."""
    written = source("tools.yaml")
    tools = {domain: list(entry["tools"]) for domain, entry in written.items()}
    intents = {
        domain: [
            Intent(
                name,
                domain,
                intent["answered_by"],
                {register: of_side(lines(intent[register]), side) for register in REGISTERS},
            )
            for name, intent in entry["intents"].items()
        ]
        for domain, entry in written.items()
    }
    texts = catalogue()["tools"]
    words = {
        name: frozenset(f"{name.replace('_', ' ')} {text['description']}".lower().split())
        for name, text in texts.items()
    }
    rows = each_to_others(list(words.values()))
    alike = {name: dict(zip(words, row, strict=True)) for name, row in zip(words, rows, strict=True)}
    lengths = {name: (len(text["description"]), len(text["inputs"])) for name, text in texts.items()}
    return World(tools, intents, alike, lengths)


def catalogue() -> dict[str, Any]:
    """The tools with their texts."""
    tools = {name: text for entry in source("tools.yaml").values() for name, text in entry["tools"].items()}
    return {"tools": dict(sorted(tools.items()))}


def samples(side: str, first_trace: int, queries: int) -> Iterator[dict[str, Any]]:
    """Lines of at least that many queries, session by session."""
    dice, drawn_from, spoken = Dice(f"tool {side}"), world(side), set[str]()
    speaking, trace = manner(side), first_trace
    while len(spoken) < queries:
        speaker = Speaker(dice, speaking)
        for node, intent in enumerate(session(dice, drawn_from), start=1):
            query = unspoken(speaker, lambda intent=intent: intent.phrases, spoken)
            for tool, label in shortlist(dice, drawn_from, intent):
                yield {"trace_id": f"s{trace:04d}", "node_id": f"n{node}", "query": query, "tool": tool, "label": label}
        trace += 1


def session(dice: Dice, world: World) -> list[Intent]:
    """Two to five different intents, most of them from one or two domains."""
    themes = dice.shuffled(list(world.intents))[: dice.between(1, 2)]
    chosen: dict[str, Intent] = {}
    for _ in range(dice.between(2, 5)):
        domain = dice.pick(themes) if dice.chance(ON_TOPIC) else dice.pick(list(world.intents))
        intent = dice.pick(world.intents[domain])
        chosen.setdefault(f"{domain} {intent.name}", intent)
    return list(chosen.values()) if len(chosen) > 1 else session(dice, world)


def shortlist(dice: Dice, world: World, intent: Intent) -> list[tuple[str, int]]:
    """Candidates with their labels, shuffled: of several drafts the one that tells least.

    Where the right tool is to stand by each of `places` is drawn first; the draft that comes nearest is kept.
    """
    right, wanted = right_tools(dice, intent), [dice.beyond(MARGIN) for _ in URGENCY]
    answers = right if len(right) > 1 else offered(dice, intent, right[0])
    drafts = [draft(dice, world, intent, answers) for _ in range(DRAFTS)]
    tools = min(drafts, key=lambda tools: distance(places(world, right[0], tools), wanted, URGENCY))
    return [(tool, int(tool in right)) for tool in dice.shuffled(tools)]


def draft(dice: Dice, world: World, intent: Intent, answers: list[str]) -> list[str]:
    """Two or three domains, each drawn the same way: an intent with its near-duplicates, then neighbours."""
    others = dice.shuffled([domain for domain in world.intents if domain != intent.domain])
    widths = dice.shuffled(dice.pick(SHORTLISTS))
    listed = around(dice, world, intent, answers, widths[0])
    for domain, width in zip(others, widths[1:], strict=False):
        other = dice.pick(world.intents[domain])
        answers = offered(dice, other, dice.weighted(other.answered_by))
        listed += around(dice, world, other, answers, width)
    return listed


def offered(dice: Dice, intent: Intent, answer: str) -> list[str]:
    """The tools that can answer the intent, now and then that one alone."""
    return [answer] if dice.chance(ALONE) else list(intent.answered_by)


def places(world: World, right: str, tools: list[str]) -> list[float]:
    """Where the right tool stands, from 0 to 1: by likeness to all others and to one, by both lengths, by name."""
    listed = [right, *(tool for tool in tools if tool != right)]
    of_listed = itemgetter(*listed)
    alike = [of_listed(world.alike[tool]) for tool in listed]
    columns = [list(map(sum, alike)), list(map(max, alike)), *zip(*of_listed(world.lengths), strict=True), listed]
    return [place(column) for column in columns]


def around(dice: Dice, world: World, intent: Intent, answers: list[str], width: int) -> list[str]:
    """The tools that answer the intent, then those of other intents of its domain."""
    others = dice.shuffled([other for other in world.intents[intent.domain] if other is not intent])
    listed = dict.fromkeys(answers)
    for other in others:
        if len(listed) >= width:  # no more are needed, but the draws that follow stay the same
            dice.pass_over(len(other.answered_by))
        else:
            strangers = dice.shuffled(list(other.answered_by))
            listed |= dict.fromkeys(tool for tool in strangers if tool not in intent.answered_by)
    return list(listed)[: max(width, len(answers))]


def right_tools(dice: Dice, intent: Intent) -> list[str]:
    """The tool that got it right this time; now and then a near-duplicate did as well."""
    right = dice.weighted(intent.answered_by)
    others = [tool for tool in intent.answered_by if tool != right]
    return [right, dice.pick(others)] if others and dice.chance(BOTH_RIGHT) else [right]
