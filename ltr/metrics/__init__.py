"""How good a ranking is: one value per query first, the mean second, and every rule that made the number."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray, as_column
from ltr.errors import DataError, UsageError
from ltr.metrics import ranked
from ltr.metrics.judged import Judged, judge
from ltr.metrics.registry import MEASURES, Measure, all_named, measure, named
from ltr.ranking import NOWHERE, Ranking, Ties, chosen

__all__ = ["MEASURES", "MRR", "TOP1", "TOP3", "Evaluation", "Measure", "NoRelevant", "evaluate", "measure", "named"]

TOP1, TOP3, MRR = "top1_accuracy", "top3_accuracy", "mrr"
GAIN = "label"  # of dcg and ndcg; dcg_exp and ndcg_exp say by their name that theirs is 2^label - 1
measure(TOP1, "share of queries with a relevant candidate at rank 1", k=1)(ranked.hit)
measure(TOP3, "share of queries with a relevant candidate among the first 3", k=3)(ranked.hit)


class NoRelevant(StrEnum):
    """What a query without a relevant candidate counts."""

    SKIP = "skip"  # left out of the means, and counted
    ZERO = "zero"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The means, the values behind them, and the rules and counts that belong to both."""

    means: dict[str, float | None]  # None: no query could be scored
    values: dict[str, FloatArray]  # (queries,) each; NaN where the query is left out
    rank: IntArray  # (queries,): place of the best relevant candidate, 0 without one in the list
    tied: IntArray  # (queries,): other candidates with its score
    num_positives: IntArray  # (queries,): relevant candidates
    num_candidates: IntArray  # (queries,)
    ties: Ties
    rel_threshold: float
    no_relevant: NoRelevant
    num_queries: int  # in the means
    num_tied: int  # with a relevant candidate that shares its score
    num_no_relevant: int
    num_one_candidate: int
    gain: str = GAIN


def evaluate(
    ranking: Ranking,
    labels: npt.ArrayLike,
    metrics: Iterable[str] = (),
    *,
    ties: str = Ties.EXPECTED,
    rel_threshold: float = 1.0,
    no_relevant: str = NoRelevant.SKIP,
) -> Evaluation:
    """The named metrics of a ranking, after top1_accuracy, top3_accuracy and mrr.

    A candidate is relevant when its label reaches rel_threshold. Under `expected` the rank is the place the best
    relevant candidate takes when the others of its tie come first, so that rank 1 claims nothing by luck.

    >>> from ltr.ranking import rank
    >>> result = evaluate(rank([0.9, 0.5, 0.5, 0.1], [0, 4]), [0, 1, 0, 0], ["ndcg@3"])
    >>> result.means["mrr"], result.rank, result.tied  # (1/2 + 1/3) / 2
    (0.41666666666666663, array([3]), array([1]))
    """
    truth = as_column("labels", labels, ranking.offsets, least=0)
    rule, absent = chosen(Ties, "ties", ties), chosen(NoRelevant, "no_relevant", no_relevant)
    _refuse_threshold(rel_threshold)
    measures = {each.name: each for each in (*all_named((TOP1, TOP3, MRR)), *all_named(metrics))}
    judged = judge(ranking, truth, rule, rel_threshold)
    scored = judged.relevant > 0
    if absent is NoRelevant.ERROR and not scored.all():
        missing = int(np.argmin(scored))
        raise DataError(f"group {missing} has no label of {rel_threshold:g} or more, and no_relevant is 'error'")
    counted = scored if absent is NoRelevant.SKIP else np.ones_like(scored)
    values = {name: np.where(counted, np.where(scored, each(judged), 0.0), np.nan) for name, each in measures.items()}
    return _evaluation(judged, values, counted, ties=rule, rel_threshold=rel_threshold, no_relevant=absent)


def _evaluation(
    judged: Judged,
    values: dict[str, FloatArray],
    counted: BoolArray,
    *,
    ties: Ties,
    rel_threshold: float,
    no_relevant: NoRelevant,
) -> Evaluation:
    """The means of the counted queries, and everything that belongs to them."""
    return Evaluation(
        means={name: mean_or_none(column[counted]) for name, column in values.items()},
        values=values,
        rank=_best_rank(judged, ties),
        tied=np.maximum(judged.sharing - 1, 0),
        num_positives=judged.relevant,
        num_candidates=judged.sizes,
        ties=ties,
        rel_threshold=rel_threshold,
        no_relevant=no_relevant,
        num_queries=int(counted.sum()),
        num_tied=int(judged.tied.sum()),
        num_no_relevant=int((judged.relevant == 0).sum()),
        num_one_candidate=int((judged.sizes == 1).sum()),
    )


def _refuse_threshold(rel_threshold: float) -> None:
    """Raise unless the threshold is a finite number above 0."""
    is_number = isinstance(rel_threshold, Real) and not isinstance(rel_threshold, bool)
    if not is_number or not 0 < rel_threshold < np.inf:
        raise UsageError(f"rel_threshold is {rel_threshold!r}; it must be above 0")


def mean_or_none(values: FloatArray) -> float | None:
    """Mean of the values, or None when there are none."""
    return float(values.mean()) if values.size else None


def _best_rank(judged: Judged, ties: Ties) -> IntArray:
    first, place = judged.first, np.zeros(len(judged.sizes), dtype=np.int64)
    blocks = judged.blocks
    last = blocks.span - blocks.relevant if ties is Ties.EXPECTED else np.zeros_like(blocks.span)
    place[blocks.query[first]] = np.where(blocks.above < NOWHERE, blocks.above + last + 1, 0)[first]
    return place
