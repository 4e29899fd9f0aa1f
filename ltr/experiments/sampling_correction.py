"""What a training adds to scores for candidates that were drawn: as if all had been there."""

from collections.abc import Callable, Iterator

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.data.draw_rules_and_probabilities import NEAR, Draws
from ltr.data.groups import Groups
from ltr.errors import SampleError, count


def score_offset(groups: Groups) -> FloatArray | None:
    """-log of the probability with which the rule draws each row, for training; None where nothing was drawn.

    Only where the log names right tools alone: there any tool could have been chosen, and the offset makes softmax the
    probability of the right one among those drawn. Of the tools that a log offers one was chosen among these; a drawn
    one was never up for choice, so that no probability of drawing it can mend the likelihood, and its offset is 0.
    Tools drawn at random that do not say how probably count as uniform draws, whose offset is the same for all.
    """
    draws = groups.candidates.draws
    return None if draws is None else offset_of_draws(draws, groups.labels, groups.offsets, groups.candidates.place)


def offset_of_draws(
    draws: Draws, labels: FloatArray, offsets: IntArray, place: Callable[[int], tuple[str, int]]
) -> FloatArray:
    """The same of the rows of some groups; `place` is the file and line that a row comes from."""
    is_unknown, is_alone = np.isnan(draws.probabilities), names_right_alone(draws, labels, offsets)
    starts = offsets[:-1]
    lacks = np.logical_or.reduceat(is_unknown, starts)
    uneven = is_alone & lacks & np.logical_or.reduceat((draws.rules == NEAR) | (draws.probabilities < 1), starts)
    if uneven.any():
        rows = slice(*offsets[int(np.argmax(uneven)) :][:2])
        row = int(offsets[int(np.argmax(uneven))] + np.argmax(is_unknown[rows]))
        problem = "missing beside candidates that were drawn otherwise; a probability above 0, at most 1, is needed"
        raise SampleError(*place(row), "draw_probability", problem)
    is_corrected = np.repeat(is_alone, np.diff(offsets)) & ~is_unknown
    return -np.log(np.where(is_corrected, draws.probabilities, 1.0)) + 0.0


def names_right_alone(draws: Draws, labels: FloatArray, offsets: IntArray) -> BoolArray:
    """Whether the log names right candidates alone, of each group; the others were drawn.

    >>> draws = Draws(np.array([0, 1, 0, 0, 1]), np.ones(5))
    >>> names_right_alone(draws, np.array([1.0, 0, 1, 0, 0]), np.array([0, 2, 5]))
    array([ True, False])
    """
    alone: BoolArray = np.logical_and.reduceat(~draws.are_logged | (labels > 0), offsets[:-1])
    return alone


def count_uncorrected(groups: Groups) -> int:
    """How many groups have drawn rows that get no offset, because the log offers several candidates."""
    draws = groups.candidates.draws
    if draws is None:
        return 0
    offered = np.add.reduceat(draws.are_logged.astype(np.int64), groups.offsets[:-1])
    has_drawn = offered < np.diff(groups.offsets)
    return int((has_drawn & (offered > 1) & ~names_right_alone(draws, groups.labels, groups.offsets)).sum())


def uncorrected_warnings(number: int, of: int) -> Iterator[str]:
    """That so many of the groups have drawn candidates without an offset, and why.

    >>> list(uncorrected_warnings(0, 9))
    []
    """
    if number:
        yield (
            f"negatives: the log offers several candidates in {number:,} of {count(of, 'query', 'queries')}; what is "
            "drawn beside them could not have been chosen there, and gets no offset"
        )
