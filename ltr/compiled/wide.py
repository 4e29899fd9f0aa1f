"""The passes for any number of features: buffers for one group, filled and read column by column.

A number of features fixed when the pass is compiled lets the compiler unroll the loops over them.
"""

from typing import Any

import numba
import numpy as np

from ltr.compiled.building import BLOCK, FUSED, LANES, SUMS, Pass, compiled, exponential

fused = numba.njit(error_model="numpy", fastmath=FUSED)


def epoch(features: int) -> Pass:
    """(w, phi, offsets, weights, shares, learning_rate, l2) -> (loss, w)."""
    column, groups = _types()
    return compiled(_epoch(features), FUSED, (column, *groups, numba.float64, numba.float64))


def derivatives(features: int) -> Pass:
    """(w, phi, offsets, weights, shares, scale) -> (loss, gradient, hessian)."""
    column, groups = _types()
    return compiled(_derivatives(features), SUMS, (column, *groups, column))


def steps(features: int) -> Pass:
    """(phi, offsets) -> the largest step inside a group, by column."""
    return compiled(_steps(features), FUSED, _types()[1][:2])


def squares(features: int) -> Pass:
    """(phi, offsets, units) -> the sum of (phi / unit - its group's mean)^2, by column."""
    column, groups = _types()
    return compiled(_squares(features), SUMS, (*groups[:2], column))


def _types() -> tuple[Any, tuple[Any, ...]]:
    """Of a column, and of the columns of groups."""
    column = numba.types.Array(numba.float64, 1, "C", readonly=True)
    phi = numba.types.Array(numba.float64, 2, "C", readonly=True)
    return column, (phi, numba.types.Array(numba.int64, 1, "C", readonly=True), column, column)


@fused
def _exponentials(values, size):  # type: ignore[no-untyped-def]
    """values <- exp(values) for values up to 0, in whole lanes; what is beyond the size is left over."""
    for row in range((size + LANES - 1) // LANES * LANES):
        values[row] = exponential(values[row])


@fused
def _largest(offsets):  # type: ignore[no-untyped-def]
    largest = 0
    for group in range(len(offsets) - 1):
        largest = max(largest, offsets[group + 1] - offsets[group])
    return largest


def _epoch(features: int) -> Pass:
    def descent_epoch(w, phi, offsets, weights, shares, learning_rate, l2):  # type: ignore[no-untyped-def]
        values = np.zeros(_largest(offsets) + LANES)
        w, push = w.copy(), np.zeros(features)
        groups = len(offsets) - 1
        total, part = 0.0, 0.0
        shrink = 1.0 - 2.0 * learning_rate * l2
        for group in range(groups):
            first, size, weight = offsets[group], offsets[group + 1] - offsets[group], weights[group]
            highest = -np.inf
            for row in range(size):
                score = 0.0
                for f in range(features):
                    score += w[f] * phi[first + row, f]
                values[row] = score
                highest = max(highest, score)
            fit = 0.0
            for row in range(size):
                values[row] -= highest
                fit += shares[first + row] * values[row]
            _exponentials(values, size)
            z = 0.0
            for row in range(size):
                z += values[row]
            rate = learning_rate * weight * groups
            scale, pull = rate / z, learning_rate * groups
            push[:] = 0.0
            for row in range(size):
                amount = values[row] * scale - shares[first + row] * pull
                for f in range(features):
                    push[f] += amount * phi[first + row, f]
            square = 0.0
            for f in range(features):
                square += w[f] * w[f]
                w[f] = w[f] * shrink - push[f]
            part += weight * (np.log(z) + l2 * square) - fit
            if (group + 1) % BLOCK == 0:
                total, part = total + part, 0.0
        return total + part, w

    return descent_epoch


def _derivatives(features: int) -> Pass:
    def derivatives(w, phi, offsets, weights, shares, scale):  # type: ignore[no-untyped-def]
        values = np.zeros(_largest(offsets) + LANES)
        loss, gradient, hessian = 0.0, np.zeros(features), np.zeros((features, features))
        part_gradient, part_hessian, part = np.zeros(features), np.zeros((features, features)), 0.0
        x, mean = np.zeros((features, len(values))), np.zeros(features)
        scaled, over = w * scale, 1.0 / scale
        groups = len(offsets) - 1
        for group in range(groups):
            first, size, weight = offsets[group], offsets[group + 1] - offsets[group], weights[group]
            highest = -np.inf
            for row in range(size):
                score = 0.0
                for f in range(features):
                    x[f, row] = (phi[first + row, f] - phi[first, f]) * over[f]
                    score += scaled[f] * x[f, row]
                values[row] = score
                highest = max(highest, score)
            for row in range(size):
                values[row] -= highest
                part -= shares[first + row] * values[row]
            _exponentials(values, size)
            z = 0.0
            for row in range(size):
                z += values[row]
            part += weight * np.log(z)
            for f in range(features):
                pushed, pulled = 0.0, 0.0
                for row in range(size):
                    pushed += values[row] * x[f, row]
                    pulled += shares[first + row] * x[f, row]
                mean[f] = pushed / z
                part_gradient[f] += weight * mean[f] - pulled
                for other in range(f + 1):
                    outer = 0.0
                    for row in range(size):
                        outer += values[row] * x[f, row] * x[other, row]
                    part_hessian[f, other] += weight * (outer / z - mean[f] * mean[other])
            if (group + 1) % BLOCK == 0 or group + 1 == groups:
                loss, part = loss + part, 0.0
                gradient += part_gradient
                hessian += part_hessian
                part_gradient[:], part_hessian[:, :] = 0.0, 0.0
        for f in range(features):
            for other in range(f):
                hessian[other, f] = hessian[f, other]
        return loss, gradient, hessian

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


def _squares(features: int) -> Pass:
    def sum_of_squares(phi, offsets, units):  # type: ignore[no-untyped-def]
        total, part, mean = np.zeros(features), np.zeros(features), np.zeros(features)
        groups = len(offsets) - 1
        for group in range(groups):
            first, last = offsets[group], offsets[group + 1]
            mean[:] = 0.0
            for row in range(first, last):
                for f in range(features):
                    mean[f] += (phi[row, f] - phi[first, f]) / units[f]
            for f in range(features):
                mean[f] /= last - first
            for row in range(first, last):
                for f in range(features):
                    step = (phi[row, f] - phi[first, f]) / units[f] - mean[f]
                    part[f] += step * step
            if (group + 1) % BLOCK == 0 or group + 1 == groups:
                total += part
                part[:] = 0.0
        return total

    return sum_of_squares
