"""Rows that were drawn from a catalogue and added to the candidates of the log: by which rule, how probably."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self, get_args

import numpy as np

from ltr.arrays import Array, BoolArray, FloatArray, IntArray
from ltr.errors import DataError, SampleError
from ltr.samples.columns import Column, at_least, places_in
from ltr.samples.schema import DrawRule

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

    def names_right_alone(self, labels: FloatArray, offsets: IntArray) -> BoolArray:
        """Return whether the log names right candidates alone, of each group; the others were drawn.

        >>> draws = Draws(np.array([0, 1, 0, 0, 1]), np.ones(5))
        >>> draws.names_right_alone(np.array([1.0, 0, 1, 0, 0]), np.array([0, 2, 5]))
        array([ True, False])
        """
        alone: BoolArray = np.logical_and.reduceat(~self.are_logged | (labels > 0), offsets[:-1])
        return alone

    def offset(self, labels: FloatArray, offsets: IntArray, place: Callable[[int], tuple[str, int]]) -> FloatArray:
        """Return -log of the probability with which each row was drawn, for training: as if all had been there.

        Only where the log names right tools alone: there any tool could have been chosen, and the offset makes softmax
        the probability of the right one among those drawn. Of the tools that a log offers one was chosen among these; a
        drawn one was never up for choice, so that no probability of drawing it can mend the likelihood, and its offset
        is 0. Tools drawn at random that do not say how probably count as uniform draws, whose offset is the same for
        all. `place` is the file and line that a row comes from.
        """
        is_unknown, is_alone = np.isnan(self.probabilities), self.names_right_alone(labels, offsets)
        starts = offsets[:-1]
        lacks = np.logical_or.reduceat(is_unknown, starts)
        uneven = is_alone & lacks & np.logical_or.reduceat((self.rules == NEAR) | (self.probabilities < 1), starts)
        if uneven.any():
            rows = slice(*offsets[int(np.argmax(uneven)) :][:2])
            row = int(offsets[int(np.argmax(uneven))] + np.argmax(is_unknown[rows]))
            problem = "missing beside candidates that were drawn otherwise; a probability above 0, at most 1, is needed"
            raise SampleError(*place(row), "draw_probability", problem)
        is_corrected = np.repeat(is_alone, np.diff(offsets)) & ~is_unknown
        return -np.log(np.where(is_corrected, self.probabilities, 1.0)) + 0.0
