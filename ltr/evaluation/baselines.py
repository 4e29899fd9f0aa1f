"""What a trained w must beat: random order, the best single feature, w = 1; and what nothing can beat."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.evaluation.evaluate import Evaluation, Rules, evaluate_by
from ltr.evaluation.metrics.ranked import MRR, TOP1
from ltr.evaluation.ranking import BestFeature, Ranking, Ties, linear_scores, rank

BASELINES = ("random", "best_feature", "untrained", "oracle")


def best_feature(names: Sequence[str], phi: FloatArray, labels: FloatArray, offsets: IntArray) -> BestFeature:
    """The column and sign with the greatest MRR on these groups, then the greatest Top-1; the first of equals.

    >>> best_feature(["a", "b"], np.array([[0.0, 1.0], [0.0, 3.0]]), np.array([1.0, 0.0]), np.array([0, 2]))
    BestFeature(name='b', sign=-1)
    """
    relevant = (labels > 0).astype(float)
    qualities: dict[BestFeature, tuple[float, float]] = {}
    for name, column in zip(names, phi.T, strict=True):
        for sign in (1, -1):
            means = evaluate_by(rank(sign * column, offsets), relevant, Rules()).means
            qualities[BestFeature(name, sign)] = (means[MRR] or 0.0, means[TOP1] or 0.0)
    return max(qualities, key=qualities.__getitem__)


def baselines(
    phi: FloatArray, labels: FloatArray, ranking: Ranking, rules: Rules, *, best: BestFeature, names: Sequence[str]
) -> dict[str, Evaluation]:
    """The metrics of other rankings of the candidates that `ranking` ranks, by the same rules.

    They are random order (exactly, as one great tie), the best feature, w = 1, and the labels.
    """
    by_scores = {
        "random": (np.zeros(len(labels)), replace(rules, ties=Ties.EXPECTED)),
        "best_feature": (best.sign * phi[:, list(names).index(best.name)], rules),
        "untrained": (linear_scores(phi, np.ones(len(names))), rules),
        "oracle": (labels, rules),
    }
    evaluations = {}
    for name, (scores, rules_of_it) in by_scores.items():
        by_score = rank(scores, ranking.offsets, keys=ranking.keys)
        evaluations[name] = evaluate_by(by_score, labels, rules_of_it)
    return evaluations
