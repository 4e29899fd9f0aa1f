"""Products of features: how much one of them counts depends on the value of another."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, FloatArray, IntArray, as_floats
from ltr.errors import UsageError

MOST_FEATURES = 24  # more are not multiplied: 24 make 276 products


@dataclass(frozen=True, slots=True, eq=False)
class Products:
    """Columns (phi_i - c_i) (phi_j - c_j), one for each pair of features; they have weights of their own.

    The centre c_j is the middle one of the distinct values of feature j: there feature i counts as if it stood alone. A
    value beyond those that were learned from counts as the nearest of them, as in a curve.
    """

    first: IntArray  # (products,): i
    second: IntArray  # (products,): j, greater than i
    centres: FloatArray  # (features,)
    ends: FloatArray  # (features, 2): least and greatest value learned from

    @classmethod
    def of(cls, phi: npt.ArrayLike) -> Self:
        """The product of each two columns.

        >>> products = Products.of(np.array([[0.0, 5.0], [1.0, 5.0], [3.0, 6.0], [9.0, 7.0]]))
        >>> products.centres, products.ends.tolist()
        (array([1., 6.]), [[0.0, 9.0], [5.0, 7.0]])
        """
        table = as_floats("phi", phi)
        refuse_too_many(table.shape[1])
        centres = [middle(np.unique(column)) for column in table.T]
        return cls.at(centres, np.column_stack([table.min(axis=0), table.max(axis=0)]))

    @classmethod
    def at(cls, centres: Sequence[float], ends: FloatArray) -> Self:
        """The product of each two features with these centres, least and greatest values, (features, 2)."""
        refuse_too_many(len(centres))
        first, second = np.triu_indices(len(centres), k=1)
        products = cls(first, second, np.array(centres, dtype=np.float64), ends)
        products._refuse_too_large()
        return products

    def __len__(self) -> int:
        return len(self.first)

    def _moved(self, phi: FloatArray) -> FloatArray:
        """How far each value lies above its centre, one beyond the ends as the nearest of them."""
        return np.ascontiguousarray(np.clip(phi, self.ends[:, 0], self.ends[:, 1]) - self.centres)

    def _refuse_too_large(self) -> None:
        """Raise for two features whose product leaves the range of numbers."""
        with np.errstate(over="ignore"):
            reach = np.abs(self.ends - self.centres[:, np.newaxis]).max(axis=1, initial=0.0)
            is_large = ~(reach[self.first] * reach[self.second] <= LARGEST)
        if is_large.any():
            place = int(np.argmax(is_large))
            pair = f"columns {self.first[place] + 1} and {self.second[place] + 1}"
            raise UsageError(f"train.products: the product of {pair} is above {LARGEST:g}; divide them by a number")

    def __call__(self, phi: FloatArray) -> FloatArray:
        """A column for each product.

        >>> products = Products.at([0.0, 1.0], np.array([[0.0, 4.0], [1.0, 3.0]]))
        >>> products(np.array([[2.0, 2.0], [9.0, 9.0]]))
        array([[2.],
               [8.]])
        """
        if not len(self):
            return np.empty((len(phi), 0))
        moved = self._moved(phi)
        return np.take(moved, self.first, axis=1) * np.take(moved, self.second, axis=1)

    def scores(self, phi: FloatArray, w: FloatArray) -> FloatArray:
        """What the products add to the score of each row: sum over i < j of w_ij z_i z_j, z the row minus its centres.

        No column is made. No BLAS, as in `linear_scores`: equal rows must tie.

        >>> products = Products.at([0.0, 1.0], np.array([[0.0, 4.0], [1.0, 3.0]]))
        >>> products.scores(np.array([[2.0, 2.0], [9.0, 9.0]]), np.array([0.5]))
        array([1., 4.])
        """
        if not len(self):
            return np.zeros(len(phi))
        moved, weights = self._moved(phi), np.zeros((len(self.centres), len(self.centres)))
        weights[self.first, self.second] = w
        scores: FloatArray = np.einsum("ij,ij->i", np.einsum("ij,jk->ik", moved, weights), moved)
        return scores

    def parts(self, phi: FloatArray, w: FloatArray) -> FloatArray:
        """What each feature adds to the score of each row by its products, half of each, (rows, features).

        >>> products = Products.at([0.0, 0.0], np.array([[0.0, 4.0], [0.0, 4.0]]))
        >>> products.parts(np.array([[2.0, 3.0]]), np.array([1.0]))
        array([[3., 3.]])
        """
        added = np.zeros_like(phi)
        halves = (self(phi) * (w / 2)).T
        np.add.at(added.T, self.first, halves)
        np.add.at(added.T, self.second, halves)
        return added

    def names(self, names: Sequence[str]) -> tuple[str, ...]:
        """What each product is called.

        >>> Products.at([0.0, 0.0], np.zeros((2, 2))).names(("rel", "hist"))
        ('rel x hist',)
        """
        return tuple(f"{names[i]} x {names[j]}" for i, j in zip(self.first, self.second, strict=True))

    def of_feature(self, feature: int) -> IntArray:
        """The places of a feature's products among them."""
        return np.flatnonzero((self.first == feature) | (self.second == feature)).astype(np.int64)


def refuse_too_many(features: int) -> None:
    """Raise for more features than are multiplied."""
    if features > MOST_FEATURES:
        raise UsageError(f"train.products multiplies at most {MOST_FEATURES} features; there are {features}")


def middle(values: FloatArray) -> float:
    """The middle one of sorted distinct values, of two the lesser.

    >>> middle(np.array([0.0, 1.0, 9.0])), middle(np.array([0.0, 1.0]))
    (1.0, 0.0)
    """
    return float(values[(len(values) - 1) // 2])


NO_PRODUCTS = Products.at([], np.empty((0, 2)))
