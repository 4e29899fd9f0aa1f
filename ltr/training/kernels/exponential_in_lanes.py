"""exp of several numbers at once."""

import numba
import numpy as np

from ltr.training.kernels.floating_point_rules import FUSED

LEAST = -708.0  # below it exp is no normal number, and vanishes beside that of the largest candidate
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10
TO_INTEGER = (
    6755399441055744.0  # 1.5 * 2^52: a number added to it loses its fraction, and the last bits hold the integer
)
C = tuple(1.0 / float(np.prod(np.arange(1.0, n + 1.0))) for n in range(14))  # of the series: 1 / n!


@numba.njit(error_model="numpy", fastmath=FUSED)
def exponential(value):  # type: ignore[no-untyped-def]
    """exp of a value below 300, without a branch so that lanes can share it: 2^k (bits of a float) times a series."""
    value = LEAST if value < LEAST else value
    shifted = value * LOG2_E + TO_INTEGER
    k = shifted - TO_INTEGER
    r = (value - k * LN2_HIGH) - k * LN2_LOW
    square = r * r
    fourth = square * square
    low = (C[0] + C[1] * r) + (C[2] + C[3] * r) * square
    middle = (C[4] + C[5] * r) + (C[6] + C[7] * r) * square
    high = (C[8] + C[9] * r) + (C[10] + C[11] * r) * square
    series = low + fourth * (middle + fourth * (high + fourth * (C[12] + C[13] * r)))
    power = (np.float64(shifted).view(np.int64) + 1023) << 52
    return series * np.int64(power).view(np.float64)
