"""How a pass goes over groups: in runs of whole groups that stay in the cache."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ltr.arrays import FloatArray, IntArray, chunks
from ltr.training.trainable import Trainable

RUN_NUMBERS = 1 << 16  # numbers of phi in one run of a pass: its temporaries stay in the cache


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
