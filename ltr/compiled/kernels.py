"""The passes as numba compiles them, for a number of features that is known when they are compiled.

A fixed number lets the compiler unroll the loops over features, as a C programmer would by a constant. The bodies
are long because a group is finished in one go: a call in the middle would cost as much as the work.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np

from ltr.arrays import FloatArray
from ltr.files import cache_directory

BLOCK = 1024  # groups added up by themselves: long sums lose fewer bits
LANES = 8  # numbers whose exponentials are taken together
LEAST = -708.0  # below it exp is no normal number; beside the largest candidate it is nothing
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10
TO_INTEGER = 6755399441055744.0  # 1.5 * 2^52: what is added to it loses its fraction, and its last bits are the integer
C = tuple(1.0 / float(np.prod(np.arange(1.0, n + 1.0))) for n in range(14))  # of the series: 1 / n!

FUSED = {"contract"}  # a * b + c in one step, as a C compiler does; nothing is reordered
SUMS = FUSED | {"reassoc"}  # the terms of a sum in any order, always the same one: several are added at once

Pass = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Kernels:
    """Compiled passes; arrays as in `Trainable`."""

    epoch: Pass  # (w, phi, offsets, weights, shares, learning_rate, l2) -> (loss, w)
    derivatives: Pass  # (w, phi, offsets, weights, shares, scale) -> (loss, gradient, hessian)
    steps: Pass  # (phi, offsets) -> the largest step inside a group, by column
    squares: Pass  # (phi, offsets, units) -> the sum of (phi / unit - its group's mean)^2, by column


def made(features: int) -> Kernels:
    """The passes for that many features, from the user's cache if they were compiled before."""
    integer, number = numba.int64, numba.float64
    column = numba.types.Array(number, 1, "C", readonly=True)
    offsets = numba.types.Array(integer, 1, "C", readonly=True)
    phi = numba.types.Array(number, 2, "C", readonly=True)
    groups = (phi, offsets, column, column)
    return Kernels(
        _compiled(_epoch(features), FUSED, (column, *groups, number, number)),
        _compiled(_derivatives(features), SUMS, (column, *groups, column)),
        _compiled(_steps(features), FUSED, (phi, offsets)),
        _compiled(_squares(features), SUMS, (phi, offsets, column)),
    )


def _compiled(function: Pass, allowed: set[str], signature: tuple[Any, ...]) -> Pass:
    """The function compiled for its arguments; where the cache cannot be used, for this process alone."""
    directory = private(cache_directory() / "numba")
    config: Any = numba.config
    before = config.CACHE_DIR
    try:
        if directory is not None:
            config.CACHE_DIR = str(directory)
            return numba.njit(signature, cache=True, error_model="numpy", fastmath=allowed)(function)
    except Exception:
        pass
    finally:
        config.CACHE_DIR = before
    return numba.njit(signature, error_model="numpy", fastmath=allowed)(function)


def private(directory: Path) -> Path | None:
    """The directory, made if it is not there; None unless only its owner can write to it, and that is the user."""
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = directory.stat()
    except OSError:
        return None
    is_own = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
    return directory if is_own and os.access(directory, os.W_OK | os.X_OK) else None


@numba.njit(error_model="numpy", fastmath=FUSED)
def _exponentials(values: FloatArray, powers: FloatArray, bits: Any, count: int) -> None:
    """values <- exp(values) for values up to 0, in lanes: 2^k (k in the bits of a float) times a short series."""
    for lane in range(count, count + LANES):
        values[lane] = 0.0  # what a larger group left there
    for first in range(0, count, LANES):
        for lane in range(first, first + LANES):
            value = max(values[lane], LEAST)
            powers[lane] = value * LOG2_E + TO_INTEGER
            k = powers[lane] - TO_INTEGER
            r = (value - k * LN2_HIGH) - k * LN2_LOW
            square = r * r
            fourth = square * square
            low = (C[0] + C[1] * r) + (C[2] + C[3] * r) * square
            middle = (C[4] + C[5] * r) + (C[6] + C[7] * r) * square
            high = (C[8] + C[9] * r) + (C[10] + C[11] * r) * square
            series = low + fourth * (middle + fourth * (high + fourth * (C[12] + C[13] * r)))
            values[lane] = series
        for lane in range(first, first + LANES):
            bits[lane] = (bits[lane] + 1023) << 52
        for lane in range(first, first + LANES):
            values[lane] *= powers[lane]


@numba.njit(inline="always", error_model="numpy", fastmath=FUSED)
def _room(offsets: Any) -> tuple[FloatArray, FloatArray, Any]:
    """Buffers for the largest group and the rest of its last lanes; the third is the second, seen as integers."""
    largest = 0
    for group in range(len(offsets) - 1):
        largest = max(largest, offsets[group + 1] - offsets[group])
    values, powers = np.zeros(largest + LANES), np.zeros(largest + LANES)
    return values, powers, powers.view(np.int64)


def _epoch(features: int) -> Pass:
    def descent_epoch(w, phi, offsets, weights, shares, learning_rate, l2):  # type: ignore[no-untyped-def]
        values, powers, bits = _room(offsets)
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
            _exponentials(values, powers, bits, size)
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
        values, powers, bits = _room(offsets)
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
            _exponentials(values, powers, bits, size)
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
