"""Where a feature's weight may change along the way: a score is a sum of curves, one a feature, still linear in w."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray, as_floats
from ltr.evaluation.ranking import scores

MOST = 64  # of a column
COST = 10.0  # a turn of the line is penalised as a slope is, times this: where the data say little it stays straight

NONE = np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, 2))


@dataclass(frozen=True, slots=True, eq=False)
class Knots:
    """Columns max(phi_j - place, 0), a knot each; they stand after those of phi and have weights of their own.

    Beyond the values that were learned from a column that knots counts as its last value there: the last piece of a
    curve is learned from few rows, and says nothing of what lies further out.
    """

    columns: IntArray  # (knots,): j
    places: FloatArray  # (knots,)
    ends: FloatArray  # (features, 2): least and greatest value learned from; infinite of a column without knots

    @classmethod
    def of(cls, phi: npt.ArrayLike, most: int) -> Self:
        """So many knots a column at most, at even steps through its distinct values, ends left out.

        >>> knots = Knots.of(np.array([[0.0, 5.0], [1.0, 5.0], [3.0, 6.0], [9.0, 7.0]]), 1)
        >>> knots.columns, knots.places
        (array([0, 1]), array([3., 6.]))
        """
        if not most:
            return cls(*NONE)
        table = as_floats("phi", phi)
        each = [_places(column, most) for column in table.T]
        counts = np.array([len(places) for places in each])
        ends = np.column_stack([table.min(axis=0), table.max(axis=0)])
        known = np.where(counts[:, np.newaxis] > 0, ends, (-np.inf, np.inf))
        return cls(np.repeat(np.arange(len(each)), counts), np.concatenate(each), known)

    def __len__(self) -> int:
        return len(self.columns)

    def __call__(self, phi: FloatArray) -> FloatArray:
        """Phi with a column a knot after its own.

        >>> Knots(np.array([0]), np.array([2.0]), np.array([[0.0, 4.0]]))(np.array([[1.0], [5.0]]))
        array([[1., 0.],
               [4., 2.]])
        """
        if not len(self):
            return phi
        features = phi.shape[1]
        bent = np.empty((len(phi), features + len(self)))
        bent[:, :features] = self._held(phi)
        for place, (column, start) in enumerate(self._each(), start=features):
            np.maximum(bent[:, column] - start, 0.0, out=bent[:, place])
        return bent

    def scores(self, phi: FloatArray, w: FloatArray) -> FloatArray:
        """Score of each row of phi: what its columns add, and what its knots turn.

        >>> knots = Knots(np.array([0]), np.array([2.0]), np.array([[0.0, 4.0]]))
        >>> knots.scores(np.array([[1.0], [4.0], [9.0]]), np.array([1.0, -0.5]))
        array([1., 3., 3.])
        """
        phi = self._held(phi)
        found = scores(phi, w[: phi.shape[1]])
        for _, turned in self._turned(phi, w):
            found += turned
        return found

    def parts(self, phi: FloatArray, w: FloatArray) -> FloatArray:
        """What each feature adds to the score of each row, (rows, features).

        >>> knots = Knots(np.array([1]), np.array([2.0]), np.array([[-np.inf, np.inf], [0.0, 5.0]]))
        >>> knots.parts(np.array([[1.0, 5.0]]), np.array([1.0, 1.0, -1.0]))
        array([[1., 2.]])
        """
        phi = self._held(phi)
        found: FloatArray = w[: phi.shape[1]] * phi
        for column, turned in self._turned(phi, w):
            found[:, column] += turned
        return found

    def units(self, units: FloatArray) -> FloatArray:
        """What every column is divided by, given it for those of phi: a knot has its column's, times sqrt(COST)."""
        return np.concatenate([units, units[self.columns] * math.sqrt(COST)])

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names of every column, given those of phi.

        >>> Knots(np.array([0]), np.array([2.0]), np.array([[0.0, 5.0]])).names(("rel",))
        ('rel', 'rel above 2')
        """
        return (*names, *(f"{names[column]} above {start:.6g}" for column, start in self._each()))

    def start(self, init: float) -> FloatArray:
        """Where a descent begins: every weight at `init`, and no line bent."""
        return np.concatenate([np.full(len(self.ends), float(init)), np.zeros(len(self))])

    def of_feature(self, feature: int) -> IntArray:
        """The places of a feature's columns: its own, and its knots."""
        return np.concatenate([[feature], len(self.ends) + np.flatnonzero(self.columns == feature)]).astype(np.int64)

    def curve(self, feature: int, ends: tuple[float, float], w: FloatArray) -> FloatArray:
        """The feature's values at its ends and knots, and what each adds to the score, (points, 2).

        >>> Knots(np.array([0]), np.array([2.0]), np.array([[0.0, 5.0]])).curve(0, (0.0, 5.0), np.array([1.0, -1.0]))
        array([[0., 0.],
               [2., 2.],
               [5., 2.]])
        """
        mine = self.columns == feature
        alone = Knots(np.zeros(int(mine.sum()), dtype=np.int64), self.places[mine], self.ends[[feature]])
        values = np.concatenate([ends[:1], alone.places, ends[1:]])[:, np.newaxis]
        return np.hstack([values, alone.parts(values, w[self.of_feature(feature)])])

    def _held(self, phi: FloatArray) -> FloatArray:
        """Phi without what lies beyond the ends."""
        return np.clip(phi, self.ends[:, 0], self.ends[:, 1]) if len(self) else phi

    def _turned(self, phi: FloatArray, w: FloatArray) -> Iterator[tuple[int, FloatArray]]:
        """Of each knot its column, and what it adds to each row."""
        for (column, start), turn in zip(self._each(), w[phi.shape[1] :].tolist(), strict=True):
            yield column, turn * np.maximum(phi[:, column] - start, 0.0)

    def _each(self) -> list[tuple[int, float]]:
        return list(zip(self.columns.tolist(), self.places.tolist(), strict=True))


STRAIGHT = Knots(*NONE)


def _places(column: FloatArray, most: int) -> FloatArray:
    values = np.unique(column)
    inner = max(min(most, len(values) - 2), 0)
    return values[np.linspace(0, len(values) - 1, inner + 2).round().astype(np.int64)[1:-1]]
