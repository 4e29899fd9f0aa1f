"""Compiled passes over the groups, for work that repays loading numba (extra `fast`).

A pass fills buffers for one group and reads them column by column. A number of features that is fixed when the pass
is compiled lets the compiler unroll the loops over them. Machine code lies in the user's own cache directory.
"""

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np

from ltr import __version__
from ltr.errors import DiskError, UsageError
from ltr.files import write_file
from ltr.paths import cache_directory, own_directory
from ltr.signals import deferring
from ltr.training.groups import Pass

BLOCK = 1024  # groups with a sum of their own: shorter sums lose fewer bits
LANES = 8  # rows taken together; those beyond a group's end count as 0
FUSED = {"contract"}  # a * b + c in one step, as a C compiler does, without reordering
SUMS = FUSED | {"reassoc"}  # sums in another order, always the same one: several terms are added at once
LEAST = -708.0  # below it exp is no normal number, and vanishes beside that of the largest candidate
LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 0.693147180369123816490, 1.90821492927058770002e-10


TO_INTEGER = (
    6755399441055744.0  # 1.5 * 2^52: a number added to it loses its fraction, and the last bits hold the integer
)
C = tuple(1.0 / float(np.prod(np.arange(1.0, n + 1.0))) for n in range(14))  # of the series: 1 / n!
fused = numba.njit(error_model="numpy", fastmath=FUSED)
summing = numba.njit(error_model="numpy", fastmath=SUMS)


def epoch_of(features: int) -> Pass:
    """(w, phi, offsets, weights, shares, score_offset, learning_rate, l2) -> (loss, w)."""
    column, groups = _types()
    return compiled(_epoch(features), features, FUSED, (column, *groups, numba.float64, numba.float64))


def derivatives_of(features: int) -> Pass:
    """(w, phi, offsets, weights, shares, score_offset, scale) -> (loss, gradient, hessian)."""
    column, groups = _types()
    return compiled(_derivatives(features), features, SUMS, (column, *groups, column))


def steps_of(features: int) -> Pass:
    """(phi, offsets) -> the largest step inside a group, by column."""
    return compiled(_steps(features), features, FUSED, _types()[1][:2])


def _types() -> tuple[Any, tuple[Any, ...]]:
    """Types of a column, and of phi, offsets, weights, shares and score offset."""
    column = numba.types.Array(numba.float64, 1, "C", readonly=True)
    phi = numba.types.Array(numba.float64, 2, "C", readonly=True)
    return column, (phi, numba.types.Array(numba.int64, 1, "C", readonly=True), column, column, column)


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


@deferring  # a handler that raises inside a callback of the compiler is dropped, and the signal with it
def compiled(function: Pass, features: int, allowed: set[str], signature: tuple[Any, ...]) -> Pass:
    """The function compiled for its arguments; for this process alone where the cache cannot be used."""
    # numba names machine code by it: two passes of one name, loaded from the cache, take each other's symbols
    function.__qualname__ += f"_{features}"
    directory = private(cache_directory())
    options: dict[str, Any] = {"error_model": "numpy", "fastmath": allowed}
    if directory is None:
        return numba.njit(signature, **options)(function)
    files = {"kernels.py": Path(__file__).read_bytes()}
    directory /= kernel_cache_key(files, __version__)
    config: Any = numba.config
    before, config.CACHE_DIR = config.CACHE_DIR, str(directory)
    try:
        remove_damaged(directory)
        machine_code = numba.njit(signature, cache=True, **options)(function)
        if machine_code.stats.cache_misses:
            for _, digest_path, digest in unsealed(directory):
                with suppress(OSError, DiskError):  # without its digest the next process makes the file again
                    write_file(digest_path, digest)
        return machine_code
    except Exception:  # a damaged cache raises whatever its bytes say; a fault of the pass itself is raised again here
        return numba.njit(signature, **options)(function)
    finally:
        config.CACHE_DIR = before


@cache
def remove_damaged(directory: Path) -> None:
    """Remove the files that differ from their digest, once a process: numba would run a flipped bit."""
    for path, _, _ in unsealed(directory):  # damaged, or its process was killed, or is about to write the digest
        with suppress(OSError):
            path.unlink()


def unsealed(directory: Path) -> Iterator[tuple[Path, Path, bytes]]:
    """The files of numba without their own digest beside them, with its path and bytes: indices and machine code."""
    for path in [*directory.glob("*/*.nbi"), *directory.glob("*/*.nbc")]:
        digest_path = path.with_name(f"{path.name}.sha256")
        with suppress(OSError):  # removed by another process
            digest = hashlib.sha256(path.read_bytes()).hexdigest().encode()
            if not digest_path.exists() or digest_path.read_bytes() != digest:
                yield path, digest_path, digest


def kernel_cache_key(files: Mapping[str, bytes], version: str) -> str:
    """A digest of the version and of all files here: numba checks only the file of the outermost function."""
    digests = [hashlib.sha256(files[name]).hexdigest() for name in sorted(files)]
    return hashlib.sha256(" ".join([version, *sorted(files), *digests]).encode()).hexdigest()[:16]


def private(cache: Path) -> Path | None:
    """The directory of machine code in the cache, made if it is missing; None unless both are the user's alone."""
    try:
        directory = own_directory(own_directory(cache) / "numba")
    except (OSError, UsageError):
        return None
    return directory if os.access(directory, os.W_OK | os.X_OK) else None
