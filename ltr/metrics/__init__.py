"""How good a ranking is: one value per query first, the mean second, and every rule that made the number."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from ltr.arrays import FloatArray, IntArray, as_column
from ltr.errors import DataError, UsageError
from ltr.metrics import ranked
from ltr.metrics.judged import Judged, judge
from ltr.metrics.registry import MEASURES, Measure, measure, named
from ltr.ranking import NOWHERE, Ranking, Ties

__all__ = ["MEASURES", "MRR", "TOP1", "TOP3", "Evaluation", "Measure", "NoRelevant", "evaluate", "measure", "named"]

Choice = TypeVar("Choice", bound=StrEnum)
TOP1, TOP3, MRR = "top1_accuracy", "top3_accuracy", "mrr"
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
    if not 0 < rel_threshold < np.inf:
        raise UsageError(f"rel_threshold is {rel_threshold}; it must be above 0")
    judged = judge(ranking, truth, rule, rel_threshold)
    scored = judged.relevant > 0
    if absent is NoRelevant.ERROR and not scored.all():
        missing = int(np.argmin(scored))
        raise DataError(f"group {missing} has no label of {rel_threshold:g} or more, and no_relevant is 'error'")
    counted = scored if absent is NoRelevant.SKIP else np.ones_like(scored)
    measures = [named(name) for name in dict.fromkeys((TOP1, TOP3, MRR, *metrics))]
    values = {each.name: np.where(counted, np.where(scored, each(judged), 0.0), np.nan) for each in measures}
    return Evaluation(
        means={name: mean_or_none(column[counted]) for name, column in values.items()},
        values=values,
        rank=_best_rank(judged, rule),
        tied=np.maximum(judged.level - 1, 0),
        num_positives=judged.relevant,
        num_candidates=judged.sizes,
        ties=rule,
        rel_threshold=rel_threshold,
        no_relevant=absent,
        num_queries=int(counted.sum()),
        num_tied=int(judged.tied.sum()),
        num_no_relevant=int((~scored).sum()),
        num_one_candidate=int((judged.sizes == 1).sum()),
    )


def mean_or_none(values: FloatArray) -> float | None:
    """Mean of the values, or None when there are none."""
    return float(values.mean()) if values.size else None


def _best_rank(judged: Judged, ties: Ties) -> IntArray:
    first, place = judged.first, np.zeros(len(judged.sizes), dtype=np.int64)
    blocks = judged.blocks
    last = blocks.span - blocks.relevant if ties is Ties.EXPECTED else np.zeros_like(blocks.span)
    place[blocks.query[first]] = np.where(blocks.above < NOWHERE, blocks.above + last + 1, 0)[first]
    return place


def chosen(choices: type[Choice], argument: str, name: str) -> Choice:
    """The member of that name, or an error that lists them all."""
    if name not in set(choices):
        raise UsageError(f"{argument} {name!r} is not one of {', '.join(choices)}")
    return choices(name)
