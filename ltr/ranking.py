"""The one place that orders scores, and the one function that knows how ties fall."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray, as_column, as_offsets
from ltr.errors import ArrayError, UsageError

COMPARISONS = 1 << 18  # compared at once: the block stays in the cache
NOWHERE = 1 << 31  # candidates before one that is not in the list: more than any cutoff


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
    level: IntArray  # candidates that share the score, itself included, under every rule


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

    >>> ranking = rank([0.2, 0.9, 0.5, 0.7, 0.7], [0, 3, 5])
    >>> order(ranking, Ties.FILE)
    array([1, 2, 0, 3, 4])
    """
    given = np.asarray(scores)
    checked = as_offsets(offsets, len(given) if given.ndim else 0)
    column = as_column("scores", given, checked)
    if listed is not None:
        if listed.shape != column.shape or listed.dtype != np.bool_:
            raise ArrayError("listed", "", f"one truth value a row is needed {column.shape}, found {listed.shape}")
        column = np.where(listed, column, -np.inf)
    return Ranking(column, checked, None if keys is None else as_keys(keys, checked))


def as_keys(keys: npt.ArrayLike, offsets: IntArray) -> IntArray:
    """One integer a row."""
    given = np.asarray(keys)
    if given.dtype.kind not in "iu" or given.shape != (offsets[-1],):
        found = f"found shape {given.shape} of {given.dtype}"
        raise ArrayError("keys", "", f"one integer a row is needed ({offsets[-1]},), {found}")
    return given.astype(np.int64)


def order(ranking: Ranking, ties: Ties) -> IntArray:
    """Rows of each group, best first. Equal scores: `trec` by id from the last, `file` as given, others by id.

    >>> order(rank([0.7, 0.7], [0, 2], keys=[1, 0]), Ties.EXPECTED)
    array([1, 0])
    """
    scores, groups = ranking.scores, np.repeat(np.arange(len(ranking.offsets) - 1), np.diff(ranking.offsets))
    if ties is Ties.FILE or ranking.keys is None:
        return np.lexsort((-scores, groups))
    return np.lexsort((-ranking.keys if ties is Ties.TREC else ranking.keys, -scores, groups))


def places(ranking: Ranking, rows: IntArray, ties: Ties, labels: FloatArray) -> Places:
    """Where the given rows stand in their groups, by counting greater and equal scores.

    >>> places(rank([0.7, 0.9, 0.7], [0, 3]), np.array([0, 1]), Ties.EXPECTED, np.zeros(3))
    Places(above=array([1, 0]), span=array([2, 1]), level=array([2, 1]))
    """
    if ties is Ties.TREC and ranking.keys is None:
        raise UsageError("ties 'trec' goes by id, and the ranking has no keys")
    above, level = np.empty(len(rows), dtype=np.int64), np.empty(len(rows), dtype=np.int64)
    for chosen, others in _opponents(ranking.offsets, rows):
        own = rows[chosen]
        ahead = ranking.scores[others] > ranking.scores[own]
        equal = ranking.scores[others] == ranking.scores[own]
        level[chosen] = np.count_nonzero(equal, axis=0)
        if ties is not Ties.EXPECTED and (level[chosen] > 1).any():
            ahead |= equal & _goes_before(ranking, others, own, ties, labels)
        above[chosen] = np.count_nonzero(ahead, axis=0)
    unlisted = np.flatnonzero(np.isneginf(ranking.scores[rows]))
    above[unlisted], level[unlisted] = NOWHERE + np.arange(len(unlisted)), 1  # no two share a place
    return Places(above, level if ties is Ties.EXPECTED else np.ones_like(level), level)


def _goes_before(ranking: Ranking, others: IntArray, own: IntArray, ties: Ties, labels: FloatArray) -> BoolArray:
    """Whether each of the others would stand before the own row if their scores were equal."""
    earlier: BoolArray = others < own
    if ties is Ties.FILE:
        return earlier
    if ties is Ties.TREC and ranking.keys is not None:
        return ranking.keys[others] > ranking.keys[own]
    sign = 1.0 if ties is Ties.BEST else -1.0
    theirs, mine = sign * labels[others], sign * labels[own]
    return (theirs > mine) | ((theirs == mine) & earlier)


def _opponents(offsets: IntArray, rows: IntArray) -> Iterator[tuple[IntArray, IntArray]]:
    """The rows in blocks of one group size: positions in `rows`, and (size, block) rows they stand against."""
    groups = np.searchsorted(offsets, rows, side="right") - 1
    sizes = np.diff(offsets)[groups]
    for size in np.unique(sizes).tolist():
        of_size = np.flatnonzero(sizes == size)
        members = np.arange(size)[:, np.newaxis]
        for first in range(0, len(of_size), max(COMPARISONS // size, 1)):
            chosen = of_size[first : first + max(COMPARISONS // size, 1)]
            yield chosen, offsets[groups[chosen]] + members
