"""Random choices that are the same on every machine and Python: all are made of Random.random() alone."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

Value = TypeVar("Value")


class Dice:
    """A seeded source of choices; its text names what it is for, so that sets do not move each other."""

    def __init__(self, purpose: str) -> None:
        self._random = Random(purpose)  # random() of a text seed is promised never to change; choice() and co are not

    def share(self) -> float:
        """A number from 0 to below 1."""
        return self._random.random()

    def beyond(self, margin: float) -> float:
        """A number from 0 to 1, or up to the margin outside."""
        return (1 + 2 * margin) * self.share() - margin

    def chance(self, share: float) -> bool:
        """True in that share of the calls."""
        return self.share() < share

    def between(self, low: int, high: int) -> int:
        """An integer from low to high, both included."""
        return low + int(self.share() * (high - low + 1))

    def pick(self, values: Sequence[Value]) -> Value:
        """One of the values."""
        return values[int(self.share() * len(values))]

    def weighted(self, weights: Mapping[Value, float]) -> Value:
        """One of the keys, as often as its weight says."""
        left = self.share() * sum(weights.values())
        for value, weight in weights.items():
            left -= weight
            if left < 0:
                return value
        return list(weights)[-1]

    def shuffled(self, values: Sequence[Value]) -> list[Value]:
        """The values in random order."""
        share = self._random.random
        drawn = [share() for _ in values]
        return [values[place] for place in sorted(range(len(drawn)), key=drawn.__getitem__)]

    def pass_over(self, count: int) -> None:
        """Draw as often as `shuffled` does for that many values."""
        for _ in range(count):
            self._random.random()
