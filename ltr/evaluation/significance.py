"""Whether one run is better than another, query by query: paired tests, effect size, wins.

A unit is a query, or a cluster of queries that depend on each other (those of one trace): the differences of a
cluster are added up, and its sign is flipped as a whole.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums
from ltr.errors import DataError
from ltr.evaluation.bootstrap import Interval, bootstrap_mean

MOST_ENUMERATED = 12  # units whose 2^n sign patterns are all tried
ROUNDING = 1e-12  # differences and sums that are nearer are equal
FLIPPED = 1024  # units flipped at once: their table stays in the cache
CHEAPER = 8  # times a sign is cheaper to draw than a count of signs


@dataclass(frozen=True, slots=True, kw_only=True)
class Paired:
    """A run against a baseline, query by query: how much greater its values are, and how sure that is."""

    interval: Interval  # of the mean difference, paired bootstrap
    permutation_p: float
    t_p: float | None  # None: a single unit
    effect_size: float | None  # Cohen's d of the differences of the queries; None: all the same and not 0
    wins: int
    ties: int
    losses: int

    PERMUTATIONS: ClassVar[int] = 9_999

    @classmethod
    def of(cls, values: FloatArray, baseline: FloatArray, clusters: IntArray | None = None, *, seed: int) -> Self:
        """Compare values with a baseline; clusters: codes of what is resampled and flipped as a whole.

        >>> paired = Paired.of(np.array([1.0, 1.0, 0.5]), np.array([0.0, 0.0, 0.5]), seed=0)
        >>> paired.wins, paired.ties, paired.permutation_p  # ++ and -- of 4 patterns
        (2, 1, 0.5)
        """
        by_query = differences(values, baseline)
        units = unit_sums(by_query, clusters)
        return cls(
            interval=bootstrap_mean(by_query, np.random.default_rng(seed), clusters=clusters),
            permutation_p=permutation_p(units, np.random.default_rng(seed)),
            t_p=paired_t_p(units),
            effect_size=effect_size(by_query),
            wins=int((by_query > 0).sum()),
            ties=int((by_query == 0).sum()),
            losses=int((by_query < 0).sum()),
        )


def differences(values: FloatArray, baseline: FloatArray) -> FloatArray:
    """values - baseline, row by row; what differs by rounding alone is 0.

    >>> differences(np.array([0.1 + 0.2, 1.0]), np.array([0.3, 0.5]))
    array([0. , 0.5])
    """
    if values.shape != baseline.shape:
        raise DataError(f"{values.shape} values cannot be paired with {baseline.shape}")
    difference = values - baseline
    if not np.isfinite(difference).all():
        raise DataError("values to compare must be finite")
    size = np.maximum(np.maximum(np.abs(values), np.abs(baseline)), 1.0)  # a dcg of a million rounds to 1e-10
    return np.where(np.abs(difference) <= ROUNDING * size, 0.0, difference)


def unit_sums(paired: FloatArray, clusters: IntArray | None = None) -> FloatArray:
    """The differences of each unit, added up.

    >>> unit_sums(np.array([1.0, 0.5, -1.0]), np.array([7, 3, 7]))
    array([0.5, 0. ])
    """
    if clusters is None:
        return paired
    codes = np.unique(clusters, return_inverse=True)[1]
    return code_sums(codes, paired, int(codes.max(initial=-1)) + 1)


def permutation_p(units: FloatArray, rng: np.random.Generator, *, permutations: int = Paired.PERMUTATIONS) -> float:
    """Two-sided p of the mean difference under random signs of the units' sums d.

    p = (b + 1) / (m + 1), b of m random sign patterns s with |sum s d| >= |sum d|. A unit with d = 0 changes no
    sum; when at most 12 others remain, all 2^n patterns are tried and p = b / 2^n is exact. Identical runs: p = 1.

    >>> permutation_p(np.array([1.0, 1.0, 1.0]), np.random.default_rng(0))  # +++ and --- of 8 patterns
    0.25
    """
    sums = units[np.abs(units) > ROUNDING]
    least = abs(float(sums.sum())) - ROUNDING * float(np.abs(sums).sum())
    if len(sums) <= MOST_ENUMERATED:
        return float(np.mean(np.abs(_signs(len(sums)) @ sums) >= least))
    reached = int(np.count_nonzero(np.abs(_flipped(sums, rng, permutations)) >= least))
    return (reached + 1) / (permutations + 1)


def _signs(units: int) -> FloatArray:
    """Each of the 2^n patterns of signs, one a row."""
    patterns = np.arange(1 << units)[:, np.newaxis] >> np.arange(units)
    return np.where(patterns & 1, 1.0, -1.0)


def _flipped(sums: FloatArray, rng: np.random.Generator, permutations: int) -> FloatArray:
    """sum s d of each pattern of random signs s: of the n units with one |d|, Binomial(n, 1/2) are positive."""
    sizes, counts = np.unique(np.abs(sums), return_counts=True)
    if len(sizes) * CHEAPER < len(sums):
        positive = rng.binomial(counts, 0.5, size=(permutations, len(sizes)))
        return (2 * positive - counts) @ sizes
    total = np.zeros(permutations)
    for first in range(0, len(sums), FLIPPED):
        total += _flipped_block(sums[first : first + FLIPPED], rng, permutations)
    return total


def _flipped_block(sums: FloatArray, rng: np.random.Generator, permutations: int) -> FloatArray:
    """One random byte gives eight signs: the 256 sums of each eight units are looked up, not added."""
    eights = np.zeros((8, -(-len(sums) // 8)))
    eights.ravel()[: len(sums)] = sums
    table = _signs(8) @ eights
    drawn = rng.integers(256, size=(permutations, eights.shape[1]), dtype=np.uint8)
    total: FloatArray = table[drawn, np.arange(eights.shape[1])].sum(axis=1)
    return total


def paired_t_p(units: FloatArray) -> float | None:
    """Two-sided p of t = mean(d) / (sd(d) / sqrt(n)), n - 1 degrees of freedom, sd with n - 1.

    All differences 0: p = 1. All the same and not 0: p = 0. Fewer than two units: None, no deviation is known.
    """
    if not units.any():
        return 1.0
    if len(units) < 2:
        return None
    deviation = float(units.std(ddof=1))
    if deviation <= ROUNDING * float(np.abs(units).max()):
        return 0.0
    from scipy.special import stdtr  # type: ignore[import-untyped]  # scipy.stats has it too, and imports for a second

    statistic = float(units.mean()) / (deviation / np.sqrt(len(units)))
    return float(2 * stdtr(len(units) - 1, -abs(statistic)))


def holm(p_values: Sequence[float]) -> list[float]:
    """p values adjusted for the size m of their family: the i-th smallest becomes max over j <= i of (m - j + 1) p_j.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    adjusted, largest = [1.0] * len(p_values), 0.0
    by_size = sorted(range(len(p_values)), key=p_values.__getitem__)
    for place, index in enumerate(by_size):
        largest = max(largest, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def effect_size(paired: FloatArray) -> float | None:
    """Cohen's d of the differences of the queries: mean(d) / sd(d), sd with n - 1. No deviation: 0 or None.

    >>> effect_size(np.array([0.0, 1.0, 0.0, 1.0])).__round__(6)  # 0.5 / sqrt(1/3)
    0.866025
    """
    if not paired.any():
        return 0.0
    deviation = float(paired.std(ddof=1)) if len(paired) > 1 else 0.0
    if deviation <= ROUNDING * float(np.abs(paired).max()):
        return None
    return float(paired.mean()) / deviation
