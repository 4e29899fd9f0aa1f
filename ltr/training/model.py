"""What training returns: one weight vector, and what is known about it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, BoolArray, FloatArray, as_floats
from ltr.errors import ArrayError
from ltr.training.curves import STRAIGHT, Knots
from ltr.training.objective import Skipped, Slope

MOST_PARTS = 5  # of a direction that words name


class Optimum(StrEnum):
    """What a trainer knows of the optimum of its objective."""

    FOUND = "found"
    NONE = "none"  # the loss falls for ever along a direction
    NOT_REACHED = "not_reached"


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a trainer returns: w, the losses on the way, and what it learned of the optimum."""

    w: FloatArray
    history: FloatArray  # descent: the objective each epoch saw; newton: at w = 0, then after each step
    epochs: int  # of descent, or steps of newton
    optimum: Optimum = Optimum.NOT_REACHED
    escape: FloatArray | None = None  # (features,): the direction along which no optimum exists
    at_end: Slope | None = None  # of the data at w, by columns of unit deviation, where it is known


@dataclass(frozen=True, slots=True)
class Watched:
    """What validation data said, epoch by epoch."""

    metric: str
    values: FloatArray  # (epochs,)
    best_epoch: int  # counted from 1: its w is the one returned


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How w came about, and how far to trust it."""

    trainer: str
    groups: int
    skipped: Skipped
    epochs: int  # of descent, or steps of newton
    history: FloatArray  # descent: the objective each epoch saw; newton: at w = 0, then after each step
    objective: float  # mean over the trained groups, penalty included, at the w returned
    gradient_norm: float  # of the objective, columns of unit deviation inside the groups; l2 = 0: where identified
    gap_bound: float | None  # objective - optimum is at most this; None where the penalty gives no bound
    optimum: Optimum
    escape: FloatArray | None
    not_identified: FloatArray  # (directions, features): along them no probability changes, to 1e-12 of the
    # curvature; of descent with more than 256 columns only the constant ones are looked for
    deviations: FloatArray | None = None  # (features,) that columns were divided by; all but w is told in that scale
    watched: Watched | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """A ranker linear in w: score = phi . w, where phi has a column a knot after its own."""

    w: FloatArray
    training: Training = field(repr=False)
    knots: Knots = field(default=STRAIGHT, repr=False)

    def scores(self, phi: npt.ArrayLike) -> FloatArray:
        """Score of each row of phi."""
        rows = as_floats("phi", phi)
        features = len(self.w) - len(self.knots)
        if rows.ndim != 2 or rows.shape[1] != features:
            raise ArrayError("phi", "", f"{features} features are needed, found shape {rows.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.knots.scores(rows, self.w)
        bad = np.flatnonzero(~((np.abs(rows) <= LARGEST).all(axis=1) & (np.abs(found) <= LARGEST)))
        if bad.size:
            row = int(bad[0])
            problem = f"{rows[row].tolist()} scores {found[row]}; both must be finite, from {-LARGEST:g} to {LARGEST:g}"
            raise ArrayError("phi", f"[{row}]", problem)
        return found


def direction_text(direction: FloatArray, names: Sequence[str] | None = None, units: FloatArray | None = None) -> str:
    """A direction in words, its largest part 1, of many parts the largest; columns are x1..xn unless named.

    Units: what a step along each column moves, by which its parts are large or small.

    >>> direction_text(np.array([2.0, 0.0, -1.0]))
    'x1 - 0.5 x3'
    >>> direction_text(np.array([1.0, -1e-8]), units=np.array([1.0, 1e8]))
    'x1 - 1e-08 x2'
    >>> direction_text(np.array([1.0, 0.1, 4.0, 2.0, 2.0, 0.2, 2.0]))
    '0.25 x1 + x3 + 0.5 x4 + 0.5 x5 + 0.5 x7 and 2 more'
    """
    parts = direction / np.abs(direction).max()
    sizes = np.abs(parts if units is None else parts * units)
    counted = sizes > 1e-6 * sizes.max()
    text, more = "", int(counted.sum()) - MOST_PARTS
    for column in np.flatnonzero(_largest(sizes * counted)):
        size = abs(parts[column])
        factor = "" if round(size, 3) == 1 else f"{size:.3g} "
        sign = "-" if parts[column] < 0 else "+"
        joint = f" {sign} " if text else sign.replace("+", "")
        text += f"{joint}{factor}{names[int(column)] if names else f'x{column + 1}'}"
    return f"{text} and {more:,} more" if more > 0 else text


def _largest(sizes: FloatArray) -> BoolArray:
    """Which are the MOST_PARTS largest above 0, the first of equals."""
    left = sizes.copy()
    for _ in range(MOST_PARTS):
        left[np.argmax(left)] = 0
    return (sizes > 0) & (left == 0)
