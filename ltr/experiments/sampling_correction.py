"""What a training adds to scores for candidates that were drawn: as if all had been there."""

from collections.abc import Callable

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.data.draw_rules_and_probabilities import NEAR, Draws
from ltr.data.groups import Groups
from ltr.errors import SampleError


def score_offset(groups: Groups) -> FloatArray | None:
    """-log of the probability with which the rule draws each row, for training; None where nothing was drawn.

    Tools drawn at random that do not say how probably count as uniform draws, whose offset is the same for all.
    """
    draws = groups.candidates.draws
    return None if draws is None else offset_of_draws(draws, groups.offsets, groups.candidates.place)


def offset_of_draws(draws: Draws, offsets: IntArray, place: Callable[[int], tuple[str, int]]) -> FloatArray:
    """The same of the rows of some groups; `place` is the file and line that a row comes from."""
    is_unknown = np.isnan(draws.probabilities)
    starts = offsets[:-1]
    lacks = np.logical_or.reduceat(is_unknown, starts)
    uneven = lacks & np.logical_or.reduceat((draws.rules == NEAR) | (draws.probabilities < 1), starts)
    if uneven.any():
        rows = slice(*offsets[int(np.argmax(uneven)) :][:2])
        row = int(offsets[int(np.argmax(uneven))] + np.argmax(is_unknown[rows]))
        problem = "missing beside candidates that were drawn otherwise; a probability above 0, at most 1, is needed"
        raise SampleError(*place(row), "draw_probability", problem)
    return -np.log(np.where(is_unknown, 1.0, draws.probabilities)) + 0.0
