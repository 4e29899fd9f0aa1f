"""The rule of one standard error: the simplest alternative whose loss on left out data is nearly the least."""

import math
from dataclasses import dataclass
from typing import Self

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums

ROUNDING = 1e-12  # means that are nearer are equal


@dataclass(frozen=True, slots=True)
class MeanDifference:
    """How much more one alternative has than another, mean over groups, with its standard error by trace."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, values: FloatArray, others: FloatArray, weights: FloatArray, traces: IntArray) -> Self:
        """d = sum w (a - b) / sum w; its error sqrt(C / (C - 1) sum_c s_c^2) / sum w, s_c = sum of c of w (a - b - d).

        With one trace the error is infinite.

        >>> MeanDifference.of(np.array([3.0, 1.0]), np.ones(2), np.ones(2), np.array([0, 1]))
        MeanDifference(mean=1.0, standard_error=1.0)
        """
        total, apart = float(weights.sum()), values - others
        mean = float(weights @ apart) / total
        codes = np.unique(traces, return_inverse=True)[1]
        clusters = int(codes.max(initial=-1)) + 1
        sums = code_sums(codes, weights * (apart - mean), clusters)
        spread = math.sqrt(float(sums @ sums) * clusters / (clusters - 1)) if clusters > 1 else math.inf
        return cls(mean, spread / total)

    def exceeds(self, errors: float) -> bool:
        """Whether it is above 0 by more than so many standard errors."""
        return self.mean > errors * self.standard_error + ROUNDING


def simplest_as_good(losses: FloatArray, weights: FloatArray, traces: IntArray) -> int:
    """Return the first alternative that loses at most one standard error more than the best.

    losses: (alternatives, groups), from simple to rich; of equals the first is the best.

    >>> losses = np.array([[0.5, 0.7, 0.6], [0.3, 0.8, 0.5], [0.2, 0.1, 0.2]])
    >>> simplest_as_good(losses, np.ones(3), np.arange(3))  # 0.43 and 0.37 above the best, each with an error below 0.2
    2
    >>> simplest_as_good(losses[:2], np.ones(3), np.arange(3))  # 0.07 above, with an error of 0.09
    0
    """
    best = int(np.argmin(losses @ weights))
    above = [MeanDifference.of(row, losses[best], weights, traces) for row in losses]
    return next(place for place, gap in enumerate(above) if gap.mean <= gap.standard_error or place == best)
