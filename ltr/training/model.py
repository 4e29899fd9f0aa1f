"""What a training comes to: a weight vector with the terms that it weighs, and what is proved of it."""

from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from ltr.arrays import LARGEST, FloatArray, as_floats
from ltr.errors import ArrayError
from ltr.training.groups import Skipped
from ltr.training.objective import Slope
from ltr.training.terms import NO_TERMS, Terms


class Optimum(StrEnum):
    """What a trainer proved of the optimum of its objective."""

    FOUND = "found"
    NONE = "none"  # the loss falls for ever along a direction
    NOT_REACHED = "not_reached"


@dataclass(frozen=True, slots=True)
class Fitted:
    """What a trainer returns: w, the losses on the way, and what it proved of the optimum."""

    w: FloatArray
    history: FloatArray  # descent: the objective each epoch saw; newton: at w = 0, then after each step
    epochs: int  # of descent, or steps of newton
    optimum: Optimum = Optimum.NOT_REACHED
    escape: FloatArray | None = None  # (features,): the direction along which no optimum exists
    at_end: Slope | None = None  # of the data at w, for columns of unit deviation, if the trainer has it


@dataclass(frozen=True, slots=True)
class Watched:
    """The metric on validation data, epoch by epoch."""

    metric: str
    values: FloatArray  # (epochs,)
    best_epoch: int  # counted from 1: its w is the result


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """How w was found, and how far it is from the optimum."""

    trainer: str
    groups: int
    skipped: Skipped
    epochs: int  # of descent, or steps of newton
    history: FloatArray  # descent: the objective each epoch saw; newton: at w = 0, then after each step
    objective: float  # mean over the groups trained on, with the penalty, at w
    gradient_norm: float  # of the objective, columns of unit deviation inside the groups; l2 = 0: where identified
    gap_bound: float | None  # objective - optimum is at most this; None where the penalty gives no bound
    optimum: Optimum
    escape: FloatArray | None
    not_identified: FloatArray  # (directions, features) that change no probability, to 1e-12 of the curvature; of
    # descent with more than 256 columns only the constant ones
    deviations: FloatArray | None = None  # (features,) that columns were divided by: all but w is in that scale
    watched: Watched | None = None


@dataclass(frozen=True, slots=True)
class Model:
    """A ranker linear in w: score = phi . w, where phi has a column for each term after its own."""

    w: FloatArray
    training: Training = field(repr=False)
    terms: Terms = field(default=NO_TERMS, repr=False)

    def scores(self, phi: npt.ArrayLike) -> FloatArray:
        """Score of each row of phi."""
        rows = as_floats("phi", phi)
        features = len(self.w) - len(self.terms)
        if rows.ndim != 2 or rows.shape[1] != features:
            raise ArrayError("phi", "", f"{features} features are needed, found shape {rows.shape}")
        with np.errstate(over="ignore", invalid="ignore"):
            result = self.terms.scores(rows, self.w)
        bad = np.flatnonzero(~((np.abs(rows) <= LARGEST).all(axis=1) & (np.abs(result) <= LARGEST)))
        if bad.size:
            row = int(bad[0])
            problem = (
                f"{rows[row].tolist()} scores {result[row]}; both must be finite, from {-LARGEST:g} to {LARGEST:g}"
            )
            raise ArrayError("phi", f"[{row}]", problem)
        return result
