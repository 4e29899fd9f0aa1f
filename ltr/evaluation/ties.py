"""Where rows stand in the order of their groups: the one place that knows how ties fall."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, groups_of, ragged
from ltr.evaluation.ranking import Ranking, Ties, best_first, tie_rule

COMPARISONS = 1 << 18  # compared at once: they stay in the cache
AT_ONCE = 1500  # rows compared at once: short columns are reused while they are at hand
BYTE = 255
COUNTED = 32  # labelled rows of a group from which sorting it once costs less than counting for each
NOWHERE = 1 << 31  # candidates before one that is not in the list: more than any cutoff


@dataclass(frozen=True, slots=True)
class Places:
    """Where rows stand: each is equally likely on any of the places above + 1 .. above + span of its group."""

    above: IntArray
    span: IntArray  # candidates that share the score under `expected`, 1 under every other rule
    sharing: IntArray  # candidates that share the score, itself included, under every rule


@dataclass(frozen=True, slots=True)
class Within:
    """How the candidates of one tie stand."""

    is_shared: bool  # each equally likely on each of its places
    second: FloatArray | IntArray | None  # else what orders them, the least first; where it is equal, or None, the file


def places(
    ranking: Ranking, rows: IntArray, ties: str, labels: FloatArray, *, groups: IntArray | None = None
) -> Places:
    """Where the given rows of these groups stand in them: under a rule that ties by label, by these labels.

    Few rows of a group are placed by counting greater and equal scores, many by sorting the group once.

    >>> from ltr.evaluation.ranking import rank
    >>> places(rank([0.7, 0.9, 0.7], [0, 3]), np.array([0, 1]), Ties.EXPECTED, np.zeros(3))
    Places(above=array([1, 0]), span=array([2, 1]), sharing=array([2, 1]))
    """
    rule = tie_rule(ranking, ties)
    groups = groups_of(rows, ranking.offsets) if groups is None else groups
    above, sharing = _above_and_sharing(
        ranking, rows, groups, Within(rule is Ties.EXPECTED, _second(ranking, rule, labels))
    )
    unlisted = np.flatnonzero(np.isneginf(ranking.scores[rows]))
    above[unlisted], sharing[unlisted] = NOWHERE + np.arange(len(unlisted)), 1  # no two have the same place
    return Places(above, sharing if rule is Ties.EXPECTED else np.ones_like(sharing), sharing)


def _above_and_sharing(ranking: Ranking, rows: IntArray, groups: IntArray, ties: Within) -> tuple[IntArray, IntArray]:
    """Of each row the candidates above it and those that share its score, as if every row were in its list."""
    counts = np.bincount(groups)
    if counts.max(initial=0) < COUNTED:
        return _counted(ranking, rows, groups, ties)
    above, sharing = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    many = (counts >= COUNTED)[groups]
    for chosen, place in ((np.flatnonzero(~many), _counted), (np.flatnonzero(many), _sorted)):
        if len(chosen):
            above[chosen], sharing[chosen] = place(ranking, rows[chosen], groups[chosen], ties)
    return above, sharing


def _counted(ranking: Ranking, rows: IntArray, groups: IntArray, ties: Within) -> tuple[IntArray, IntArray]:
    """Of each row the candidates above it and those that share its score, by comparing it with its group."""
    above, sharing = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    for chosen, others in _opponents(ranking.offsets, groups):
        own = rows[chosen]
        theirs, mine = ranking.scores.take(others), ranking.scores.take(own)
        ahead, equal = theirs > mine, theirs == mine
        sharing[chosen] = alike = _column_counts(equal)
        if not ties.is_shared and alike.max() > 1:
            ahead |= equal & _goes_before(others, own, ties.second)
        above[chosen] = _column_counts(ahead)
    return above, sharing


def _column_counts(flags: BoolArray) -> IntArray:
    """How many of each column are set; in bytes, as long as they hold the count.

    >>> _column_counts(np.array([[True, False], [True, True]]))
    array([2, 1])
    """
    parts = [
        np.add.reduce(flags[first : first + BYTE].view(np.uint8), axis=0, dtype=np.uint8)
        for first in range(0, len(flags), BYTE)
    ]
    return np.add.reduce(parts, axis=0, dtype=np.int64) if len(parts) > 1 else parts[0].astype(np.int64)


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


def _sorted(ranking: Ranking, rows: IntArray, groups: IntArray, ties: Within) -> tuple[IntArray, IntArray]:
    """What `_counted` gives, from the groups of the rows in order."""
    wanted = np.unique(groups)
    owner, step = ragged(np.diff(ranking.offsets)[wanted])
    members = ranking.offsets[wanted][owner] + step
    second = None if ties.second is None else ties.second[members]
    listed = members[best_first(ranking.scores[members], owner, second)]
    starts_tie = (step == 0) | _differs(ranking.scores[listed])
    tie = np.cumsum(starts_tie) - 1
    firsts, lengths = step[starts_tie], np.bincount(tie)
    at = np.empty(len(ranking.scores), dtype=np.int64)
    at[listed] = np.arange(len(listed))
    spots = at[rows]
    return (firsts[tie] if ties.is_shared else step)[spots], lengths[tie[spots]]


def _differs(values: FloatArray) -> BoolArray:
    """Whether each value is another than the one before it; the first is."""
    return np.concatenate([[True], values[1:] != values[:-1]])[: len(values)]


def _opponents(offsets: IntArray, groups: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows of these groups in parts of one group size: their positions, and (size, part) rows they stand against."""
    starts, sizes = offsets[groups], np.diff(offsets)[groups]
    occurring = np.flatnonzero(np.bincount(sizes)).tolist()
    for size in occurring:
        of_size = np.flatnonzero(sizes == size) if len(occurring) > 1 else np.arange(len(sizes))
        members = np.arange(size)[:, np.newaxis]
        at_once = min(max(COMPARISONS // size, 1), AT_ONCE)
        for first in range(0, len(of_size), at_once):
            chosen = of_size[first : first + at_once]
            yield chosen, starts[chosen] + members
