"""Rows that were drawn from a catalogue and added to the candidates of the log: by which rule, how probably."""

from dataclasses import dataclass
from typing import Self, get_args

import numpy as np

from ltr.arrays import Array, BoolArray, FloatArray, IntArray
from ltr.data.columns import Column, at_least, places_in
from ltr.data.schema import DrawRule
from ltr.errors import DataError

LOGGED = 0  # the rule of a row that the log offers
DRAW_RULES: tuple[DrawRule, ...] = get_args(DrawRule)  # their codes count from 1
RANDOM, NEAR = (place for place, _ in enumerate(DRAW_RULES, start=1))


def _shares(name: str, array: Array, offsets: IntArray) -> FloatArray:
    shares = at_least(0.0)(name, array, offsets)
    if (shares <= 0).any() or (shares > 1).any():
        raise DataError(f"{name}: numbers above 0, at most 1, are needed")
    return shares


RULES = Column("rows", absent=LOGGED, check=places_in((LOGGED, *DRAW_RULES)))
PROBABILITIES = Column("rows", absent=1.0, check=_shares)


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Which rows were drawn, and how probably the rule draws each.

    A row that the log offers was there anyway: its probability is 1. Where the log names the right candidates alone,
    theirs is that with which the rule would have drawn them.
    """

    rules: IntArray  # (rows,): LOGGED, or 1 + the place in DRAW_RULES
    probabilities: FloatArray  # (rows,): of being drawn; NaN where the file does not say it

    @classmethod
    def of(cls, rules: IntArray | None, probabilities: FloatArray | None) -> Self | None:
        """Return the draws of rows that may all be of the log."""
        return None if rules is None or probabilities is None else cls(rules, probabilities)

    @property
    def are_logged(self) -> BoolArray:
        """Whether each row is of the log."""
        return self.rules == LOGGED

    def are_alike(self, rows: IntArray, others: IntArray) -> BoolArray:
        """Whether rows were drawn as others were, one by one."""
        is_same_rule: BoolArray = self.rules[rows] == self.rules[others]
        ours, theirs = self.probabilities[rows], self.probabilities[others]
        return is_same_rule & ((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
