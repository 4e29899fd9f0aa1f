"""Terms: the columns of curves and of products, which the score weighs beside the features themselves."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray
from ltr.training.config import TrainConfig
from ltr.training.feature_products import NO_PRODUCTS, Products
from ltr.training.piecewise_linear_curves import NO_KNOTS, ROWS_AT_ONCE, Knots


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """Columns that follow those of phi: one for each knot of a curve, then one for each product of two features."""

    knots: Knots = NO_KNOTS
    products: Products = NO_PRODUCTS

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
        return type(self)(knots, products)

    def without_last_column(self) -> Self:
        """The same without the last feature, which has no terms."""
        knots, products = self.knots, self.products
        if len(knots):
            knots = replace(knots, ends=knots.ends[:-1])
        if len(products):
            products = replace(products, centres=products.centres[:-1], ends=products.ends[:-1])
        return type(self)(knots, products)

    def of_feature(self, feature: int, features: int) -> IntArray:
        """The places of a feature's columns among all: its own, those of its knots, and those of its products."""
        after = features + len(self.knots)
        return np.concatenate([self.knots.of_feature(feature), after + self.products.of_feature(feature)])


NO_TERMS = Terms()
