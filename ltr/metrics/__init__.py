"""How good a ranking is: one value per query first, the mean second, and every rule that made the number."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from numbers import Real

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray, as_column, keep_freed_memory
from ltr.errors import DataError, UsageError
from ltr.metrics import classified, ranked
from ltr.metrics.cascade import stop_probabilities
from ltr.metrics.judged import Judged, judge
from ltr.metrics.probable import Probable, probable
from ltr.metrics.registry import (
    MEASURES,
    ByQuery,
    Curve,
    Drawn,
    Measure,
    Pooled,
    all_named,
    example_names,
    measure,
    named,
)
from ltr.places import NOWHERE
from ltr.ranking import Ranking, Ties, chosen

__all__ = [
    "MEASURES",
    "MRR",
    "TOP1",
    "TOP3",
    "Curve",
    "Drawn",
    "Evaluation",
    "Measure",
    "NoRelevant",
    "Pooled",
    "all_named",
    "evaluate",
    "example_names",
    "measure",
    "named",
    "stop_probabilities",
]

TOP1, TOP3, MRR = "top1_accuracy", "top3_accuracy", "mrr"
GAIN = "label"  # of dcg and ndcg; dcg_exp and ndcg_exp say by their name that theirs is 2^label - 1
measure(TOP1, "share of queries with a relevant candidate at rank 1", k=1)(ranked.hit)
measure(TOP3, "share of queries with a relevant candidate among the first 3", k=3)(ranked.hit)
COMPANIONS = {"logloss": (classified.FLOOR,)}  # what a number cannot be read without


class NoRelevant(StrEnum):
    """What a query without a relevant candidate counts."""

    SKIP = "skip"  # left out of the means, and counted
    ZERO = "zero"
    ERROR = "error"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The rules that make the numbers."""

    ties: Ties
    rel_threshold: float
    no_relevant: NoRelevant
    threshold: float  # of the probability, for measures that choose candidates
    max_grade: float  # the greatest label there can be


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(Rules):
    """The means, the values behind them, and the rules and counts that belong to both."""

    means: dict[str, float | None]  # None: no query could be scored; with what is pooled over candidates
    values: dict[str, FloatArray]  # (queries,) each; NaN where the query is left out; nothing of what is pooled
    curves: dict[str, Curve]  # of measures that are no number
    rank: IntArray  # (queries,): place of the best relevant candidate, 0 without one in the list
    tied: IntArray  # (queries,): other candidates with its score
    num_positives: IntArray  # (queries,): relevant candidates
    num_found: IntArray  # (queries,): those of them that are in the list
    num_candidates: IntArray  # (queries,): in the list
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
    threshold: float = 0.5,
    max_grade: float | None = None,
) -> Evaluation:
    """The named metrics of a ranking, after top1_accuracy, top3_accuracy and mrr.

    A candidate is relevant when its label reaches rel_threshold. Under `expected` the rank is the place the best
    relevant candidate takes when the others of its tie come first, so that rank 1 claims nothing by luck.
    Measures over candidates take the softmax of a query's scores as probabilities, and choose those >= threshold.
    max_grade is the greatest label there can be, for err; without it the greatest there is, at least 1.

    >>> from ltr.ranking import rank
    >>> result = evaluate(rank([0.9, 0.5, 0.5, 0.1], [0, 4]), [0, 1, 0, 0], ["ndcg@3"])
    >>> result.means["mrr"], result.rank, result.tied  # (1/2 + 1/3) / 2
    (0.41666666666666663, array([3]), array([1]))
    """
    truth = as_column("labels", labels, ranking.offsets, least=0)
    rules = Rules(
        ties=chosen(Ties, "ties", ties),
        rel_threshold=_above_zero("rel_threshold", rel_threshold),
        no_relevant=chosen(NoRelevant, "no_relevant", no_relevant),
        threshold=_above_zero("threshold", threshold),
        max_grade=max(float(truth.max(initial=0)), 1.0) if max_grade is None else _above_zero("max_grade", max_grade),
    )
    measures = _measures(metrics)
    keep_freed_memory()
    judged = judge(ranking, truth, rules.ties, rules.rel_threshold, max_grade=rules.max_grade)
    counted = _counted(judged, rules)
    candidates = None
    if any(type(each) is not Measure for each in measures.values()):
        candidates = probable(ranking, truth >= rules.rel_threshold, counted, rules.threshold)
    return _evaluation(judged, candidates, counted, measures, rules=rules)


