"""The compiled passes for a training, or None where numpy is as good.

The choice follows from the size of the work alone, so that the same input gives the same bytes.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from ltr.engines.deferred_signals import deferring

MOST_FEATURES = 16  # beyond, the matrix products of a library are as fast
STEPS = 100_000  # of descent, one for each group and epoch: numpy takes about the second that loading takes
NUMBERS = 3_000_000  # of phi: numpy takes as much longer, for a fit and its diagnosis, as loading takes
NARROW = 4  # features up to which sums stay in registers: beyond, the compiler does not unroll the loops

Pass = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Kernels:
    """Passes compiled for a number of features; arrays as in `Trainable`."""

    epoch: Pass  # (w, phi, offsets, weights, shares, score_offset, learning_rate, l2) -> (loss, w)
    derivatives: Pass  # (w, phi, offsets, weights, shares, score_offset, scale) -> (loss, gradient, hessian)
    steps: Pass  # (phi, offsets) -> the largest step inside a group, by column


def for_steps(features: int, steps: int, *, has_offset: bool = False) -> Kernels | None:
    """The compiled passes for so many steps of descent; None where numpy is as good."""
    return kernels(features, has_offset) if steps >= STEPS else None


def for_passes(features: int, rows: int, *, has_offset: bool = False) -> Kernels | None:
    """The compiled passes for derivatives over so many rows; None where numpy is as good."""
    return kernels(features, has_offset) if rows * features >= NUMBERS else None


def is_loaded() -> bool:
    """Whether any work so far was large enough."""
    return "ltr.training.kernels.many_features" in sys.modules


@cache
def kernels(features: int, has_offset: bool = False) -> Kernels | None:
    """The passes for that many features, from the user's cache if they were compiled before; None without numba.

    Those of `few_features` know no score offset: a number more for each row would not stay in a register.
    """
    if features > MOST_FEATURES:
        return None
    try:
        from ltr.training.kernels.few_features import narrow_derivatives, narrow_epoch
        from ltr.training.kernels.many_features import wide_derivatives, wide_epoch, wide_steps
    except ImportError:  # the extra is not installed
        return None
    is_narrow = features <= NARROW and not has_offset
    epoch, derivatives = (narrow_epoch, narrow_derivatives) if is_narrow else (wide_epoch, wide_derivatives)
    return Kernels(*map(deferring, (epoch(features), derivatives(features), wide_steps(features))))
