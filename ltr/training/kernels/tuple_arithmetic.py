"""A few numbers in registers: tuples, whose length the compiler knows, changed number by number."""

import numba
from numba.cpython.unsafe.tuple import tuple_setitem as put

from ltr.training.kernels.floating_point_rules import SUMS

jitted = numba.njit(error_model="numpy", fastmath=SUMS)
inlined = numba.njit(error_model="numpy", fastmath=SUMS, inline="always")


@inlined
def zeros(like):  # type: ignore[no-untyped-def]
    """As many zeros."""
    for place in range(len(like)):
        like = put(like, place, 0.0)
    return like


@inlined
def read_numbers(zero, column, at):  # type: ignore[no-untyped-def]
    """As many numbers as `zero` has, from column[at] on."""
    numbers = zero
    for place in range(len(zero)):
        numbers = put(numbers, place, column[at + numba.uint64(place)])
    return numbers


@inlined
def dot(a, b):  # type: ignore[no-untyped-def]
    """a'b."""
    total = 0.0
    for place in range(len(a)):
        total += a[place] * b[place]
    return total


@inlined
def plus(a, amount, b):  # type: ignore[no-untyped-def]
    """a + amount * b."""
    for place in range(len(a)):
        a = put(a, place, a[place] + amount * b[place])
    return a


@inlined
def centred(x, origin, over):  # type: ignore[no-untyped-def]
    """(x - origin) * over, number by number."""
    for place in range(len(x)):
        x = put(x, place, (x[place] - origin[place]) * over[place])
    return x


@inlined
def plus_pairs(sums, amount, x):  # type: ignore[no-untyped-def]
    """sums + amount * x x', the pairs of one triangle row by row."""
    for place in range(len(x)):
        for other in range(len(x)):
            if other <= place:
                pair = place * (place + 1) // 2 + other
                sums = put(sums, pair, sums[pair] + amount * x[place] * x[other])
    return sums
