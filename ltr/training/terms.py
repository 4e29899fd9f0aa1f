"""Terms: the columns of curves and of products, which the score weighs beside the features themselves.

How much one feature counts may depend on the value of another: that is a product. Knots and centres are those of all
rows; of many designs they are exact where the distinct values are few, else from a sample.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, FloatArray, IntArray, as_floats, ragged
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import UsageError
from ltr.training.config import TrainConfig
from ltr.training.curves import NO_KNOTS, ROWS_AT_ONCE, Knots, knot_positions
from ltr.training.designs import Design, Designs

MOST_DISTINCT = 1_000_000  # values of a column up to which all are looked at
SAMPLED = 100_000  # groups that stand for all of a column with more


Values = list[FloatArray | None]  # distinct values of each column, None where there are too many


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

    MOST_FEATURES: ClassVar[int] = 24  # more are not multiplied: 24 make 276 products

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
    if features > Products.MOST_FEATURES:
        raise UsageError(f"train.products multiplies at most {Products.MOST_FEATURES} features; there are {features}")


def middle(values: FloatArray) -> float:
    """The middle one of sorted distinct values, of two the lesser.

    >>> middle(np.array([0.0, 1.0, 9.0])), middle(np.array([0.0, 1.0]))
    (1.0, 0.0)
    """
    return float(values[(len(values) - 1) // 2])


NO_PRODUCTS = Products.at([], np.empty((0, 2)))


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Columns that follow those of phi: one for each knot of a curve, then one for each product of two features."""

    knots: Knots = NO_KNOTS
    products: Products = NO_PRODUCTS
    are_sampled: bool = False  # whether a sample of the groups stood for all of them

    SAMPLED_NOTE: ClassVar[str] = (
        f"knots and centres of columns with {MOST_DISTINCT:,} distinct values or more are those of {SAMPLED:,} groups: "
        "those with the lowest digests of their numbers"
    )

    @classmethod
    def of(cls, phi: npt.ArrayLike, config: TrainConfig) -> Self:
        """The terms that the config asks for, at the values of phi.

        >>> len(Terms.of(np.array([[0.0, 5.0], [1.0, 5.0], [3.0, 6.0], [9.0, 7.0]]), TrainConfig(products=True)))
        1
        """
        return cls(Knots.of(phi, config.knots), Products.of(phi) if config.products else NO_PRODUCTS)

    def __len__(self) -> int:
        return len(self.knots) + len(self.products)

    @property
    def features(self) -> int:
        """How many features the terms are made of; 0 where there are no terms."""
        return max(len(self.knots.ends), len(self.products.centres))

    def __call__(self, phi: FloatArray) -> FloatArray:
        """Phi, followed by a column for each term.

        >>> Terms.of(np.array([[0.0, 1.0], [2.0, 3.0]]), TrainConfig(products=True))(np.array([[2.0, 3.0]]))
        array([[2., 3., 4.]])
        """
        extended = self.knots(phi)
        return np.hstack([extended, self.products(phi)]) if len(self.products) else extended

    def scores(self, phi: FloatArray, w: FloatArray) -> FloatArray:
        """Score of each row of phi: the sum of its curves and products."""
        if not len(self.products):
            return self.knots.scores(phi, w)
        first_product = len(w) - len(self.products)
        scores = self.knots.scores(phi, w[:first_product])
        for first in range(0, len(phi), ROWS_AT_ONCE):
            part = slice(first, first + ROWS_AT_ONCE)
            scores[part] += self.products.scores(phi[part], w[first_product:])
        return scores

    def parts(self, phi: FloatArray, w: FloatArray) -> FloatArray:
        """What each feature adds to the score of each row, (rows, features): its curve, and half of its products."""
        first_product = len(w) - len(self.products)
        curves = self.knots.parts(phi, w[:first_product])
        return curves + self.products.parts(phi, w[first_product:]) if len(self.products) else curves

    def names(self, names: Sequence[str]) -> tuple[str, ...]:
        """The names of all columns from those of phi."""
        return (*self.knots.names(tuple(names)), *self.products.names(names))

    def with_plain_column(self) -> Self:
        """The same beside one more feature, which comes last and has no terms."""
        knots, products = self.knots, self.products
        if len(knots):
            knots = replace(knots, ends=np.vstack([knots.ends, [-np.inf, np.inf]]))
        if len(products):
            ends = np.vstack([products.ends, [0.0, 0.0]])
            products = replace(products, centres=np.append(products.centres, 0.0), ends=ends)
        return replace(self, knots=knots, products=products)

    def without_last_column(self) -> Self:
        """The same without the last feature, which has no terms."""
        knots, products = self.knots, self.products
        if len(knots):
            knots = replace(knots, ends=knots.ends[:-1])
        if len(products):
            products = replace(products, centres=products.centres[:-1], ends=products.ends[:-1])
        return replace(self, knots=knots, products=products)

    def of_feature(self, feature: int, features: int) -> IntArray:
        """The places of a feature's columns among all: its own, those of its knots, and those of its products."""
        after = features + len(self.knots)
        return np.concatenate([self.knots.of_feature(feature), after + self.products.of_feature(feature)])


