"""The one place that orders scores, and the one function that knows how ties fall."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray, as_array, as_column, as_floats, as_offsets, groups_of, ragged
from ltr.errors import ArrayError, UsageError

COMPARISONS = 1 << 18  # compared at once: they stay in the cache
COUNTED = 32  # labelled rows of a group from which sorting it once costs less than counting for each
NOWHERE = 1 << 31  # candidates before one that is not in the list: more than any cutoff

Choice = TypeVar("Choice", bound=StrEnum)


class Ties(StrEnum):
    """How candidates of one group with equal scores are placed."""

    EXPECTED = "expected"  # the exact expectation over random order
    FILE = "file"  # in the order of the input
    WORST = "worst"  # the higher label last
    BEST = "best"  # the higher label first
    TREC = "trec"  # the greater id first


@dataclass(frozen=True, slots=True)
class Ranking:
    """Checked scores in groups; places are counted from them when asked for."""

    scores: FloatArray  # (rows,); -inf: not in the list
    offsets: IntArray  # (groups + 1,)
    keys: IntArray | None = None  # (rows,): order of the ids, for rules that go by id


@dataclass(frozen=True, slots=True)
class Places:
    """Where rows stand: each is equally likely on any of the places above + 1 .. above + span of its group."""

    above: IntArray
    span: IntArray  # candidates that share the score under `expected`, 1 under every other rule
    sharing: IntArray  # candidates that share the score, itself included, under every rule


def rank(
    scores: npt.ArrayLike,
    offsets: npt.ArrayLike,
    *,
    keys: npt.ArrayLike | None = None,
    listed: BoolArray | None = None,
) -> Ranking:
    """The ranking of each group by score, highest first. Scores are compared as float64, exactly.

    `keys` holds the place of each row's id in the order of the ids; rules that go by id need it. A row that is not
    `listed` was never ranked, such as a right candidate that a search did not return: it has no place, whatever its
    score, and only what is divided by all right candidates, or by the ideal, knows of it.
    The ranking keeps copies: what happens to the arguments later does not reach it.

    >>> ranking = rank([0.2, 0.9, 0.5, 0.7, 0.7], [0, 3, 5])
    >>> order(ranking, Ties.FILE)
    array([1, 2, 0, 3, 4])
    """
    given = as_floats("scores", scores)
    if given.ndim != 1:
        raise ArrayError("scores", "", f"one number a row is needed, found shape {given.shape}")
    checked = as_offsets(offsets, len(given))
    kept = as_column("scores", given, checked).copy()
    if listed is not None:
        if listed.shape != kept.shape or listed.dtype != np.bool_:
            raise ArrayError("listed", "", f"one truth value a row is needed {kept.shape}, found {listed.shape}")
        kept[~listed] = -np.inf
    return Ranking(kept, checked, None if keys is None else as_keys(keys, checked))


def as_keys(keys: npt.ArrayLike, offsets: IntArray) -> IntArray:
    """One integer a row, no two alike in a group."""
    given = as_array("keys", keys)
    if given.dtype.kind not in "iu" or given.shape != (offsets[-1],):
        found = f"found shape {given.shape} of {given.dtype}"
        raise ArrayError("keys", "", f"one integer a row is needed ({offsets[-1]},), {found}")
    if given.size and given.max() > np.iinfo(np.int64).max:
        raise ArrayError("keys", f"[{np.argmax(given)}]", f"{given.max()} does not fit 64 bits with a sign")
    checked = given.astype(np.int64)
    _refuse_equal(checked, offsets)
    return checked


def _refuse_equal(keys: IntArray, offsets: IntArray) -> None:
    """Raise for two equal keys of one group: they would share a place."""
    groups = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    low, high = int(keys.min(initial=0)), int(keys.max(initial=0))
    if (high - low + 1) * len(offsets) > np.iinfo(np.int64).max:
        keys, low, high = np.unique(keys, return_inverse=True)[1], 0, len(keys)
    codes = groups * (high - low + 1) + (keys - low)
    listed = np.sort(codes)
    equal = np.flatnonzero(listed[1:] == listed[:-1])
    if equal.size:
        first, second = np.flatnonzero(codes == listed[equal[0]])[:2]
        start = offsets[groups[first]]
        problem = f"rows {first - start} and {second - start} of group {groups[first]} share a key; ids differ"
        raise ArrayError("keys", f"[{second}]", problem)


def order(ranking: Ranking, ties: str) -> IntArray:
    """Rows of each group, best first. Equal scores: `trec` by id from the last, `file` as given, others by id.

    Without keys the others too list equal scores as given.

    >>> order(rank([0.7, 0.7], [0, 2], keys=[1, 0]), Ties.EXPECTED)
    array([1, 0])
    """
    rule = _tie_rule(ranking, ties)
    groups = np.repeat(np.arange(len(ranking.offsets) - 1), np.diff(ranking.offsets))
    if rule is Ties.FILE or ranking.keys is None:
        return np.lexsort((-ranking.scores, groups))
    return np.lexsort((~ranking.keys if rule is Ties.TREC else ranking.keys, -ranking.scores, groups))


def places(ranking: Ranking, rows: IntArray, ties: str, labels: FloatArray) -> Places:
    """Where the given rows stand in their groups: under a rule that ties by label, by these labels.

    Few rows of a group are placed by counting greater and equal scores, many by sorting the group once.

    >>> places(rank([0.7, 0.9, 0.7], [0, 3]), np.array([0, 1]), Ties.EXPECTED, np.zeros(3))
    Places(above=array([1, 0]), span=array([2, 1]), sharing=array([2, 1]))
    """
    rule, groups = _tie_rule(ranking, ties), groups_of(rows, ranking.offsets)
    above, sharing = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    many = (np.bincount(groups) >= COUNTED)[groups]
    for chosen, place in ((np.flatnonzero(~many), _counted), (np.flatnonzero(many), _sorted)):
        if len(chosen):
            above[chosen], sharing[chosen] = place(ranking, rows[chosen], groups[chosen], rule, labels)
    unlisted = np.flatnonzero(np.isneginf(ranking.scores[rows]))
    above[unlisted], sharing[unlisted] = NOWHERE + np.arange(len(unlisted)), 1  # no two have the same place
    return Places(above, sharing if rule is Ties.EXPECTED else np.ones_like(sharing), sharing)


def _counted(
    ranking: Ranking, rows: IntArray, groups: IntArray, ties: Ties, labels: FloatArray
) -> tuple[IntArray, IntArray]:
    """Of each row the candidates above it and those that share its score, by comparing it with its group."""
    above, sharing = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    second = _second(ranking, ties, labels)
    for chosen, others in _opponents(ranking.offsets, groups):
        own = rows[chosen]
        ahead = ranking.scores[others] > ranking.scores[own]
        equal = ranking.scores[others] == ranking.scores[own]
        sharing[chosen] = np.count_nonzero(equal, axis=0)
        if ties is not Ties.EXPECTED and (sharing[chosen] > 1).any():
            ahead |= equal & _goes_before(others, own, second)
        above[chosen] = np.count_nonzero(ahead, axis=0)
    return above, sharing


def _goes_before(others: IntArray, own: IntArray, second: FloatArray | IntArray | None) -> BoolArray:
    """Whether each of the others would stand before the own row if their scores were equal."""
    earlier: BoolArray = others < own
    if second is None:
        return earlier
    theirs, mine = second[others], second[own]
    return (theirs < mine) | ((theirs == mine) & earlier)


def _second(ranking: Ranking, ties: Ties, labels: FloatArray) -> FloatArray | IntArray | None:
    """What orders equal scores, the least first; where it is equal, or None, the order of the input does."""
    if ties is Ties.TREC and ranking.keys is not None:
        return ~ranking.keys
    if ties is Ties.BEST:
        return -labels
    return labels if ties is Ties.WORST else None


def _sorted(
    ranking: Ranking, rows: IntArray, groups: IntArray, ties: Ties, labels: FloatArray
) -> tuple[IntArray, IntArray]:
    """What `_counted` gives, from the groups of the rows in order."""
    wanted = np.unique(groups)
    owner, step = ragged(np.diff(ranking.offsets)[wanted])
    members = ranking.offsets[wanted][owner] + step
    second = _second(ranking, ties, labels)
    finer = () if second is None else (second[members],)
    listed = members[np.lexsort((*finer, -ranking.scores[members], owner))]
    starts_tie = (step == 0) | _differs(ranking.scores[listed])
    tie = np.cumsum(starts_tie) - 1
    firsts, lengths = step[starts_tie], np.bincount(tie)
    at = np.empty(len(ranking.scores), dtype=np.int64)
    at[listed] = np.arange(len(listed))
    spots = at[rows]
    return (firsts[tie] if ties is Ties.EXPECTED else step)[spots], lengths[tie[spots]]


def _differs(values: FloatArray) -> BoolArray:
    """Whether each value is another than the one before it; the first is."""
    return np.concatenate([[True], values[1:] != values[:-1]])[: len(values)]


def _opponents(offsets: IntArray, groups: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows of these groups in parts of one group size: their positions, and (size, part) rows they stand against."""
    sizes = offsets[groups + 1] - offsets[groups]
    for size in np.unique(sizes).tolist():
        of_size = np.flatnonzero(sizes == size)
        members = np.arange(size)[:, np.newaxis]
        at_once = max(COMPARISONS // size, 1)
        for first in range(0, len(of_size), at_once):
            chosen = of_size[first : first + at_once]
            yield chosen, offsets[groups[chosen]] + members


def _tie_rule(ranking: Ranking, ties: str) -> Ties:
    """The rule of that name, which the ranking must be able to follow."""
    rule = chosen(Ties, "ties", ties)
    if rule is Ties.TREC and ranking.keys is None:
        raise UsageError("ties 'trec' goes by id, and the ranking has no keys")
    return rule


def chosen(choices: type[Choice], argument: str, name: str) -> Choice:
    """The member of that name, or an error that lists them all."""
    if not isinstance(name, str) or name not in set(choices):
        raise UsageError(f"{argument} {name!r} is not one of {', '.join(choices)}")
    return choices(name)
