"""What a trained w must beat: random order, rankings that need no training, a column alone, w = 1; and the oracle."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.evaluation.evaluation import Evaluation, Rules, evaluate_by
from ltr.evaluation.metrics import MRR, TOP1
from ltr.evaluation.ranking import Ranking, Ties, rank


@dataclass(frozen=True, slots=True)
class BestFeature:
    """The column that ranks the training groups best by itself; sign -1: its smallest value comes first."""

    name: str
    sign: int


class Baseline:
    """The names of the baselines, and what they are called."""

    RANDOM = "random"
    OFFERED = "offered"
    MOST_USED = "most_used"
    BM25 = "bm25"
    SIMILARITY = "similarity"
    BEST_FEATURE = "best_feature"
    UNTRAINED = "untrained"
    ORACLE = "oracle"
    NEED_NO_TRAINING: ClassVar[tuple[str, ...]] = (OFFERED, MOST_USED, BM25, SIMILARITY)
    COMPARED: ClassVar[tuple[str, ...]] = (*NEED_NO_TRAINING, BEST_FEATURE)  # with one of them a result is compared
    TITLES: ClassVar[dict[str, str]] = {  # in this order
        RANDOM: "random order",
        OFFERED: "offered order",
        MOST_USED: "most used",
        BM25: "BM25",
        SIMILARITY: "similarity",
        BEST_FEATURE: "best single column",
        UNTRAINED: "untrained, w = 1",
        ORACLE: "oracle",
    }

    @classmethod
    def title(cls, name: str, best: BestFeature | None) -> str:
        """Return what a baseline is called; of the best single column also which it is.

        >>> Baseline.title("best_feature", BestFeature("tool.rel", -1)), Baseline.title("bm25", None)
        ('best single column -tool.rel', 'BM25')
        """
        title = cls.TITLES.get(name, name)
        if name != cls.BEST_FEATURE or best is None:
            return title
        return f"{title} {'-' if best.sign < 0 else ''}{best.name}"


def best_baseline(top1: Mapping[str, float], left_out: Mapping[str, str]) -> str:
    """Return the ranking without training that has the greatest Top-1, the first of equals, or the best single column.

    The column stands in where nothing but the order of the samples could be measured: a file may list its candidates
    in any order, so that to beat it says nothing.

    >>> best_baseline({"offered": 0.2, "bm25": 0.5, "similarity": 0.4}, {})
    'bm25'
    >>> best_baseline({"offered": 0.2}, {"bm25": "no texts"})
    'best_feature'
    """
    compared = {name: top1[name] for name in Baseline.NEED_NO_TRAINING if name in top1 and name not in left_out}
    return max(compared, key=compared.__getitem__) if compared.keys() - {Baseline.OFFERED} else Baseline.BEST_FEATURE


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
    for name, column in zip(names, phi.T, strict=True):
        for sign in (1, -1):
            yield BestFeature(name, sign), alone_in_training(sign * column, labels, offsets)


def alone_in_training(scores: FloatArray, labels: FloatArray, offsets: IntArray) -> Evaluation:
    """Evaluate scores as a choice among them is made: every label above 0 is right."""
    return evaluate_by(rank(scores, offsets), (labels > 0).astype(float), Rules())


def baseline_rankings(
    scores: Mapping[str, FloatArray], labels: FloatArray, ranking: Ranking, rules: Rules
) -> dict[str, tuple[Ranking, Rules]]:
    """Return other rankings of the candidates that `ranking` ranks, and the rules that they are measured by.

    They are random order (exactly, as one great tie), those of the scores, and the labels.
    """
    by_scores = {Baseline.RANDOM: np.zeros(len(labels)), **scores, Baseline.ORACLE: labels}
    expected = replace(rules, ties=Ties.EXPECTED)
    return {
        name: (
            rank(by_scores[name], ranking.offsets, keys=ranking.keys),
            expected if name == Baseline.RANDOM else rules,
        )
        for name in Baseline.TITLES
        if name in by_scores
    }
