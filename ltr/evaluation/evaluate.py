"""How good a ranking is: one value per query first, the mean second, and every rule that made the number."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from numbers import Real

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray, as_column
from ltr.errors import DataError, UsageError
from ltr.evaluation.metrics.candidate_probabilities import CandidateProbabilities, Probability, candidate_probabilities
from ltr.evaluation.metrics.classification_measures import FLOOR
from ltr.evaluation.metrics.ranking_measures import MRR, TOP1, TOP3
from ltr.evaluation.metrics.registry import ByQuery, Curve, Drawn, Measure, Pooled, all_named, as_names, named
from ltr.evaluation.metrics.tie_blocks import TieBlocks, tie_blocks
from ltr.evaluation.ranking import Ranking, Ties, as_choice
from ltr.evaluation.tied_ranks import NOWHERE

GAIN = "label"  # of dcg and ndcg; dcg_exp and ndcg_exp say by their name that theirs is 2^label - 1
# glibc hands large blocks back at once and asks for them again, page by page, until a block nearly this large was
# freed: then it keeps what arrays free for the next ones, up to 64 MB. No page of this one is touched.
REUSED_BYTES = (32 << 20) - (1 << 16)
COMPANIONS = {"logloss": (FLOOR,)}  # what a number cannot be read without


class NoRelevant(StrEnum):
    """What a query without a relevant candidate counts."""

    SKIP = "skip"  # left out of the means, and counted
    ZERO = "zero"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class Rules:
    """What an evaluation computes, and by which rules."""

    metrics: tuple[str, ...] = ()  # beside top1_accuracy, top3_accuracy and mrr
    ties: Ties = Ties.EXPECTED
    rel_threshold: float = 1.0  # the least label of a relevant candidate
    no_relevant: NoRelevant = NoRelevant.SKIP
    threshold: float = 0.5  # of the probability, for measures that choose candidates
    max_grade: float | None = None  # the greatest label there can be; None: the greatest there is, at least 1
    probability: Probability = Probability.SOFTMAX  # of a candidate, for measures over candidates
    gain: str = field(default=GAIN, init=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """The means, the values behind them, and the rules and counts that belong to both."""

    rules: Rules  # with every metric computed, and the greatest grade
    means: dict[str, float | None]  # of all measures; None: no query could be scored
    values: dict[
        str, FloatArray
    ]  # (queries,) each; NaN: the query is left out; measures pooled over candidates have none
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


@dataclass(frozen=True, slots=True)
class _Numbers:
    """What the measures of an evaluation say."""

    means: dict[str, float | None]
    values: dict[str, FloatArray]
    curves: dict[str, Curve]


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
    probability: str = Probability.SOFTMAX,
) -> Evaluation:
    """The named metrics of a ranking, after top1_accuracy, top3_accuracy and mrr.

    A candidate is relevant when its label reaches rel_threshold. Under `expected` the rank is the place the best
    relevant candidate takes when the others of its tie come first, so that rank 1 claims nothing by luck.
    Measures over candidates take the softmax of a query's scores as probabilities, or the scores themselves (given),
    or the sigmoid of each; those >= threshold are chosen.
    max_grade is the greatest label there can be, for err; without it the greatest there is, at least 1.

    >>> from ltr.evaluation.ranking import rank
    >>> result = evaluate(rank([0.9, 0.5, 0.5, 0.1], [0, 4]), [0, 1, 0, 0], ["ndcg@3"])
    >>> result.means["mrr"], result.rank, result.tied  # (1/2 + 1/3) / 2
    (0.41666666666666663, array([3]), array([1]))
    """
    rules = Rules(
        metrics=as_names(metrics),
        ties=as_choice(Ties, "ties", ties),
        rel_threshold=_above_zero("rel_threshold", rel_threshold),
        no_relevant=as_choice(NoRelevant, "no_relevant", no_relevant),
        threshold=_above_zero("threshold", threshold),
        max_grade=None if max_grade is None else _above_zero("max_grade", max_grade),
        probability=as_choice(Probability, "probability", probability),
    )
    return evaluate_by(ranking, labels, rules)


def evaluate_by(ranking: Ranking, labels: npt.ArrayLike, rules: Rules) -> Evaluation:
    """The metrics of a ranking by these rules."""
    checked = as_column("labels", labels, ranking.offsets, least=0)
    measures = asked_measures(rules)
    max_grade = max(float(checked.max(initial=0)), 1.0) if rules.max_grade is None else rules.max_grade
    np.empty(REUSED_BYTES, dtype=np.uint8)
    blocks = tie_blocks(ranking, checked, rules.ties, rules.rel_threshold, max_grade=max_grade)
    has_relevant = blocks.relevant > 0
    if rules.no_relevant is NoRelevant.ERROR and not has_relevant.all():
        missing = int(np.argmin(has_relevant))
        raise DataError(f"group {missing} has no label of {rules.rel_threshold:g} or more, and no_relevant is 'error'")
    counted = has_relevant if rules.no_relevant is NoRelevant.SKIP else np.ones_like(has_relevant)
    candidates = None
    if any(type(measure) is not Measure for measure in measures.values()):
        right = checked >= rules.rel_threshold
        candidates = candidate_probabilities(ranking, right, counted, rules.threshold, rules.probability)
    numbers = _numbers(measures, blocks, candidates, counted)
    return _evaluation(numbers, blocks, counted, replace(rules, metrics=tuple(measures), max_grade=max_grade))


def asked_measures(rules: Rules) -> dict[str, Measure]:
    """The measures of the rules by name, after the three of every evaluation, each with its companions."""
    measures: dict[str, Measure] = {}
    for measure in all_named((TOP1, TOP3, MRR, *rules.metrics)):
        measures[measure.name] = measure
        measures |= {name: named(name) for name in COMPANIONS.get(measure.name, ())}
    return measures


def _numbers(
    measures: Mapping[str, Measure], blocks: TieBlocks, candidates: CandidateProbabilities | None, counted: BoolArray
) -> _Numbers:
    """What the measures say, in their order; a query that does not count is NaN."""
    numbers = _Numbers({}, {}, {})
    computed: dict[object, FloatArray] = {}  # top1_accuracy is hit@1
    for name, measure in measures.items():
        if candidates is not None and isinstance(measure, Pooled):
            numbers.means.update(measure.of(candidates))
            continue
        if candidates is not None and isinstance(measure, Drawn):
            numbers.curves[name] = measure.of(candidates)
            continue
        formula = (measure.function, measure.k, measure.options)
        if formula in computed:
            values = computed[formula].copy()
        elif candidates is not None and isinstance(measure, ByQuery):
            values = np.full(len(counted), np.nan)
            values[counted] = measure.of(candidates)
        else:
            values = np.where(counted, np.where(blocks.relevant > 0, measure(blocks), 0.0), np.nan)
        computed[formula] = numbers.values[name] = values
        defined = values[~np.isnan(values)]
        numbers.means[name] = float(defined.mean()) if defined.size else None
    return numbers


def _evaluation(numbers: _Numbers, blocks: TieBlocks, counted: BoolArray, rules: Rules) -> Evaluation:
    """The numbers with the counts that belong to them."""
    ranked, first = blocks.ranked, blocks.first
    best, is_listed = ranked.query[first], ranked.above < NOWHERE
    rank, tied = np.zeros((2, len(blocks.sizes)), dtype=np.int64)
    rank[best] = np.where(is_listed, ranked.above + ranked.span - ranked.relevant + 1, 0)[first]
    tied[best] = ranked.sharing[first] - 1
    shares = (ranked.relevant > 0) & (ranked.sharing > 1)
    return Evaluation(
        rules=rules,
        means=numbers.means,
        values=numbers.values,
        curves=numbers.curves,
        rank=rank,
        tied=tied,
        num_positives=blocks.relevant,
        num_found=blocks.per_query(ranked.query, np.where(is_listed, ranked.relevant, 0)).astype(np.int64),
        num_candidates=blocks.sizes,
        num_queries=int(counted.sum()),
        num_tied=int(np.count_nonzero(np.bincount(ranked.query[shares]))),
        num_no_relevant=int((blocks.relevant == 0).sum()),
        num_one_candidate=int((blocks.sizes == 1).sum()),
    )


def _above_zero(argument: str, value: float) -> float:
    """The value, a finite number above 0."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < value < np.inf:
        raise UsageError(f"{argument} is {value!r}; it must be above 0")
    return value
