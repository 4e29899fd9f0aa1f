"""What a trained w must beat: random order, the best single feature, w = 1; and what nothing can beat."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.evaluation.best_single_feature import BestFeature
from ltr.evaluation.evaluate import Evaluation, Rules, evaluate_by
from ltr.evaluation.linear_scores import linear_scores
from ltr.evaluation.metrics.ranking_measures import MRR, TOP1
from ltr.evaluation.ranking import Ranking, Ties, rank

BASELINES = ("random", "best_feature", "untrained", "oracle")


def best_feature(names: Sequence[str], phi: FloatArray, labels: FloatArray, offsets: IntArray) -> BestFeature:
    """The column and sign with the greatest MRR on these groups, then the greatest Top-1; the first of equals.

    >>> best_feature(["a", "b"], np.array([[0.0, 1.0], [0.0, 3.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    BestFeature(name='b', sign=-1)
    """
    by_feature = alone(names, phi, labels, offsets)
    return best_of({feature: (of.means[MRR] or 0.0, of.means[TOP1] or 0.0) for feature, of in by_feature})


def best_of(qualities: Mapping[BestFeature, tuple[float, float]]) -> BestFeature:
    """The one with the greatest MRR, then the greatest Top-1; the first of equals."""
    return max(qualities, key=qualities.__getitem__)


def alone(
    names: Sequence[str], phi: FloatArray, labels: FloatArray, offsets: IntArray
) -> Iterator[tuple[BestFeature, Evaluation]]:
    """How each column ranks these groups by itself, its largest or its smallest value first."""
    relevant = (labels > 0).astype(float)
    for name, column in zip(names, phi.T, strict=True):
        for sign in (1, -1):
            yield BestFeature(name, sign), evaluate_by(rank(sign * column, offsets), relevant, Rules())


def baselines(
    phi: FloatArray, labels: FloatArray, ranking: Ranking, rules: Rules, *, best: BestFeature, names: Sequence[str]
) -> dict[str, Evaluation]:
    """The metrics of other rankings of the candidates that `ranking` ranks, by the same rules."""
    others = baseline_rankings(phi, labels, ranking, rules, best=best, names=names)
    return {name: evaluate_by(other, labels, rules_of_it) for name, (other, rules_of_it) in others.items()}


def baseline_rankings(
    phi: FloatArray, labels: FloatArray, ranking: Ranking, rules: Rules, *, best: BestFeature, names: Sequence[str]
) -> dict[str, tuple[Ranking, Rules]]:
    """Other rankings of the candidates that `ranking` ranks, and the rules that they are measured by.

    They are random order (exactly, as one great tie), the best feature, w = 1, and the labels.
    """
    by_scores = {
        "random": (np.zeros(len(labels)), replace(rules, ties=Ties.EXPECTED)),
        "best_feature": (best.sign * phi[:, list(names).index(best.name)], rules),
        "untrained": (linear_scores(phi, np.ones(len(names))), rules),
        "oracle": (labels, rules),
    }
    return {
        name: (rank(scores, ranking.offsets, keys=ranking.keys), rules_of_it)
        for name, (scores, rules_of_it) in by_scores.items()
    }
