"""Recommended lists, user by user, as a ranking with its labels."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Set
from numbers import Real
from typing import Any, NamedTuple

import numpy as np

from ltr.arrays import LARGEST, FloatArray
from ltr.errors import DataError
from ltr.evaluation.ranking import Ranking, rank

Grades = dict[Hashable, float]


class RankedLists(NamedTuple):
    """What `evaluate` takes: one group a user of the truth, in its order."""

    ranking: Ranking
    labels: FloatArray


def rank_lists(recommended: Mapping[Any, Iterable[Any]], truth: Mapping[Any, Any]) -> RankedLists:
    """The ranking and labels of each user's list of items, the first the best, or of their scores.

    Scores are pairs (item, score), or a mapping of items to scores.

    The truth of a user is one item, several in a list or set, or a mapping of items to grades. Every user of the
    truth is a query: without a list it counts 0. A right item that is not in the list counts among all right ones.
    Users without a true item are left out of the means, and out of the ranking where they have no list either.

    >>> from ltr.evaluation.evaluate import evaluate
    >>> truth = {"ann": "y", "bob": ["z", "w"], "cy": "x"}
    >>> ranking, labels = rank_lists({"ann": ["x", "y"], "bob": [("z", 0.9)]}, truth)
    >>> evaluate(ranking, labels, ["recall@5"]).means["recall@5"]  # (1 + 1/2 + 0) / 3
    0.5
    """
    names: list[Hashable] = []
    scores: list[float] = []
    labels: list[float] = []
    listed: list[bool] = []
    offsets = [0]
    for user, right in truth.items():
        grades, ranked = as_grades(user, right), as_scores(user, recommended.get(user, ()))
        missed = [item for item in grades if item not in ranked]
        names += [*ranked, *missed]
        scores += [*ranked.values(), *(0.0 for _ in missed)]
        labels += [grades.get(item, 0.0) for item in (*ranked, *missed)]
        listed += [True] * len(ranked) + [False] * len(missed)
        if len(names) > offsets[-1]:
            offsets.append(len(names))
    if not names:
        raise DataError("no user has a true item or a list")
    texts = sorted({str(name) for name in names})
    places = {text: place for place, text in enumerate(texts)}
    keys = np.array([places[str(name)] for name in names])
    ranking = rank(np.array(scores, dtype=np.float64), offsets, keys=keys, listed=np.array(listed))
    return RankedLists(ranking, np.array(labels, dtype=np.float64))


def as_grades(user: object, right: Any) -> Grades:
    """The true items with their grades, 1 for items without one.

    >>> as_grades("ann", "x"), as_grades("ann", {"x": 3})
    ({'x': 1.0}, {'x': 3.0})
    """
    if isinstance(right, Mapping):
        return {item: _number(user, item, grade) for item, grade in right.items()}
    several = isinstance(right, Collection) and not isinstance(right, str | bytes | tuple)
    try:
        return dict.fromkeys(right if several else [right], 1.0)
    except TypeError:
        raise DataError(f"user {user!r}: {right!r} is no item; an item is a text or a number") from None


def as_scores(user: object, items: Iterable[Any]) -> dict[Hashable, float]:
    """The items with their scores; those without get scores that keep their order.

    >>> as_scores("ann", ["x", "y"]), as_scores("ann", {"x": 0.5})
    ({'x': 0.0, 'y': -1.0}, {'x': 0.5})
    """
    if isinstance(items, str | bytes | Set) or not isinstance(items, Iterable):
        raise DataError(f"user {user!r}: a list of items in their order is needed, found {type(items).__name__}")
    entries: list[Any] = list(items.items()) if isinstance(items, Mapping) else list(items)
    is_scored = [isinstance(entry, tuple) for entry in entries]
    if any(is_scored) and not all(is_scored):
        raise DataError(f"user {user!r}: some items have scores and some have none; all or none is right")
    if any(isinstance(entry, tuple) and len(entry) != 2 for entry in entries):
        raise DataError(f"user {user!r}: a pair (item, score) is needed, found {entries[0]!r}")
    pairs = entries if any(is_scored) else [(item, -place) for place, item in enumerate(entries)]
    try:
        scored = {item: _number(user, item, score) for item, score in pairs}
    except TypeError:
        raise DataError(f"user {user!r}: a list holds what is no item; an item is a text or a number") from None
    if len(scored) < len(entries):
        raise DataError(f"user {user!r}: an item stands twice in the list")
    return scored


def _number(user: object, item: object, value: Any) -> float:
    """The score or grade of an item: a finite number, as rankings take them."""
    if isinstance(value, bool) or not isinstance(value, Real) or not abs(float(value)) <= LARGEST:
        raise DataError(f"user {user!r}: {value!r} of {item!r} is not a finite number")
    return float(value)
