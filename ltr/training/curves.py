"""Curves: what a feature adds to the score is piecewise linear in its value; the slope changes at knots."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray, as_floats, linear_scores

ROWS_AT_ONCE = 1 << 12  # whose knots are computed at once: they stay in the cache


@dataclass(frozen=True, slots=True, eq=False)
class Knots:
    """Columns max(phi_j - position, 0), one for each knot; they follow those of phi and have their own weights.

    A curve is constant beyond the values it was learned from: its last piece is learned from few rows, and says
    nothing of larger values.
    """

    columns: IntArray  # (knots,): j
    positions: FloatArray  # (knots,)
    ends: FloatArray  # (features, 2): least and greatest value learned from; infinite for a column without knots

    MOST: ClassVar[int] = 64  # of a column

    @classmethod
    def of(cls, phi: npt.ArrayLike, most: int) -> Self:
        """At most so many knots for each column, at even steps through its distinct values, its ends left out.

        >>> knots = Knots.of(np.array([[0.0, 5.0], [1.0, 5.0], [3.0, 6.0], [9.0, 7.0]]), 1)
        >>> knots.columns, knots.positions
        (array([0, 1]), array([3., 6.]))
        """
        if not most:
            return cls(np.empty(0, dtype=np.int64), np.empty(0), np.empty((0, 2)))
        table = as_floats("phi", phi)
        by_column = [knot_positions(np.unique(column), most) for column in table.T]
        return cls.at(by_column, np.column_stack([table.min(axis=0), table.max(axis=0)]))

    @classmethod
    def at(cls, by_column: Sequence[FloatArray], ends: FloatArray) -> Self:
        """The knots at these positions of each column, whose least and greatest values are the ends, (columns, 2)."""
        counts = np.array([len(positions) for positions in by_column])
        infinite = np.where((counts == 0)[:, np.newaxis], [-np.inf, np.inf], ends)
        return cls(np.repeat(np.arange(len(counts)), counts), np.concatenate(by_column), infinite)

    def __len__(self) -> int:
        return len(self.columns)

    def __call__(self, phi: FloatArray) -> FloatArray:
        """Phi, followed by a column for each knot.

        >>> Knots(np.array([0]), np.array([2.0]), np.array([[0.0, 4.0]]))(np.array([[1.0], [5.0]]))
        array([[1., 0.],
               [4., 2.]])
        """
        if not len(self):
            return phi
        features = phi.shape[1]
        extended = np.empty((len(phi), features + len(self)))
        extended[:, :features] = self._clipped(phi)
        for place, (column, position) in enumerate(zip(self.columns, self.positions, strict=True), start=features):
            np.maximum(extended[:, column] - position, 0.0, out=extended[:, place])
        return extended

    def scores(self, phi: FloatArray, w: FloatArray) -> FloatArray:
        """Score of each row of phi: the sum of its curves.

        >>> knots = Knots(np.array([0]), np.array([2.0]), np.array([[0.0, 4.0]]))
        >>> knots.scores(np.array([[1.0], [4.0], [9.0]]), np.array([1.0, -0.5]))
        array([1., 3., 3.])
        """
        if not len(self):
            return linear_scores(phi, w)
        features, total = phi.shape[1], np.empty(len(phi))
        for first in range(0, len(phi), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            clipped = self._clipped(phi[part])
            total[part] = linear_scores(clipped, w[:features]) + linear_scores(self._rises(clipped), w[features:])
        return total

    def parts(self, phi: FloatArray, w: FloatArray) -> FloatArray:
        """What each feature adds to the score of each row, (rows, features).

        >>> knots = Knots(np.array([1]), np.array([2.0]), np.array([[-np.inf, np.inf], [0.0, 5.0]]))
        >>> knots.parts(np.array([[1.0, 5.0]]), np.array([1.0, 1.0, -1.0]))
        array([[1., 2.]])
        """
        phi = self._clipped(phi)
        added: FloatArray = w[: phi.shape[1]] * phi
        if len(self):
            np.add.at(added.T, self.columns, (w[phi.shape[1] :] * self._rises(phi)).T)
        return added

    def names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The names of all columns from those of phi.

        >>> Knots(np.array([0]), np.array([2.0]), np.array([[0.0, 5.0]])).names(("rel",))
        ('rel', 'rel above 2')
        """
        pairs = zip(self.columns, self.positions, strict=True)
        return (*names, *(f"{names[column]} above {position:.6g}" for column, position in pairs))

    def of_feature(self, feature: int) -> IntArray:
        """The indices of a feature's columns: its own, and those of its knots."""
        return np.concatenate([[feature], len(self.ends) + np.flatnonzero(self.columns == feature)]).astype(np.int64)

    def curve(self, feature: int, ends: tuple[float, float], w: FloatArray) -> FloatArray:
        """A feature's values at both ends and its knots, and what it adds to the score there, (points, 2).

        >>> Knots(np.array([0]), np.array([2.0]), np.array([[0.0, 5.0]])).curve(0, (0.0, 5.0), np.array([1.0, -1.0]))
        array([[0., 0.],
               [2., 2.],
               [5., 2.]])
        """
        values = np.concatenate([ends[:1], self.positions[self.columns == feature], ends[1:]])
        return np.column_stack([values, self.part(feature, values, w)])

    def part(self, feature: int, values: FloatArray, w: FloatArray) -> FloatArray:
        """What a feature adds to the score at each of these values of it.

        >>> knots = Knots(np.array([0]), np.array([2.0]), np.array([[0.0, 5.0]]))
        >>> knots.part(0, np.array([1.0, 3.0]), np.array([1.0, -1.0]))
        array([1., 2.])
        """
        positions, ends = self.positions[self.columns == feature], self.ends[[feature]] if len(self) else self.ends
        alone = Knots(np.zeros(len(positions), dtype=np.int64), positions, ends)
        return alone.scores(values[:, np.newaxis], w[self.of_feature(feature)])

    def _rises(self, clipped: FloatArray) -> FloatArray:
        """How far each value lies above each knot of its column, at least 0, (rows, knots)."""
        above = np.take(clipped, self.columns, axis=1)  # row by row in memory: equal rows are summed alike
        above -= self.positions
        return np.maximum(above, 0.0, out=above)

    def _clipped(self, phi: FloatArray) -> FloatArray:
        """Phi with values beyond the ends moved to them."""
        return np.clip(phi, self.ends[:, 0], self.ends[:, 1]) if len(self) else phi


def knot_positions(values: FloatArray, most: int) -> FloatArray:
    """At most so many of the distinct values of a column, at even steps, the least and the greatest left out.

    >>> knot_positions(np.array([0.0, 1.0, 3.0, 9.0]), 1)
    array([3.])
    """
    inner = max(min(most, len(values) - 2), 0)
    return values[np.linspace(0, len(values) - 1, inner + 2).round().astype(np.int64)[1:-1]]


NO_KNOTS = Knots.of(np.empty((0, 0)), 0)
