"""A ranking of labelled groups with all that is known about it: metrics, intervals, baselines, breakdown."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.config.run import RunConfig
from ltr.data.candidates import Past, key_order
from ltr.data.fingerprint import fingerprint
from ltr.data.groups import Groups
from ltr.data.previous_tools import past_of
from ltr.data.value_excerpts import excerpt
from ltr.errors import DataError, UsageError
from ltr.evaluation.abstention_measures import AbstentionMeasures
from ltr.evaluation.baselines import BEST_FEATURE, baseline_title
from ltr.evaluation.best_single_feature import BestFeature
from ltr.evaluation.bootstrap import Interval, bootstrap_difference, intervals, resampled_units
from ltr.evaluation.evaluate import Evaluation, Rules, evaluate_by
from ltr.evaluation.metrics.candidate_probabilities import CandidateProbabilities, candidate_probabilities
from ltr.evaluation.metrics.classification_counts import AnyCandidates
from ltr.evaluation.metrics.presets import PresetName
from ltr.evaluation.metrics.ranking_measures import MRR, TOP1
from ltr.evaluation.metrics.registry import Curve
from ltr.evaluation.none_of_these_measures import NoneMeasures
from ltr.evaluation.ranking import Ranking, Ties, rank
from ltr.files.path_arguments import AnyPath
from ltr.results.breakdown import Breakdown, break_down
from ltr.results.evaluation_rules import rules
from ltr.results.fold_results import CrossValidation
from ltr.results.prompt_token_savings import PromptSums, tokens_of_rows
from ltr.serving.router import Router


@dataclass(frozen=True, slots=True)
class CatalogueCounts:
    """What the metrics of the whole catalogue are of."""

    tools: int  # candidates of each query
    lacking: int  # queries whose right tools the catalogue lacks: they count 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated(ABC):
    """The metrics of a ranking of labelled groups, and those of what it is compared with."""

    split: str  # of a run: test, or train without test data; of other samples: given
    evaluation: Evaluation
    baselines: dict[str, Evaluation]
    intervals: dict[str, Interval]  # of each mean
    unit: str  # what was resampled for them: query, or trace where one holds several
    preset: PresetName = "ltr"
    extremes: dict[str, Evaluation] = field(default_factory=dict)  # worst and best, where an expectation hides them
    best_baseline: str | None = None  # of those that need no training: the best on the training groups
    over_best_baseline: Interval | None = None  # how much greater Top-1 is than by that ranking
    best_feature: BestFeature | None = None  # the column that the baseline of that name ranks by
    over_best_feature: Interval | None = None  # how much greater Top-1 is than by that column
    left_out: Mapping[str, str] = field(default_factory=dict)  # baselines that are not compared, and why
    breakdown: Breakdown | None = None
    answers: Breakdown | None = None  # queries by whether their right tool was right in training
    catalogue: CatalogueCounts | None = None  # where the evaluation has metrics of the whole catalogue
    folds: CrossValidation | None = None
    is_complete: bool | None = None  # of a ranking of others: whether queries that it lacks count 0
    with_labels: Evaluation | None = None  # where own first choices are the past: the same with right tools as it
    none: NoneMeasures | None = None  # of a model that says how probably nothing offered is right
    none_probability: FloatArray | None = None  # of each query
    abstention: AbstentionMeasures | None = None  # of a model that abstains
    abstains: BoolArray | None = None  # in each query
    risk_coverage: Curve | None = None  # of thresholds
    prompt: PromptSums | None = None  # what the first k tools leave of a prompt: of the catalogue, if it was ranked
    counts: Mapping[str, int] = field(default_factory=dict)  # what the input left out or ignored
    is_seen: bool = False  # the model was trained on some of the traces
    warnings: tuple[str, ...] = ()  # why the metrics may mean less than they seem to
    error_bounds: dict[str, float] = field(default_factory=dict)  # how far a metric can be from the exact value

    def headline(self) -> str:
        """What a person asks first: Top-1 and MRR, and over how many queries."""
        means, number = self.evaluation.means, self.evaluation.num_queries
        values = ", ".join(f"{name} {value:.3f}" for name in (TOP1, MRR) if (value := means[name]) is not None)
        return f"{values or 'nothing measured'}, {number:,} queries"

    @abstractmethod
    def candidates(self) -> AnyCandidates:
        """What measures over candidates count."""

    @abstractmethod
    def fingerprint(self) -> str:
        """The same where two results rest on the same data."""

    @abstractmethod
    def past(self) -> Past | None:
        """What the past of the candidates is made of."""

    @abstractmethod
    def num_drawn(self) -> int:
        """How many candidates were drawn from a catalogue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedRanking(Evaluated):
    """A ranking of labelled groups that are in memory."""

    groups: Groups
    phi: FloatArray
    ranking: Ranking
    compared: Ranking | None = None  # by the best baseline

    def candidates(self) -> CandidateProbabilities:
        """The candidates of the queries that count, each with its probability, and whether it is right."""
        is_counted, rules = ~np.isnan(self.evaluation.values[TOP1]), self.evaluation.rules
        is_right = self.groups.labels >= rules.rel_threshold
        return candidate_probabilities(self.ranking, is_right, is_counted, rules.threshold, rules.probability)

    def fingerprint(self) -> str:
        """The same where two results rest on the same data."""
        return fingerprint(self.groups)

    def past(self) -> Past | None:
        """What the past of the candidates is made of."""
        return past_of(self.groups.candidates)

    def num_drawn(self) -> int:
        """How many candidates were drawn from a catalogue."""
        return int((~self.groups.candidates.is_logged).sum())


