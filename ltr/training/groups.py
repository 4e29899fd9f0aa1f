"""Groups to train on, as every trainer reads them, and how a pass goes over them.

A pass takes runs of whole groups that stay in the cache, by numpy, or is compiled. The choice follows from the size of
the work alone, so that the same input gives the same bytes.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Self, TypeVar

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, chunks
from ltr.signals import deferring

Result = TypeVar("Result")
Columns = Callable[[FloatArray], FloatArray]  # phi to other columns of the same rows
Pass = Callable[..., Any]
RUN_NUMBERS = 1 << 16  # numbers of phi in one run of a pass: its temporaries stay in the cache
MOST_FEATURES = 16  # of a compiled pass: beyond, the matrix products of a library are as fast
STEPS = 100_000  # of descent, one for each group and epoch: numpy takes about the second that loading takes
NUMBERS = 3_000_000  # of phi: numpy takes as much longer, for a fit and its diagnosis, as loading takes


@dataclass(frozen=True, slots=True)
class Skipped:
    """Counts of the groups left out. A group of one candidate counts as that, whatever its label."""

    one_candidate: int
    no_positive: int
    equally_right: int = 0  # all candidates are; left out where right ones train apart, against wrong ones alone


@dataclass(frozen=True, slots=True)
class Trainable:
    """The groups to train on, as every trainer reads them."""

    phi: FloatArray  # (rows, features)
    offsets: IntArray  # (groups + 1,)
    weights: FloatArray  # (groups,), sum 1
    shares: FloatArray  # (rows,): targets times the group's weight
    score_offset: FloatArray  # (rows,): added to the scores; empty where nothing is
    skipped: Skipped
    trains: BoolArray  # (groups that were given): which of them are here
    origins: IntArray  # (groups,): the given group that each is, or is a part of where right candidates train apart
    first: int = 0  # of the first group here the place among those of all shards

    def __len__(self) -> int:
        return len(self.weights)

    @property
    def columns(self) -> int:
        """How many features phi has."""
        return self.phi.shape[1]

    @property
    def rows(self) -> int:
        """How many candidates there are."""
        return len(self.phi)

    def map(self, function: "Callable[[Trainable], Result]") -> Iterator[Result]:
        """What the function says of each shard, of which this is the only one."""
        yield function(self)

    def each(self) -> "Iterator[Trainable]":
        """The groups of each shard."""
        yield self

    def with_columns(self, change: Columns, columns: int) -> Self:  # shards need it beforehand
        """The same groups with other columns, so many of them."""
        return replace(self, phi=change(self.phi))

    def with_equal_weights(self) -> Self:
        """The same groups, all with the same weight; the shares stay as they are."""
        return replace(self, weights=np.full(len(self), 1 / len(self)))


@dataclass(frozen=True, slots=True)
class Run:
    """Consecutive whole groups, few enough that a pass over their columns stays in the cache."""

    groups: slice
    rows: slice
    starts: IntArray  # first row of each group, counted from the first of the run
    sizes: IntArray


def passes(groups: Trainable) -> Iterator[Run]:
    """One pass over all groups, in runs."""
    offsets = groups.offsets
    for first, last in chunks(offsets, max(RUN_NUMBERS // groups.phi.shape[1], 1)):
        starts = offsets[first:last] - offsets[first]
        yield Run(slice(first, last), slice(offsets[first], offsets[last]), starts, np.diff(offsets[first : last + 1]))


def centred_columns(groups: Trainable, run: Run, scale: FloatArray, *, origins: IntArray | None = None) -> FloatArray:
    """Columns of the run, (features, rows), minus one row of each group (`origins`, else the first), over the scale."""
    columns = np.array(groups.phi[run.rows].T, order="C")
    columns -= np.repeat(columns[:, run.starts if origins is None else origins], run.sizes, axis=1)
    columns /= scale[:, np.newaxis]
    return columns


@dataclass(frozen=True, slots=True)
class Kernels:
    """Passes compiled for a number of features; arrays as in `Trainable`."""

    epoch: Pass  # (w, phi, offsets, weights, shares, score_offset, learning_rate, l2) -> (loss, w)
    derivatives: Pass  # (w, phi, offsets, weights, shares, score_offset, scale) -> (loss, gradient, hessian)
    steps: Pass  # (phi, offsets) -> the largest step inside a group, by column


def for_steps(features: int, steps: int) -> Kernels | None:
    """Return the compiled passes for so many steps of descent; None where numpy is as good."""
    return kernels(features) if steps >= STEPS else None


def for_passes(features: int, rows: int) -> Kernels | None:
    """Return the compiled passes for derivatives over so many rows; None where numpy is as good."""
    return kernels(features) if rows * features >= NUMBERS else None


def is_loaded() -> bool:
    """Return whether any work so far was large enough for compiled passes."""
    return "ltr.training.kernels" in sys.modules


@cache
def kernels(features: int) -> Kernels | None:
    """Return the passes for that many features, from the user's cache if they were compiled before.

    None without numba.
    """
    if features > MOST_FEATURES:
        return None
    try:
        from ltr.training.kernels import derivatives_of, epoch_of, steps_of
    except ImportError:  # the extra is not installed
        return None
    return Kernels(*(deferring(made(features)) for made in (epoch_of, derivatives_of, steps_of)))
