"""Single queries taken apart: what each feature added to the candidate that was right, and to the one before it."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ltr.arrays import BoolArray, IntArray
from ltr.data.candidates import candidate_text
from ltr.evaluation.metrics.ranking_measures import TOP1
from ltr.evaluation.ranking import order
from ltr.results.evaluated_ranking import EvaluatedRanking, best_relevant
from ltr.serving.router import Router
from ltr.training.softmax import softmax


@dataclass(frozen=True, slots=True)
class Side:
    """One of two candidates that are compared."""

    role: str
    candidate: str
    contributions: dict[str, float]  # of each feature to the score


@dataclass(frozen=True, slots=True)
class Explanation:
    """A query, the two candidates that explain it, and where the right one stood."""

    query: str
    sides: tuple[Side, Side]
    rank: int
    num_candidates: int
    probability: float  # of the right candidate


def wrong(evaluated: EvaluatedRanking, router: Router, most: int) -> tuple[int, list[Explanation]]:
    """How many queries went wrong, and those with the least trust in the right candidate beside what came first."""
    listed = order(evaluated.ranking, evaluated.evaluation.rules.ties)
    firsts = listed[evaluated.groups.offsets[:-1]]
    is_wrong = evaluated.evaluation.rank > 1
    return _explained(evaluated, router, is_wrong, ("first", firsts), most=most, urgency=lambda p: p)


def rescued(evaluated: EvaluatedRanking, router: Router, most: int) -> tuple[int, list[Explanation]]:
    """How many queries are right where the best baseline is wrong, and the surest beside what it would choose."""
    if evaluated.best_baseline is None or evaluated.compared is None:
        return 0, []
    firsts = order(evaluated.compared, evaluated.evaluation.rules.ties)[evaluated.groups.offsets[:-1]]
    return _explained(evaluated, router, is_rescued(evaluated), ("baseline", firsts), most=most, urgency=lambda p: -p)


def is_rescued(evaluated: EvaluatedRanking) -> BoolArray:
    """Whether each query is right, and the best baseline is wrong there."""
    if evaluated.best_baseline is None:
        return np.zeros(len(evaluated.evaluation.rank), dtype=bool)
    by_baseline = evaluated.baselines[evaluated.best_baseline].values[TOP1]
    is_so: BoolArray = (evaluated.evaluation.rank == 1) & (by_baseline == 0)
    return is_so


def _explained(
    evaluated: EvaluatedRanking,
    router: Router,
    chosen: BoolArray,
    other: tuple[str, IntArray],
    *,
    most: int,
    urgency: Callable[[float], float],
) -> tuple[int, list[Explanation]]:
    """How many queries are chosen, and the most urgent of them, each with the other candidate and the right one."""
    role, other_rows = other
    candidates, evaluation = evaluated.groups.candidates, evaluated.evaluation
    right_rows = best_relevant(evaluated, order(evaluated.ranking, evaluation.rules.ties))
    probabilities = softmax(evaluated.ranking.scores, evaluated.groups.offsets)
    groups = sorted(np.flatnonzero(chosen).tolist(), key=lambda group: urgency(float(probabilities[right_rows[group]])))

    def side(role: str, row: int) -> Side:
        contributions = router.named_contributions(evaluated.phi[row]) if row >= 0 else {}
        return Side(role, candidate_text(candidates, row), contributions)

    return len(groups), [
        Explanation(
            candidates.query_texts[candidates.queries[group]],
            (side(role, int(other_rows[group])), side("right", int(right_rows[group]))),
            int(evaluation.rank[group]),
            int(evaluation.num_candidates[group]),
            float(probabilities[right_rows[group]]),
        )
        for group in groups[:most]
    ]