def evaluate_groups(
    groups: Groups,
    phi: FloatArray,
    scores: FloatArray,
    config: RunConfig,
    *,
    listed: BoolArray | None = None,
    also: Collection[str] = (),
) -> EvaluatedRanking:
    """The groups ranked by the scores and evaluated by the rules of the config, also by other metrics; no baselines."""
    if config.evaluate.no_relevant == "error":
        refuse_nothing_right(groups, config.evaluate.rel_threshold)
    evaluated = evaluate_scores(
        groups, phi, scores, rules(config, groups, listed=listed, also=also), config, listed=listed
    )
    clusters = resampled_units(groups.candidates.traces)
    return replace(
        evaluated,
        intervals=intervals(evaluated.evaluation, clusters, seed=config.seed),
        unit="query" if clusters is None else "trace",
        warnings=tuple(nothing_right(evaluated.evaluation)),
    )


def evaluate_scores(
    groups: Groups,
    phi: FloatArray,
    scores: FloatArray,
    run_rules: Rules,
    config: RunConfig,
    *,
    listed: BoolArray | None = None,
) -> EvaluatedRanking:
    """The groups ranked by the scores and evaluated by the rules: metrics without intervals."""
    ranking = rank(scores, groups.offsets, keys=key_order(groups.candidates), listed=listed)
    evaluation = evaluate_by(ranking, groups.labels, run_rules)
    return EvaluatedRanking(
        split="given",
        groups=groups,
        phi=phi,
        ranking=ranking,
        evaluation=evaluation,
        baselines={},
        intervals={},
        unit="query",
        preset=config.evaluate.preset,
        extremes=_extremes(ranking, groups, run_rules, evaluation),
        breakdown=break_down(groups, config.evaluate.group_by) if config.evaluate.group_by else None,
        prompt=_prompt(groups, ranking, evaluation),
        counts={"num_none": groups.num_none},
    )


def _prompt(groups: Groups, ranking: Ranking, evaluation: Evaluation) -> PromptSums | None:
    """What the first k tools leave of a prompt with the list of each query; None of what is no tool with a text."""
    if groups.candidates.kind != "tool" or groups.candidates.features is not None or not len(groups.labels):
        return None
    is_right = groups.labels >= evaluation.rules.rel_threshold
    is_counted = ~np.isnan(evaluation.values[TOP1])
    return PromptSums.of(ranking, is_right, tokens_of_rows(groups.candidates), is_counted)


def nothing_right(evaluation: Evaluation) -> Iterator[str]:
    """That no query has a right candidate, so that the metrics say nothing."""
    if evaluation.num_no_relevant == len(evaluation.rank):
        least = f"{evaluation.rules.rel_threshold:g}"
        yield f"no query has a candidate with a label of {least} or more, so none is right; lower --rel-threshold"


def beside_baselines(
    measured: EvaluatedRanking, ranked: Mapping[str, tuple[Ranking, Rules]], left_out: Mapping[str, str], router: Router
) -> EvaluatedRanking:
    """Add the metrics of the baselines, of which the router's training names the one to compare with."""
    beside = {name: evaluate_by(ranking, measured.groups.labels, rules) for name, (ranking, rules) in ranked.items()}
    compared = router.training.baselines.compared
    is_there = compared in beside
    return replace(
        measured,
        baselines=beside,
        best_baseline=compared if is_there else None,
        compared=ranked[compared][0] if is_there else None,
        best_feature=router.training.best_feature if BEST_FEATURE in beside else None,
        left_out=left_out,
    )


