"""How good a ranking is: one value per query first, the mean second, and every rule that made the number."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from numbers import Real

import numpy as np
import numpy.typing as npt

from ltr.arrays import BoolArray, FloatArray, IntArray, as_column
from ltr.errors import DataError, UsageError
from ltr.evaluation.classification import FLOOR
from ltr.evaluation.metrics import MRR, TOP1, TOP3, ByQuery, Curve, Drawn, Measure, Pooled, all_named, as_names, named
from ltr.evaluation.probabilities import (
    AnyCandidates,
    CandidateCounts,
    CandidateProbabilities,
    Probability,
    candidate_probabilities,
)
from ltr.evaluation.ranking import Ranking, Ties, as_choice
from ltr.evaluation.ties import NOWHERE, TieBlocks, tie_blocks
from ltr.plugins import OURS, source_of
from ltr.sums import AddsUp

GAIN = "label"  # of dcg and ndcg; dcg_exp and ndcg_exp say by their name that theirs is 2^label - 1


# glibc hands large blocks back at once and asks for them again, page by page, until a block nearly this large was
# freed: then it keeps what arrays free for the next ones, up to 64 MB. No page of this one is touched.
REUSED_BYTES = (32 << 20) - (1 << 16)
NO_COLUMN = np.empty(0, dtype=np.int64)
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

    @property
    def measures(self) -> dict[str, Measure]:
        """The measures by name, after the three of every evaluation, each with its companions."""
        measures: dict[str, Measure] = {}
        for measure in all_named((TOP1, TOP3, MRR, *self.metrics)):
            measures[measure.name] = measure
            measures |= {name: named(name) for name in COMPANIONS.get(measure.name, ())}
        return measures

    def refuse_parts(self) -> None:
        """Raise for a measure of a plug-in that takes all candidates at once: of parts nothing adds up."""
        for measure in self.measures.values():
            if not measure.by_query and source_of(measure.function) != OURS:
                problem = "takes all candidates at once, and shards are in memory one by one: name files"
                raise UsageError(f"metric {measure.name!r} {problem}")


@dataclass(frozen=True, slots=True)
class Sum:
    """The sum of a metric over the queries that it is defined for, and how many they are."""

    total: float
    number: int

    @classmethod
    def of(cls, values: FloatArray) -> "Sum":
        """Sum up a column, where NaN leaves a query out."""
        defined = values[~np.isnan(values)]
        return cls(float(defined.sum()), defined.size)

    def __add__(self, other: "Sum") -> "Sum":
        return Sum(self.total + other.total, self.number + other.number)

    @property
    def mean(self) -> float | None:
        """Their mean; None of no query."""
        return self.total / self.number if self.number else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation(AddsUp):
    """The means, the values behind them, and the rules and counts that belong to both; two add up.

    A mean of several parts is that of all their values, or the sum of their sums where values are not kept. Measures
    over candidates are made of counts that add up, so that auc and roc are no longer exact (`error_bounds`).
    """

    rules: Rules  # with every metric computed, and the greatest grade
    means: dict[str, float | None]  # of all measures; None: no query could be scored
    values: dict[str, FloatArray]  # (queries,) each; NaN: the query is left out; pooled measures have none
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
    sums: dict[str, Sum]  # of the measures with a value for each query
    counted: CandidateCounts | None = None  # of a part: what measures over candidates are made of
    parts: int = 1  # with a query

    @property
    def error_bounds(self) -> dict[str, float]:
        """How far each measure that is counted in bins can be from the exact value."""
        bounds = {} if self.counted is None else self.counted.error_bounds
        return {name: bound for name, bound in bounds.items() if name in self.rules.metrics}

    def candidates(self, ranking: Ranking, labels: FloatArray) -> CandidateProbabilities:
        """Return the candidates of the queries that count, of the ranking and labels that were evaluated."""
        return _candidates(self.rules, ranking, labels, ~np.isnan(self.values[TOP1]))

    def with_counts(self, ranking: Ranking, labels: FloatArray) -> "Evaluation":
        """Return the evaluation with the counts of its candidates, whatever measures there are."""
        return replace(self, counted=self.counted or CandidateCounts.of(self.candidates(ranking, labels)))

    def light(self, keep: Collection[str] = ()) -> "Evaluation":
        """Return the sums and counts without columns, but for the values of the metrics to keep."""
        return replace(
            self,
            values={name: column for name, column in self.values.items() if name in keep},
            rank=NO_COLUMN,
            tied=NO_COLUMN,
            num_positives=NO_COLUMN,
            num_found=NO_COLUMN,
            num_candidates=NO_COLUMN,
        )

    def with_values(self, values: Mapping[str, FloatArray]) -> "Evaluation":
        """Return the evaluation with more metrics, by their values."""
        sums = {name: Sum.of(column) for name, column in values.items()}
        means = {name: of.mean for name, of in sums.items()}
        return replace(self, values={**self.values, **values}, sums=self.sums | sums, means=self.means | means)

    def settled(self) -> "Evaluation":
        """Return the evaluation with the means and curves of what was added up."""
        measures = self.rules.measures
        if self.counted is None and not all(measure.by_query for measure in measures.values()):
            raise UsageError("measures over candidates add up where they were counted: evaluate each part as a part")
        are_kept = self.values.keys() >= self.sums.keys()
        sums = {name: Sum.of(self.values[name]) for name in self.sums} if are_kept else self.sums
        means, curves = _means(measures, sums, self.counted)
        return replace(self, sums=sums, means=means, curves=curves)


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

    >>> from ltr.evaluation import rank
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


def evaluate_by(ranking: Ranking, labels: npt.ArrayLike, rules: Rules, *, is_part: bool = False) -> Evaluation:
    """The metrics of a ranking by these rules; of a part, those over candidates are made of counts that add up."""
    checked = as_column("labels", labels, ranking.offsets, least=0)
    measures = rules.measures
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
        candidates = _candidates(rules, ranking, checked, counted)
    values = _values(measures, blocks, candidates, counted)
    are_pooled = not all(measure.by_query for measure in measures.values())
    counts = CandidateCounts.of(candidates) if is_part and are_pooled and candidates is not None else None
    sums = {name: Sum.of(column) for name, column in values.items()}
    means, curves = _means(measures, sums, counts if is_part else candidates)
    ranked, first = blocks.ranked, blocks.first
    best, is_listed = ranked.query[first], ranked.above < NOWHERE
    rank, tied = np.zeros((2, len(blocks.sizes)), dtype=np.int64)
    rank[best] = np.where(is_listed, ranked.above + ranked.span - ranked.relevant + 1, 0)[first]
    tied[best] = ranked.sharing[first] - 1
    shares = (ranked.relevant > 0) & (ranked.sharing > 1)
    return Evaluation(
        rules=replace(rules, metrics=tuple(measures), max_grade=max_grade),
        means=means,
        values=values,
        curves=curves,
        rank=rank,
        tied=tied,
        num_positives=blocks.relevant,
        num_found=blocks.per_query(ranked.query, np.where(is_listed, ranked.relevant, 0)).astype(np.int64),
        num_candidates=blocks.sizes,
        num_queries=int(counted.sum()),
        num_tied=int(np.count_nonzero(np.bincount(ranked.query[shares]))),
        num_no_relevant=int((blocks.relevant == 0).sum()),
        num_one_candidate=int((blocks.sizes == 1).sum()),
        sums=sums,
        counted=counts,
        parts=int(len(blocks.sizes) > 0),
    )


def _candidates(rules: Rules, ranking: Ranking, labels: FloatArray, counted: BoolArray) -> CandidateProbabilities:
    right = labels >= rules.rel_threshold
    return candidate_probabilities(ranking, right, counted, rules.threshold, rules.probability)


def _values(
    measures: Mapping[str, Measure], blocks: TieBlocks, candidates: CandidateProbabilities | None, counted: BoolArray
) -> dict[str, FloatArray]:
    """Return the column of each measure that has one; a query that does not count is NaN."""
    columns: dict[str, FloatArray] = {}
    computed: dict[object, FloatArray] = {}  # top1_accuracy is hit@1
    for name, measure in measures.items():
        if not measure.by_query:
            continue
        formula = (measure.function, measure.k, measure.options)
        if formula in computed:
            values = computed[formula].copy()
        elif candidates is not None and isinstance(measure, ByQuery):
            values = np.full(len(counted), np.nan)
            values[counted] = measure.of(candidates)
        else:
            values = np.where(counted, np.where(blocks.relevant > 0, measure(blocks), 0.0), np.nan)
        computed[formula] = columns[name] = values
    return columns


def _means(
    measures: Mapping[str, Measure], sums: Mapping[str, Sum], candidates: AnyCandidates | None
) -> tuple[dict[str, float | None], dict[str, Curve]]:
    """Return the means and the curves, those of the measures in their order first."""
    means: dict[str, float | None] = {}
    curves: dict[str, Curve] = {}
    for name, measure in measures.items():
        if isinstance(measure, Pooled) and candidates is not None:
            means |= measure.of(candidates)
        elif isinstance(measure, Drawn) and candidates is not None:
            curves[name] = measure.of(candidates)
        elif name in sums:
            means[name] = sums[name].mean
    return means | {name: of.mean for name, of in sums.items() if name not in means}, curves


def _above_zero(argument: str, value: float) -> float:
    """The value, a finite number above 0."""
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not 0 < value < np.inf:
        raise UsageError(f"{argument} is {value!r}; it must be above 0")
    return value
