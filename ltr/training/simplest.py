"""The choice among alternatives by losses on what each did not learn from: the simplest that is as good as the best."""

import math
from dataclasses import dataclass
from enum import IntEnum
from typing import Self

import numpy as np

from ltr.arrays import FloatArray, IntArray, code_sums, group_sums
from ltr.training.objective import trainable
from ltr.training.softmax import log_softmax
from ltr.training.standard_errors import NORMAL_95

ROUNDING = 1e-12  # means of hits that are nearer are equal


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """By how much one alternative loses more than another, mean over groups, with its standard error by trace."""

    mean: float
    standard_error: float

    @classmethod
    def of(cls, losses: FloatArray, others: FloatArray, weights: FloatArray, traces: IntArray) -> Self:
        """d = sum w (a - b) / sum w; its error sqrt(C / (C - 1) sum_c s_c^2) / sum w, s_c = sum of c of w (a - b - d).

        With one trace the error is infinite.

        >>> PairedDifference.of(np.array([3.0, 1.0]), np.ones(2), np.ones(2), np.array([0, 1]))
        PairedDifference(mean=1.0, standard_error=1.0)
        """
        total, apart = float(weights.sum()), losses - others
        mean = float(weights @ apart) / total
        codes = np.unique(traces, return_inverse=True)[1]
        clusters = int(codes.max(initial=-1)) + 1
        sums = code_sums(codes, weights * (apart - mean), clusters)
        spread = math.sqrt(float(sums @ sums) * clusters / (clusters - 1)) if clusters > 1 else math.inf
        return cls(mean, spread / total)


@dataclass(frozen=True, slots=True)
class Simplest:
    """Which alternative was chosen, which has the least loss, and by how much each loses more than the chosen one."""

    chosen: int
    best: int
    losses: FloatArray  # (alternatives,): means
    differences: tuple[PairedDifference, ...]


def simplest_as_good(losses: FloatArray, weights: FloatArray, traces: IntArray) -> Simplest:
    """The first alternative that loses at most one standard error more than the best; losses: (alternatives, groups).

    They stand in the order from simple to rich; of equals the first is the best.

    >>> losses = np.array([[0.5, 0.7, 0.6], [0.3, 0.8, 0.5], [0.2, 0.1, 0.2]])
    >>> choice = simplest_as_good(losses, np.ones(3), np.arange(3))
    >>> choice.chosen, choice.best  # 0.43 and 0.37 above the best, each with an error below 0.2
    (2, 2)
    >>> simplest_as_good(losses[:2], np.ones(3), np.arange(3)).chosen  # 0.07 above, with an error of 0.09
    0
    """
    means = losses @ weights / weights.sum()
    best = int(np.argmin(means))
    above = [PairedDifference.of(row, losses[best], weights, traces) for row in losses]
    chosen = next(place for place, gap in enumerate(above) if gap.mean <= gap.standard_error or place == best)
    return Simplest(
        chosen, best, means, tuple(PairedDifference.of(row, losses[chosen], weights, traces) for row in losses)
    )


class Level(IntEnum):
    """How much an alternative has to prove."""

    SINGLE = 0  # one column: nothing
    SEVERAL = 1  # several columns: they have to rank better than one
    RICH = 2  # more than that: it has to rank better beyond noise, and nowhere worse


@dataclass(frozen=True, slots=True)
class Judged:
    """What each alternative did with groups that it did not learn from, (alternatives, groups) each."""

    losses: FloatArray  # NaN where no fold leaves a group out, or it cannot train
    hits: FloatArray  # Top-1 on the lists that were offered; 0 there
    ranks: FloatArray  # the reciprocal rank on them; 0 there
    served: FloatArray  # Top-1 on the lists that will be served; NaN where they are the same, or not asked

    @property
    def parts(self) -> tuple[FloatArray, ...]:
        """All of it, in the order of the fields."""
        return self.losses, self.hits, self.ranks, self.served

    def only(self, groups: IntArray) -> Self:
        """What it did with some of the groups."""
        return type(self)(*(part[:, groups] for part in self.parts))