def with_leads(measured: EvaluatedRanking, seed: int) -> EvaluatedRanking:
    """Add how much greater Top-1 is than that of the best baseline and of the best single column, with intervals."""

    def lead(name: str | None) -> Interval | None:
        if name is None or name not in measured.baselines:
            return None
        ours, theirs = measured.evaluation.values[TOP1], measured.baselines[name].values[TOP1]
        return lead_of(ours, theirs, measured.groups.candidates.traces, seed)

    return replace(measured, over_best_baseline=lead(measured.best_baseline), over_best_feature=lead(BEST_FEATURE))


def lead_of(ours: FloatArray, theirs: FloatArray, traces: IntArray, seed: int) -> Interval | None:
    """How much greater our values are than theirs, query by query, resampled by trace; NaN: a query does not count."""
    counted = ~np.isnan(ours)
    if not counted.any():
        return None
    return bootstrap_difference(ours[counted], theirs[counted], np.random.default_rng(seed), clusters=traces[counted])


def refuse_nothing_right(groups: Groups, rel_threshold: float) -> None:
    """Raise for the first query without a right candidate, saying where it stands."""
    is_right = np.logical_or.reduceat(groups.labels >= rel_threshold, groups.offsets[:-1])
    if is_right.all():
        return
    group, candidates = int(np.argmin(is_right)), groups.candidates
    trace, node = candidates.trace_ids[candidates.traces[group]], candidates.node_ids[group]
    where = "{}:{}: ".format(*candidates.place(int(groups.offsets[group]))) if candidates.files else ""
    named = f"the query of trace {excerpt(trace)}, node {excerpt(node)},"
    raise DataError(f"{where}{named} has no label of {rel_threshold:g} or more, and no_relevant is 'error'")


def _extremes(ranking: Ranking, groups: Groups, run_rules: Rules, evaluation: Evaluation) -> dict[str, Evaluation]:
    """What ties would give at worst and at best, where the result is an expectation over them."""
    if evaluation.rules.ties is not Ties.EXPECTED or not evaluation.num_tied:
        return {}
    by_query = replace(run_rules, metrics=tuple(evaluation.values))
    bounds = (Ties.WORST, Ties.BEST)
    return {ties.value: evaluate_by(ranking, groups.labels, replace(by_query, ties=ties)) for ties in bounds}


def evaluate_run(
    run: AnyPath,
    qrels: AnyPath | None,
    config: RunConfig,
    *,
    complete: bool = False,
    hash_topics: bool = False,
    also: Collection[str] = (),
) -> EvaluatedRanking:
    """A ranking of others evaluated: a TREC run against its qrels, or lists or scored samples with their own labels.

    Topics that a TREC run lacks are left out, or `complete` counts them 0. Lines of its files that begin with # are
    comments, unless topics do (`hash_topics`).
    """
    if config.evaluate.group_by:
        raise UsageError(
            f"group_by {config.evaluate.group_by}: it goes with a model and samples; --run reads no such fields"
        )
    from ltr.data.importers.ranking_readers import is_trec, read_scored  # no training reads their formats

    ranked = read_scored(run, qrels, complete=complete, hash_topics=hash_topics)
    evaluated = evaluate_groups(
        ranked.groups, ranked.scores[:, None], ranked.scores, config, listed=ranked.listed, also=also
    )
    counts = {"num_missing": ranked.num_missing, "num_ignored": ranked.num_ignored}
    remedy = "--hash-topics reads lines that begin with # as data"
    doubts = [f"{path}: comments with the columns of data: {number:,}; {remedy}" for path, number in ranked.likely_data]
    warnings = (*evaluated.warnings, *doubts)
    return replace(evaluated, counts=counts, is_complete=complete if is_trec(run) else None, warnings=warnings)


def best_relevant(evaluated: EvaluatedRanking, listed: IntArray) -> IntArray:
    """The row of each query's first listed relevant candidate; -1 without one."""
    offsets = evaluated.groups.offsets
    rows = np.full(len(offsets) - 1, -1, dtype=np.int64)
    is_relevant: BoolArray = evaluated.groups.labels[listed] >= evaluated.evaluation.rules.rel_threshold
    queries = np.repeat(np.arange(len(rows)), np.diff(offsets))[is_relevant]
    with_one, first = np.unique(queries, return_index=True)
    rows[with_one] = listed[is_relevant][first]
    return rows


def outdone_warnings(measured: Evaluated) -> Iterator[str]:
    """That a baseline puts the right candidate first more often than the model, beyond chance."""
    leads = {measured.best_baseline: measured.over_best_baseline, BEST_FEATURE: measured.over_best_feature}
    for name, lead in leads.items():
        if name is not None and lead is not None and lead.high is not None and lead.high < 0:
            title = baseline_title(name, measured.best_feature)
            yield f"{title} alone is better than this model: top-1 over it is {lead.mean:+.3f}"