NO_TERMS = Terms()


def terms_of(designs: Designs, config: TrainConfig, *, engine: Engine = IN_PROCESS) -> Terms:
    """Return the terms that the config asks for, at the values of the rows of all designs.

    A sample stands for a column with a million distinct values: the groups with the lowest digests of their numbers.
    """
    if isinstance(designs, tuple):
        return Terms.of(designs[0].phi, config)
    if not config.knots and not config.products:
        return NO_TERMS
    if config.products:
        refuse_too_many(_phi(designs[0]).shape[1])
    values, ends = reduce(_merged, engine.map(partial(_values_and_ends, designs=designs), range(len(designs))))
    are_sampled = any(distinct is None for distinct in values)
    if are_sampled:
        table = _sample(designs, SAMPLED, engine)
        values = [np.unique(table[:, place]) if distinct is None else distinct for place, distinct in enumerate(values)]
    columns = [distinct for distinct in values if distinct is not None]
    positions = [knot_positions(distinct, config.knots) for distinct in columns]
    products = Products.at([middle(distinct) for distinct in columns], ends) if config.products else NO_PRODUCTS
    return Terms(Knots.at(positions, ends) if config.knots else NO_KNOTS, products, are_sampled)


def _phi(design: Design) -> FloatArray:
    return np.asarray(design.phi, dtype=float)


def _values_and_ends(number: int, designs: Designs) -> tuple[Values, FloatArray]:
    """The distinct values of each column of a shard, and its least and greatest, (columns, 2)."""
    phi = _phi(designs[number])
    return [_few(np.unique(column)) for column in phi.T], np.column_stack(
        [phi.min(axis=0, initial=np.inf), phi.max(axis=0, initial=-np.inf)]  # of a shard without rows
    )


def _merged(left: tuple[Values, FloatArray], right: tuple[Values, FloatArray]) -> tuple[Values, FloatArray]:
    values = [
        None if first is None or second is None else _few(np.union1d(first, second))
        for first, second in zip(left[0], right[0], strict=True)
    ]
    (least, _), (_, greatest) = np.minimum(left[1], right[1]).T, np.maximum(left[1], right[1]).T
    return values, np.column_stack([least, greatest])


def _few(values: FloatArray) -> FloatArray | None:
    return values if len(values) < MOST_DISTINCT else None


def _sample(designs: Designs, most: int, engine: Engine) -> FloatArray:
    """The rows of so many groups, those with the lowest digests of their numbers."""
    sizes = list(engine.map(partial(_size, designs=designs), range(len(designs))))
    firsts = np.cumsum([0, *sizes]).tolist()
    digests = digest(np.arange(firsts[-1]))
    border = np.unique(digests)[:most][-1]  # all of them differ
    bounds = list(zip(range(len(designs)), firsts, firsts[1:], strict=False))
    return np.concatenate(list(engine.map(partial(_drawn, designs=designs, border=border), bounds)))


def _size(number: int, designs: Designs) -> int:
    return len(np.asarray(designs[number].offsets)) - 1


def _drawn(bounds: tuple[int, int, int], designs: Designs, border: np.uint64) -> FloatArray:
    """The rows of the groups first:last, which are those of a shard, whose digests are not above the border."""
    number, first, last = bounds
    design = designs[number]
    offsets = np.asarray(design.offsets)
    groups = np.flatnonzero(digest(np.arange(first, last)) <= border)
    owner, step = ragged(np.diff(offsets)[groups])
    return _phi(design)[offsets[groups][owner] + step]


def digest(numbers: IntArray) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """A digest of each number, spread evenly over 64 bits: different numbers have different ones (splitmix64).

    >>> digest(np.array([0, 1])).tolist()
    [16294208416658607535, 7960286522194355700]
    """
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
