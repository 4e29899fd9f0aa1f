"""What folds say of a config."""

from collections.abc import Mapping
from dataclasses import dataclass

from ltr.arrays import FloatArray
from ltr.data.candidates import Past
from ltr.evaluation.evaluate import Rules

Means = Mapping[str, float | None]  # by metric; None: no query could be scored


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """What folds say of a config."""

    l2s: tuple[float, ...]
    values: FloatArray  # (l2s, folds): the metric, greater is better
    l2: float  # the chosen one: all else is of it
    each: tuple[Means, ...]  # of the groups of each fold
    pooled: Means  # of every group that was left out once
    rules: Rules
    num_groups: int
    earlier: int  # of them, by time: those no later than the newest group their fold learns from
    past: Past | None = None  # what came before each group, as the model was told
