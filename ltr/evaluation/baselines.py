"""What a trained w must beat: random order, the best single feature, w = 1; and what nothing can beat."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.evaluation.evaluate import Evaluation, evaluate
from ltr.evaluation.metrics.ranked import MRR, TOP1
from ltr.evaluation.ranking import Ranking, Ties, rank, scores

BASELINES = ("random", "best_feature", "untrained", "oracle")


@dataclass(frozen=True, slots=True)
class Rules:
    """What is measured, and by which rules."""

    metrics: tuple[str, ...]
    ties: str
    rel_threshold: float
    no_relevant: str
    threshold: float = 0.5
    max_grade: float | None = None


@dataclass(frozen=True, slots=True)
class BestFeature:
    """The column that ranks the training groups best by itself; sign -1: its smallest value comes first."""

    name: str
    sign: int


@dataclass(frozen=True, slots=True, eq=False)
class Truth:
    """Labelled groups of candidates, whatever ranks them."""

    labels: FloatArray
    offsets: IntArray
    keys: IntArray  # (rows,): order of the ids


def measure(
    values: FloatArray, truth: Truth, rules: Rules, *, listed: BoolArray | None = None
) -> tuple[Ranking, Evaluation]:
    """The ranking by the values, and its metrics by the rules."""
    ranking = rank(values, truth.offsets, keys=truth.keys, listed=listed)
    return ranking, evaluate_as(ranking, truth.labels, rules)


def evaluate_as(ranking: Ranking, labels: FloatArray, rules: Rules) -> Evaluation:
    """The metrics of a ranking by the rules."""
    return evaluate(
        ranking,
        labels,
        rules.metrics,
        ties=rules.ties,
        rel_threshold=rules.rel_threshold,
        no_relevant=rules.no_relevant,
        threshold=rules.threshold,
        max_grade=rules.max_grade,
    )


def best_feature(names: Sequence[str], phi: FloatArray, labels: FloatArray, offsets: IntArray) -> BestFeature:
    """The column and sign with the greatest MRR on these groups, then the greatest Top-1; the first of equals.

    >>> best_feature(["a", "b"], np.array([[0.0, 1.0], [0.0, 3.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    BestFeature(name='b', sign=-1)
    """

    def quality(choice: tuple[int, int]) -> tuple[float, float]:
        column, sign = choice
        means = evaluate(rank(sign * phi[:, column], offsets), (labels > 0).astype(float)).means
        return means[MRR] or 0.0, means[TOP1] or 0.0

    column, sign = max(((column, sign) for column in range(len(names)) for sign in (1, -1)), key=quality)
    return BestFeature(names[column], sign)


def baselines(
    phi: FloatArray, truth: Truth, rules: Rules, *, best: BestFeature, names: Sequence[str]
) -> dict[str, Evaluation]:
    """The same metrics of random order (exactly, as one great tie), the best feature, w = 1, and the labels."""
    random = replace(rules, ties=Ties.EXPECTED)
    each = {
        "random": (np.zeros(len(truth.labels)), random),
        "best_feature": (best.sign * phi[:, list(names).index(best.name)], rules),
        "untrained": (scores(phi, np.ones(len(names))), rules),
        "oracle": (truth.labels, rules),
    }
    return {name: measure(values, truth, by)[1] for name, (values, by) in each.items()}
