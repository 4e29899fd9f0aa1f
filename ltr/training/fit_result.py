"""What a trainer returns, and what is proved of it."""

from dataclasses import dataclass
from enum import StrEnum

from ltr.arrays import FloatArray
from ltr.training.objective import Slope
from ltr.training.trainable import Skipped


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