def _measures(metrics: Iterable[str]) -> dict[str, Measure]:
    """The measures by their own names: the headline, those asked for, and what belongs to them."""
    found: dict[str, Measure] = {}
    for each in (*all_named((TOP1, TOP3, MRR)), *all_named(metrics)):
        found[each.name] = each
        found |= {name: named(name) for name in COMPANIONS.get(each.name, ())}
    return found


def _counted(judged: Judged, rules: Rules) -> BoolArray:
    """Which queries the numbers count."""
    scored = judged.relevant > 0
    if rules.no_relevant is NoRelevant.ERROR and not scored.all():
        missing = int(np.argmin(scored))
        raise DataError(f"group {missing} has no label of {rules.rel_threshold:g} or more, and no_relevant is 'error'")
    return scored if rules.no_relevant is NoRelevant.SKIP else np.ones_like(scored)


def _evaluation(
    judged: Judged,
    candidates: Probable | None,
    counted: BoolArray,
    measures: Mapping[str, Measure],
    *,
    rules: Rules,
) -> Evaluation:
    """The means of the counted queries, and everything that belongs to them."""
    values, means, curves = _numbers(judged, candidates, counted, measures)
    return Evaluation(
        means=means,
        values=values,
        curves=curves,
        rank=_best_rank(judged, rules.ties),
        tied=np.maximum(judged.sharing - 1, 0),
        num_positives=judged.relevant,
        num_found=judged.found,
        num_candidates=judged.sizes,
        ties=rules.ties,
        rel_threshold=rules.rel_threshold,
        no_relevant=rules.no_relevant,
        threshold=rules.threshold,
        max_grade=rules.max_grade,
        num_queries=int(counted.sum()),
        num_tied=int(judged.tied.sum()),
        num_no_relevant=int((judged.relevant == 0).sum()),
        num_one_candidate=int((judged.sizes == 1).sum()),
    )


def _numbers(
    judged: Judged, candidates: Probable | None, counted: BoolArray, measures: Mapping[str, Measure]
) -> tuple[dict[str, FloatArray], dict[str, float | None], dict[str, Curve]]:
    """The values, means and curves of the measures, in their order."""
    values: dict[str, FloatArray] = {}
    same: dict[object, FloatArray] = {}  # top1_accuracy is hit@1
    means: dict[str, float | None] = {}
    curves: dict[str, Curve] = {}
    for name, each in measures.items():
        if candidates is not None and isinstance(each, Pooled):
            means |= each.of(candidates)
        elif candidates is not None and isinstance(each, Drawn):
            curves[name] = each.of(candidates)
        else:
            known = same.get((each.function, each.k))
            values[name] = _by_query(judged, candidates, counted, each) if known is None else known.copy()
            same[each.function, each.k] = values[name]
            means[name] = mean_or_none(values[name][~np.isnan(values[name])])
    return values, means, curves


def _by_query(judged: Judged, candidates: Probable | None, counted: BoolArray, measure: Measure) -> FloatArray:
    """One value a query, NaN where it is left out."""
    values = np.full(len(counted), np.nan)
    if candidates is not None and isinstance(measure, ByQuery):
        values[counted] = measure.of(candidates)
    else:
        np.copyto(values, np.where(judged.relevant > 0, measure(judged), 0.0), where=counted)
    return values


def _above_zero(argument: str, value: float) -> float:
    """The value, a finite number above 0."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < value < np.inf:
        raise UsageError(f"{argument} is {value!r}; it must be above 0")
    return value


def mean_or_none(values: FloatArray) -> float | None:
    """Mean of the values, or None when there are none."""
    return float(values.mean()) if values.size else None


def _best_rank(judged: Judged, ties: Ties) -> IntArray:
    first, place = judged.first, np.zeros(len(judged.sizes), dtype=np.int64)
    blocks = judged.blocks
    last = blocks.span - blocks.relevant if ties is Ties.EXPECTED else np.zeros_like(blocks.span)
    place[blocks.query[first]] = np.where(blocks.above < NOWHERE, blocks.above + last + 1, 0)[first]
    return place
