"""How telling a list of candidates is: where one of them stands among the others."""

from collections.abc import Sequence


def place(values: Sequence[float]) -> float:
    """Share of the others that are less than the first; equals count half.

    >>> place([2, 1, 2, 3])
    0.5
    """
    first, *others = values
    return sum((value < first) + 0.5 * (value == first) for value in others) / len(others)


def likeness(parts: frozenset[object], others: frozenset[object]) -> float:
    """Share of the parts of either that both have."""
    return len(parts & others) / len(parts | others)
