"""The one place that orders scores: checked scores in groups, and the order in which they list their rows."""

from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, BoolArray, FloatArray, IntArray, as_array, as_floats, as_offsets, owners, refuse_outside
from ltr.errors import ArrayError, UsageError

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
    """Checked scores in groups."""

    scores: FloatArray  # (rows,); -inf: not in the list
    offsets: IntArray  # (groups + 1,)
    keys: IntArray | None = None  # (rows,): order of the ids, for rules that go by id

    @property
    def is_listed(self) -> BoolArray:
        """Whether each row is in the list of its group."""
        return ~np.isneginf(self.scores)

    @property
    def last_id_first(self) -> IntArray:
        """What orders the rows by id from the last: the least first."""
        if self.keys is None:
            raise UsageError("ties 'trec' goes by id, and the ranking has no keys")
        return ~self.keys

    @property
    def num_listed(self) -> IntArray:
        """How many rows of each group are in its list."""
        listed, sizes = self.is_listed, np.diff(self.offsets)
        if listed.all():
            return sizes
        return np.bincount(owners(np.flatnonzero(listed), self.offsets), minlength=len(sizes))


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
    score, and counts only in metrics that divide by all right candidates or by the ideal order.
    The ranking holds copies: later changes of the arguments do not change it.

    >>> ranking = rank([0.2, 0.9, 0.5, 0.7, 0.7], [0, 3, 5])
    >>> order(ranking, Ties.FILE)
    array([1, 2, 0, 3, 4])
    """
    flat = as_floats("scores", scores)
    if flat.ndim != 1:
        raise ArrayError("scores", "", f"one number a row is needed, found shape {flat.shape}")
    bounds = as_offsets(offsets, len(flat))
    refuse_outside("scores", flat, bounds, least=-LARGEST)
    copied = flat.copy()
    if listed is not None:
        if listed.shape != copied.shape or listed.dtype != np.bool_:
            raise ArrayError("listed", "", f"one truth value a row is needed {copied.shape}, found {listed.shape}")
        copied[~listed] = -np.inf
    return Ranking(copied, bounds, None if keys is None else as_keys(keys, bounds))


def as_keys(keys: npt.ArrayLike, offsets: IntArray) -> IntArray:
    """One integer a row, no two alike in a group."""
    values = as_array("keys", keys)
    if values.dtype.kind not in "iu" or values.shape != (offsets[-1],):
        problem = f"one integer a row is needed ({offsets[-1]},), found shape {values.shape} of {values.dtype}"
        raise ArrayError("keys", "", problem)
    if values.size and values.max() > np.iinfo(np.int64).max:
        raise ArrayError("keys", f"[{np.argmax(values)}]", f"{values.max()} does not fit 64 bits with a sign")
    integers = values.astype(np.int64)
    groups = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    compact, low, high = integers, int(integers.min(initial=0)), int(integers.max(initial=0))
    if (high - low + 1) * len(offsets) > np.iinfo(np.int64).max:  # a code of group and key would overflow
        compact, low, high = np.unique(integers, return_inverse=True)[1], 0, len(integers)
    codes = groups * (high - low + 1) + (compact - low)
    listed = np.sort(codes)
    equal = np.flatnonzero(listed[1:] == listed[:-1])
    if equal.size:
        first, second = np.flatnonzero(codes == listed[equal[0]])[:2]
        start = offsets[groups[first]]
        problem = f"rows {first - start} and {second - start} of group {groups[first]} share a key; ids differ"
        raise ArrayError("keys", f"[{second}]", problem)
    return integers


def order(ranking: Ranking, ties: str) -> IntArray:
    """Rows of each group, best first. Equal scores: `trec` by id from the last, `file` in input order, others by id.

    Without keys the others too list equal scores in input order.

    >>> order(rank([0.7, 0.7], [0, 2], keys=[1, 0]), Ties.EXPECTED)
    array([1, 0])
    """
    rule = as_choice(Ties, "ties", ties)
    second = ranking.last_id_first if rule is Ties.TREC else None if rule is Ties.FILE else ranking.keys
    groups = np.repeat(np.arange(len(ranking.offsets) - 1), np.diff(ranking.offsets))
    return rows_in_order(ranking.scores, groups, second)


def rows_in_order(scores: FloatArray, groups: IntArray, second: FloatArray | IntArray | None = None) -> IntArray:
    """Rows in order of group, then of score from the greatest, then of `second` from the least.

    >>> rows_in_order(np.array([0.2, 0.9, 0.9]), np.array([0, 0, 0]), np.array([0, 2, 1]))
    array([2, 1, 0])
    """
    return np.lexsort((-scores, groups) if second is None else (second, -scores, groups))


def as_choice(choices: type[Choice], argument: str, name: str) -> Choice:
    """The member of that name, or an error that lists them all."""
    if not isinstance(name, str) or name not in set(choices):
        raise UsageError(f"{argument} {name!r} is not one of {', '.join(choices)}")
    return choices(name)
