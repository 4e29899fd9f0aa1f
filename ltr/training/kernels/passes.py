"""The passes as numba compiles them, for a number of features that is known when they are compiled."""

from dataclasses import dataclass

from ltr.training.kernels import narrow, wide
from ltr.training.kernels.compiling import Pass
from ltr.training.kernels.registers import WIDEST


@dataclass(frozen=True, slots=True)
class Kernels:
    """Compiled passes; arrays as in `Trainable`."""

    epoch: Pass  # (w, phi, offsets, weights, shares, learning_rate, l2) -> (loss, w)
    derivatives: Pass  # (w, phi, offsets, weights, shares, scale) -> (loss, gradient, hessian)
    steps: Pass  # (phi, offsets) -> the largest step inside a group, by column


def made(features: int) -> Kernels:
    """The passes for that many features, from the user's cache if they were compiled before."""
    form = narrow if features <= WIDEST else wide
    return Kernels(form.epoch(features), form.derivatives(features), wide.steps(features))
