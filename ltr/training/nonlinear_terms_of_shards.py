"""Knots and products of columns that lie in shards: exact where the distinct values are few, else from a sample."""

from functools import partial, reduce
from typing import TYPE_CHECKING

import numpy as np

from ltr.arrays import FloatArray, IntArray, ragged
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.training.config import TrainConfig
from ltr.training.feature_products import NO_PRODUCTS, Products, middle, refuse_too_many
from ltr.training.nonlinear_terms import NO_TERMS, Terms
from ltr.training.piecewise_linear_curves import NO_KNOTS, Knots, knot_positions

if TYPE_CHECKING:
    from ltr.training.trainable_shards import ShardSource

MOST_DISTINCT = 1_000_000  # values of a column up to which all are looked at
SAMPLED = 100_000  # groups that stand for all of a column with more
Values = list[FloatArray | None]  # distinct values of each column, None where there are too many


def shard_terms(source: "ShardSource", config: TrainConfig, *, engine: Engine = IN_PROCESS) -> tuple[Terms, bool]:
    """`Terms.of` the rows of all shards, and whether a sample of the groups stood for all of them.

    It does for a column with a million distinct values: the groups with the lowest digests of their numbers.
    """
    if not config.knots and not config.products:
        return NO_TERMS, False
    if config.products:
        refuse_too_many(source.shard(0).phi.shape[1])
    values, ends = reduce(_merged, engine.map(partial(_values_and_ends, source=source), range(len(source))))
    is_sampled = any(distinct is None for distinct in values)
    if is_sampled:
        table = _sample(source, SAMPLED, engine)
        values = [np.unique(table[:, place]) if distinct is None else distinct for place, distinct in enumerate(values)]
    columns = [distinct for distinct in values if distinct is not None]
    positions = [knot_positions(distinct, config.knots) for distinct in columns]
    products = Products.at([middle(distinct) for distinct in columns], ends) if config.products else NO_PRODUCTS
    return Terms(Knots.at(positions, ends) if config.knots else NO_KNOTS, products), is_sampled


def _values_and_ends(number: int, source: "ShardSource") -> tuple[Values, FloatArray]:
    """The distinct values of each column of a shard, and its least and greatest, (columns, 2)."""
    phi = source.shard(number).phi
    return [_few(np.unique(column)) for column in phi.T], np.column_stack([phi.min(axis=0), phi.max(axis=0)])


def _merged(left: tuple[Values, FloatArray], right: tuple[Values, FloatArray]) -> tuple[Values, FloatArray]:
    values = [
        None if first is None or second is None else _few(np.union1d(first, second))
        for first, second in zip(left[0], right[0], strict=True)
    ]
    (least, _), (_, greatest) = np.minimum(left[1], right[1]).T, np.maximum(left[1], right[1]).T
    return values, np.column_stack([least, greatest])


def _few(values: FloatArray) -> FloatArray | None:
    return values if len(values) < MOST_DISTINCT else None


def _sample(source: "ShardSource", most: int, engine: Engine) -> FloatArray:
    """The rows of so many groups, those with the lowest digests of their numbers."""
    sizes = list(engine.map(partial(_size, source=source), range(len(source))))
    firsts = np.cumsum([0, *sizes]).tolist()
    digests = digest(np.arange(firsts[-1]))
    border = np.unique(digests)[:most][-1]  # all of them differ
    bounds = list(zip(range(len(source)), firsts, firsts[1:], strict=False))
    return np.concatenate(list(engine.map(partial(_drawn, source=source, border=border), bounds)))


def _size(number: int, source: "ShardSource") -> int:
    return len(source.shard(number).offsets) - 1


def _drawn(bounds: tuple[int, int, int], source: "ShardSource", border: np.uint64) -> FloatArray:
    """The rows of the groups first:last, which are those of a shard, whose digests are not above the border."""
    number, first, last = bounds
    shard = source.shard(number)
    groups = np.flatnonzero(digest(np.arange(first, last)) <= border)
    owner, step = ragged(np.diff(shard.offsets)[groups])
    return shard.phi[shard.offsets[groups][owner] + step]


def digest(numbers: IntArray) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """A digest of each number, spread evenly over 64 bits: different numbers have different ones (splitmix64).

    >>> digest(np.array([0, 1])).tolist()
    [16294208416658607535, 7960286522194355700]
    """
    mixed = (numbers.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