def simplest_proved(judged: Judged, levels: IntArray, weights: FloatArray, traces: IntArray) -> Simplest:
    """The simplest that is as good, where one that is not single has to rank better too: it may only lose less.

    Several columns count where their mean reciprocal rank exceeds that of the single column that would be chosen, by
    more than one standard error of the paired difference.
    A rich one counts where its mean reciprocal rank exceeds that of the simplest of the others that is as good, by the
    95 % interval, where it loses less than any other, and where no other has more served: Top-1 on lists with tools of
    the catalogue added, NaN in groups that have none. It can lower the loss on lists as these were and rank no better,
    or worse on others.

    >>> losses, level = np.array([[0.5, 0.7, 0.6], [0.3, 0.4, 0.4]]), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    >>> better, none = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]), np.full((2, 3), np.nan)
    >>> rest = np.array([Level.SEVERAL, Level.RICH]), np.ones(3), np.arange(3)
    >>> [simplest_proved(Judged(losses, hits, hits, none), *rest).chosen for hits in (level, better)]
    [0, 1]
    >>> simplest_proved(Judged(losses, better, better, better[::-1]), *rest).chosen  # worse where it will be served
    0
    >>> several = np.array([Level.SINGLE, Level.SEVERAL]), np.ones(3), np.arange(3)
    >>> [simplest_proved(Judged(losses, hits, hits, none), *several).chosen for hits in (level, better)]
    [0, 1]
    """
    losses, loss = judged.losses, judged.losses @ weights / weights.sum()
    usual = _usual(judged, levels, weights, traces)
    first = int(usual[simplest_as_good(losses[usual], weights, traces).chosen])
    gains = [PairedDifference.of(row, judged.ranks[first], weights, traces) for row in judged.ranks]
    has_lists = ~np.isnan(judged.served).any(axis=0)
    means = judged.served[:, has_lists] @ weights[has_lists] / (weights[has_lists].sum() or 1.0)  # 0 where none has any
    is_level = means >= means[usual].max() - ROUNDING
    loses_less = loss < loss[levels < Level.RICH].min()
    rich = [
        place
        for place in np.flatnonzero(levels == Level.RICH).tolist()
        if is_level[place] and loses_less[place] and gains[place].mean > NORMAL_95 * gains[place].standard_error
    ]
    stand = np.array([*usual, *rich])
    simplest = simplest_as_good(losses[stand], weights, traces)
    chosen, best = int(stand[simplest.chosen]), int(stand[simplest.best])
    differences = tuple(PairedDifference.of(row, losses[chosen], weights, traces) for row in losses)
    return Simplest(chosen, best, loss, differences)


def _usual(judged: Judged, levels: IntArray, weights: FloatArray, traces: IntArray) -> IntArray:
    """The places of those that are not rich: the single ones alone where several columns do not rank better."""
    single, usual = np.flatnonzero(levels == Level.SINGLE), np.flatnonzero(levels < Level.RICH)
    if not len(single):
        return usual
    alone = single[simplest_as_good(judged.losses[single], weights, traces).chosen]
    first = usual[simplest_as_good(judged.losses[usual], weights, traces).chosen]
    gain = PairedDifference.of(judged.ranks[first], judged.ranks[alone], weights, traces)
    return usual if levels[first] == Level.SINGLE or gain.mean > gain.standard_error + ROUNDING else single


def group_losses(
    scores: FloatArray,
    labels: FloatArray,
    offsets: IntArray,
    score_offset: FloatArray | None = None,
    targets_are: str = "label",
) -> FloatArray:
    """-sum t log softmax(scores + score_offset) of each group; NaN of one that cannot train.

    >>> group_losses(np.log([3.0, 1.0, 1.0]), np.array([1.0, 0.0, 1.0]), np.array([0, 2, 3])).round(6)
    array([0.287682,      nan])
    """
    groups = trainable(scores[:, np.newaxis], labels, offsets, score_offset=score_offset, targets_are=targets_are)
    column = groups.phi[:, 0] + groups.score_offset if len(groups.score_offset) else groups.phi[:, 0]
    losses = np.full(len(offsets) - 1, np.nan)
    losses[groups.trains] = -group_sums(groups.shares * log_softmax(column, groups.offsets), groups.offsets)
    losses[groups.trains] /= groups.weights
    return losses
