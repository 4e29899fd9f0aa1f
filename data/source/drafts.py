"""How telling a list of candidates is: where one of them stands among the others."""

from collections.abc import Sequence
from itertools import combinations


def place(values: Sequence[float] | Sequence[str]) -> float:
    """Share of the others that are less than the first; equals count half.

    >>> place([2, 1, 2, 3])
    0.5
    """
    first = values[0]
    less = sum([value < first for value in values])
    return (less + 0.5 * (values.count(first) - 1)) / (len(values) - 1)


def likeness(parts: frozenset[object], others: frozenset[object]) -> float:
    """Share of the parts of either that both have."""
    both = len(parts & others)
    return both / max(len(parts) + len(others) - both, 1)


def each_to_others(parts: Sequence[frozenset[object]]) -> list[list[float]]:
    """Of each its likeness to all, to itself 0."""
    found = [[0.0] * len(parts) for _ in parts]
    for one, other in combinations(range(len(parts)), 2):
        found[one][other] = found[other][one] = likeness(parts[one], parts[other])
    return found


def distance(found: Sequence[float], wanted: Sequence[float], urgency: Sequence[float]) -> float:
    """How far a list stands from the places that were drawn for it."""
    return sum(weight * abs(a - b) for a, b, weight in zip(found, wanted, urgency, strict=True))
