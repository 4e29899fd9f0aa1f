"""Phrases become queries: slots filled, openers and asides around them, here and there a slip of the fingers."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from data.source.dice import Dice

HERE = Path(__file__).parent
REGISTERS = {"ask": 13, "say": 3, "terse": 4}
KEPT_FOR_TEST = 4  # every fourth phrase of a list
TYPOS, ASIDES, ANOTHER = 0.07, 0.2, 0.3
SLOT = re.compile(r"{(\w+)}")
ARTICLE = re.compile(r"\bthe ")  # which keywords do without


def source(name: str) -> Any:
    """A hand-written file beside this one."""
    return yaml.load((HERE / name).read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)


def lines(text: str) -> list[str]:
    """The phrases of a block, one a line."""
    return text.splitlines()


def of_side(phrases: Sequence[str], side: str) -> list[str]:
    """The phrases that training may say, or those kept for the test set, which begin at another place in each list."""
    first = sum(map(len, phrases))
    return [text for place, text in enumerate(phrases, start=first) if (place % KEPT_FOR_TEST == 0) == (side == "test")]


@dataclass(frozen=True)
class Manner:
    """What people put around a phrase, and the values of the slots."""

    slots: dict[str, list[str]]
    openers: list[str]
    asides: list[str]


def manner(side: str) -> Manner:
    """The manner of the training or of the test set."""
    written, prefix = source("slots.yaml"), "test_" if side == "test" else ""
    slots = {name: [value.strip() for value in values.split("|")] for name, values in written["slots"].items()}
    return Manner(slots, lines(written[f"{prefix}openers"]), lines(written[f"{prefix}asides"]))


class Speaker:
    """One person's session: the same city, colleague or file comes up again and again."""

    def __init__(self, dice: Dice, manner: Manner) -> None:
        self._dice, self._manner = dice, manner
        self._values = {name: dice.shuffled(values) for name, values in manner.slots.items()}

    def query(self, phrases: dict[str, list[str]]) -> str:
        """One of the phrases, said."""
        register = self._dice.weighted({name: weight for name, weight in REGISTERS.items() if phrases.get(name)})
        text = self.filled(self._dice.pick(phrases[register])).replace("the the ", "the ")
        return self._with_typo(self._around(register, text))

    def filled(self, phrase: str) -> str:
        """The phrase with a value in each slot; a slot that stands twice gets two values."""
        used: dict[str, int] = {}

        def value(match: re.Match[str]) -> str:
            name = match.group(1)
            if self._dice.chance(ANOTHER):
                self._values[name] = self._dice.shuffled(self._values[name])
            used[name] = used.get(name, -1) + 1
            return self._values[name][used[name]]

        return SLOT.sub(value, phrase)

    def _around(self, register: str, text: str) -> str:
        if register == "ask":
            opener = self._dice.pick(self._manner.openers)
            said = opener.replace("{}", text)
            return capitalised(said) if opener == "{}." else said
        if register == "say":
            said = capitalised(text)
            return self._dice.pick(self._manner.asides).replace("{}", said) if self._dice.chance(ASIDES) else said
        return ARTICLE.sub("", text)

    def _with_typo(self, text: str) -> str:
        words = text.split(" ")
        places = [place for place, word in enumerate(words) if len(word) > 4 and word.isalpha() and word.islower()]
        if not places or not self._dice.chance(TYPOS):
            return text
        place = self._dice.pick(places)
        return " ".join([*words[:place], slipped(words[place], self._dice), *words[place + 1 :]])


def unspoken(speaker: Speaker, phrases: Callable[[], dict[str, list[str]]], spoken: set[str], tries: int = 20) -> str:
    """A query that nobody has asked in this set yet, as far as the phrases allow; remembered in `spoken`."""
    query = speaker.query(phrases())
    for _ in range(tries):
        if query.lower() not in spoken:
            break
        query = speaker.query(phrases())
    spoken.add(query.lower())
    return query


def capitalised(text: str) -> str:
    """With a capital at the start, unless the first word is a name that is written as it is.

    >>> capitalised("the blue tent is late"), capitalised("parse_header fails")
    ('The blue tent is late', 'parse_header fails')
    """
    is_word = text.partition(" ")[0].rstrip(",.?").isalpha()
    return text[:1].upper() + text[1:] if is_word else text


def slipped(word: str, dice: Dice) -> str:
    """The word with a letter lost, or with two letters in the wrong order."""
    place = dice.between(1, len(word) - 3)
    if dice.chance(0.5):
        return word[:place] + word[place + 1 :]
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]
