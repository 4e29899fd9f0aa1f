"""The passes for any number of features: buffers for one group, filled and read column by column.

A number of features that is fixed when the pass is compiled lets the compiler unroll the loops over them.
"""

from typing import Any

import numba
import numpy as np

from ltr.training.kernels.compilation_cache import compiled
from ltr.training.kernels.dispatch_by_size import Pass
from ltr.training.kernels.exponential_in_lanes import exponential
from ltr.training.kernels.floating_point_rules import BLOCK, FUSED, LANES, SUMS

fused = numba.njit(error_model="numpy", fastmath=FUSED)
summing = numba.njit(error_model="numpy", fastmath=SUMS)


def wide_epoch(features: int) -> Pass:
    """(w, phi, offsets, weights, shares, score_offset, learning_rate, l2) -> (loss, w)."""
    column, groups = _types()
    return compiled(_epoch(features), features, FUSED, (column, *groups, numba.float64, numba.float64))


def wide_derivatives(features: int) -> Pass:
    """(w, phi, offsets, weights, shares, score_offset, scale) -> (loss, gradient, hessian)."""
    column, groups = _types()
    return compiled(_derivatives(features), features, SUMS, (column, *groups, column))


def wide_steps(features: int) -> Pass:
    """(phi, offsets) -> the largest step inside a group, by column."""
    return compiled(_steps(features), features, FUSED, _types()[1][:2])


def _types() -> tuple[Any, tuple[Any, ...]]:
    """Types of a column, and of phi, offsets, weights, shares and score offset."""
    column = numba.types.Array(numba.float64, 1, "C", readonly=True)
    phi = numba.types.Array(numba.float64, 2, "C", readonly=True)
    return column, (phi, numba.types.Array(numba.int64, 1, "C", readonly=True), column, column, column)


@fused
def _room(offsets):  # type: ignore[no-untyped-def]
    """The length of a buffer for the largest group and the rest of its last lanes."""
    largest = 0
    for group in range(len(offsets) - 1):
        largest = max(largest, offsets[group + 1] - offsets[group])
    return largest + LANES


@fused
def _probable(scores, shares, first, size):  # type: ignore[no-untyped-def]
    """scores <- exp(score - m), m their largest; their sum z and sum t (score - m), t the shares."""
    highest, z, fit = -np.inf, 0.0, 0.0
    for row in range(size):
        highest = max(highest, scores[row])
    for row in range(size):
        scores[row] -= highest
        fit += shares[first + row] * scores[row]
    for row in range((size + LANES - 1) // LANES * LANES):  # beyond the size: left by a larger group
        scores[row] = exponential(scores[row])
    for row in range(size):
        z += scores[row]
    return z, fit


def _epoch(features: int) -> Pass:
    def descent_epoch(w, phi, offsets, weights, shares, score_offset, learning_rate, l2):  # type: ignore[no-untyped-def]
        values, w, push = np.zeros(_room(offsets)), w.copy(), np.zeros(features)
        groups, total, part, has_offset = len(offsets) - 1, 0.0, 0.0, len(score_offset) > 0
        shrink, pull = 1.0 - 2.0 * learning_rate * l2, learning_rate * groups
        for group in range(groups):
            first, size, weight = offsets[group], offsets[group + 1] - offsets[group], weights[group]
            for row in range(size):
                values[row] = score_offset[first + row] if has_offset else 0.0
                for f in range(features):
                    values[row] += w[f] * phi[first + row, f]
            z, fit = _probable(values, shares, first, size)
            push[:] = 0.0
            for row in range(size):
                amount = values[row] * (pull * weight / z) - shares[first + row] * pull
                for f in range(features):
                    push[f] += amount * phi[first + row, f]
            part += weight * (np.log(z) + l2 * _square(w)) - fit
            for f in range(features):
                w[f] = w[f] * shrink - push[f]
            if (group + 1) % BLOCK == 0:
                total, part = total + part, 0.0
        return total + part, w

    return descent_epoch


@fused
def _square(w):  # type: ignore[no-untyped-def]
    total = 0.0
    for number in w:
        total += number * number
    return total


@summing
def _add_hessian(values, x, size, weight_over_z, mean, hessian):  # type: ignore[no-untyped-def]
    """hessian += weight * (sum_i p_i x_i x_i' - mean mean'), below the diagonal; values / z are the p."""
    for f in range(len(mean)):
        for other in range(f + 1):
            outer = 0.0
            for row in range(size):
                outer += values[row] * x[f, row] * x[other, row]
            hessian[f, other] += weight_over_z * outer - mean[f] * mean[other]


@summing
def _weighted_sums(values, shares, column, first, size):  # type: ignore[no-untyped-def]
    """The sums of a column weighted by the values, sum_i e_i x_i, and by the shares, sum_i t_i x_i."""
    pushed, pulled = 0.0, 0.0
    for row in range(size):
        pushed += values[row] * column[row]
        pulled += shares[first + row] * column[row]
    return pushed, pulled


def _derivatives(features: int) -> Pass:
    def derivatives(w, phi, offsets, weights, shares, score_offset, scale):  # type: ignore[no-untyped-def]
        values, mean = np.zeros(_room(offsets)), np.zeros(features)
        x, scaled, over = np.zeros((features, len(values))), w * scale, 1.0 / scale
        loss, gradient, hessian = 0.0, np.zeros(features), np.zeros((features, features))
        part, slope, outer = 0.0, np.zeros(features), np.zeros((features, features))
        groups, has_offset = len(offsets) - 1, len(score_offset) > 0
        for group in range(groups):
            first, size, weight = offsets[group], offsets[group + 1] - offsets[group], weights[group]
            for row in range(size):
                values[row] = score_offset[first + row] if has_offset else 0.0
                for f in range(features):
                    x[f, row] = (phi[first + row, f] - phi[first, f]) * over[f]
                    values[row] += scaled[f] * x[f, row]
            z, fit = _probable(values, shares, first, size)
            part += weight * np.log(z) - fit
            for f in range(features):
                pushed, pulled = _weighted_sums(values, shares, x[f], first, size)
                mean[f] = np.sqrt(weight) * pushed / z
                slope[f] += weight * pushed / z - pulled
            _add_hessian(values, x, size, weight / z, mean, outer)
            if (group + 1) % BLOCK == 0 or group + 1 == groups:
                loss, gradient, hessian = loss + part, gradient + slope, hessian + outer
                part, slope[:], outer[:, :] = 0.0, 0.0, 0.0
        return loss, gradient, hessian + np.tril(hessian, -1).T

    return derivatives


def _steps(features: int) -> Pass:
    def largest_steps(phi, offsets):  # type: ignore[no-untyped-def]
        largest = np.zeros(features)
        for group in range(len(offsets) - 1):
            first = offsets[group]
            for row in range(first, offsets[group + 1]):
                for f in range(features):
                    largest[f] = max(largest[f], abs(phi[row, f] - phi[first, f]))
        return largest

    return largest_steps
