"""Sessions of people who need tools: each query with a shortlist that holds the right tool and its near-duplicates."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from data_source.dice import Dice
from data_source.drafts import likeness, place
from data_source.wording import REGISTERS, Speaker, lines, manner, of_side, source, unspoken

SHORTLISTS = ((4, 4), (3, 3, 3), (5, 5), (4, 3, 3), (4, 4, 3), (4, 4, 4), (6, 5))  # candidates of each domain
ON_TOPIC = 0.7  # share of the queries that stay with the one or two domains of their session
DRAFTS = 5  # lists made, of which the least telling is kept
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
    words: dict[str, frozenset[object]]  # of each tool's name and description


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
    texts = {name: text["description"] for entry in written.values() for name, text in entry["tools"].items()}
    words = {name: frozenset(f"{name.replace('_', ' ')} {text}".lower().split()) for name, text in texts.items()}
    return World(tools, intents, words)


def catalogue() -> dict[str, Any]:
    """The tools with their texts."""
    tools = {name: text for entry in source("tools.yaml").values() for name, text in entry["tools"].items()}
    return {"tools": dict(sorted(tools.items()))}


def samples(side: str, first_trace: int, queries: int) -> Iterator[dict[str, Any]]:
    """Lines of at least that many queries, session by session."""
    dice, drawn_from, spoken = Dice(f"tools {side}"), world(side), set[str]()
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

    Where the right tool is to stand by likeness to the others is drawn first; the draft that comes nearest is kept.
    """
    right, wanted = right_tools(dice, intent), dice.share()
    drafts = [draft(dice, world, intent) for _ in range(DRAFTS)]
    tools = min(drafts, key=lambda tools: abs(typical(world, right[0], tools) - wanted))
    return [(tool, int(tool in right)) for tool in dice.shuffled(tools)]


def draft(dice: Dice, world: World, intent: Intent) -> list[str]:
    """Two or three domains, each drawn the same way: an intent with all its near-duplicates, then neighbours."""
    others = dice.shuffled([domain for domain in world.intents if domain != intent.domain])
    widths = dice.shuffled(dice.pick(SHORTLISTS))
    wanted = [intent, *(dice.pick(world.intents[domain]) for domain in others)]
    return [tool for each, width in zip(wanted, widths, strict=False) for tool in around(dice, world, each, width)]


def typical(world: World, right: str, tools: list[str]) -> float:
    """Where the right tool stands among the others by the words it shares with all of them, from 0 to 1."""
    listed = [right, *(tool for tool in tools if tool != right)]
    return place([sum(likeness(world.words[tool], world.words[other]) for other in tools) for tool in listed])


def around(dice: Dice, world: World, intent: Intent, width: int) -> list[str]:
    """The tools that can answer the intent, then others of its domain."""
    others = [tool for tool in world.tools[intent.domain] if tool not in intent.answered_by]
    return [*intent.answered_by, *dice.shuffled(others)][:width]


def right_tools(dice: Dice, intent: Intent) -> list[str]:
    """The tool that got it right this time; now and then a near-duplicate did as well."""
    right = dice.weighted(intent.answered_by)
    others = [tool for tool in intent.answered_by if tool != right]
    return [right, dice.pick(others)] if others and dice.chance(BOTH_RIGHT) else [right]
