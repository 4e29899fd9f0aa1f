"""Rows that were drawn from a catalogue and added to the candidates of the log: by which rule, how probably."""

from array import array
from dataclasses import dataclass, field
from typing import Self, get_args

import numpy as np

from ltr.arrays import Array, BoolArray, FloatArray, IntArray
from ltr.data.columns import Numbers, at_least, column, places_in
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


RULES = Numbers("rows", LOGGED, check=places_in((LOGGED, *DRAW_RULES)))
PROBABILITIES = Numbers("rows", 1.0, check=_shares)


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """Which rows were drawn, and how probably the rule draws each.

    A row that the log offers was there anyway: its probability is 1. Where the log names the right candidates alone,
    theirs is that with which the rule would have drawn them.
    """

    rules: IntArray = field(metadata=column(RULES))  # LOGGED, or 1 + the place in DRAW_RULES
    probabilities: FloatArray = field(metadata=column(PROBABILITIES))  # of being drawn; NaN where nobody says it

    @classmethod
    def of(cls, rules: "array[int]", probabilities: "array[float]", rows: int) -> Self:
        """The columns of so many rows; those behind the last that was drawn are of the log.

        >>> Draws.of(array("q", [0, 2]), array("d", [1.0, 0.5]), 3).probabilities
        array([1. , 0.5, 1. ])
        """
        more = rows - len(rules)
        return cls(
            np.concatenate([np.array(rules, dtype=np.int64), np.full(more, LOGGED)]),
            np.concatenate([np.array(probabilities), np.ones(more)]),
        )

    @property
    def are_logged(self) -> BoolArray:
        """Whether each row is of the log."""
        return self.rules == LOGGED

    def are_alike(self, rows: IntArray, others: IntArray) -> BoolArray:
        """Whether rows were drawn as others were, one by one."""
        is_same_rule: BoolArray = self.rules[rows] == self.rules[others]
        ours, theirs = self.probabilities[rows], self.probabilities[others]
        return is_same_rule & ((ours == theirs) | (np.isnan(ours) & np.isnan(theirs)))
