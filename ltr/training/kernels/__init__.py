"""Compiled passes over the groups, where numba (extra `fast`) is installed and the work repays loading it.

What is chosen follows from the size of the work alone, so that the same input gives the same bytes.
"""

import sys
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ltr.training.kernels.passes import Kernels

WIDEST = 16  # features: beyond, a library's matrix products are as fast
STEPS = 100_000  # of descent, one a group and epoch: numpy takes about the second that loading takes
NUMBERS = 3_000_000  # of phi: numpy takes as much longer, for a fit and all that is said of it, as loading takes


def for_steps(features: int, steps: int) -> "Kernels | None":
    """The compiled passes for that many steps of descent; None where numpy is as good."""
    return _kernels(features) if steps >= STEPS else None


def for_passes(features: int, rows: int) -> "Kernels | None":
    """The compiled passes for derivatives over that many rows; None where numpy is as good."""
    return _kernels(features) if rows * features >= NUMBERS else None


def is_loaded() -> bool:
    """Whether any work so far was large enough."""
    return "ltr.training.kernels.passes" in sys.modules


@cache
def _kernels(features: int) -> "Kernels | None":
    if features > WIDEST:
        return None
    try:
        from ltr.training.kernels.passes import made
    except ImportError:  # the extra is not installed
        return None
    return made(features)
