"""Groups that were ranked, with all that is known of the ranking: one record, which adds up over shards."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec
import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.data.candidates import Past
from ltr.data.groups import Groups
from ltr.errors import UsageError
from ltr.evaluation.baselines import BEST_FEATURE
from ltr.evaluation.best_single_feature import BestFeature
from ltr.evaluation.evaluate import Evaluation
from ltr.evaluation.metrics.candidate_probabilities import CandidateProbabilities, candidate_probabilities
from ltr.evaluation.metrics.classification_counts import AnyCandidates, CandidateCounts
from ltr.evaluation.metrics.presets import PresetName
from ltr.evaluation.metrics.ranking_measures import MRR, TOP1
from ltr.evaluation.none_of_these_measures import NoneMeasures
from ltr.evaluation.ranking import Ranking, Ties
from ltr.evaluation.sums import AddsUp
from ltr.results.breakdown import Breakdown
from ltr.results.fold_results import CrossValidation
from ltr.results.prompt import PromptSums
from ltr.results.queries import Examples, Explained
from ltr.results.tools import ToolCounts
from ltr.steps import Told
from ltr.storage.evaluation_records import MetricsRecord


@dataclass(frozen=True, slots=True)
class CatalogueCounts:
    """What the metrics of the whole catalogue are of."""

    tools: int  # candidates of each query
    lacking: int  # queries whose right tools the catalogue lacks: they count 0

    def __add__(self, other: "CatalogueCounts") -> "CatalogueCounts":
        return CatalogueCounts(self.tools, self.lacking + other.lacking)


@dataclass(frozen=True, slots=True)
class Ranked:
    """One shard of groups in memory, and how they were ranked."""

    groups: Groups
    phi: FloatArray
    ranking: Ranking
    compared: Ranking | None = None  # by the best baseline
    none_probability: FloatArray | None = None  # of each query
    abstains: BoolArray | None = None  # in each query


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluated(AddsUp):
    """A ranking of labelled groups, of one shard or of several added up: metrics, and those of what it is beside.

    Everything down to `doubts` adds up. What follows is of the whole: the record, which is written and shown, is made
    by `finished`, and what a shard holds in memory is given up when it is added to another.
    """

    split: str  # of a run: test, or train without test data; of other samples: given
    preset: PresetName
    evaluation: Evaluation
    digest: int  # the sum of a hash of each row
    traces: IntArray  # of each query, as codes
    num_traces: int  # that the codes count
    past: Past | None  # what the past of the candidates is made of
    num_drawn: int  # candidates that were drawn from a catalogue
    counts: dict[str, int]  # what the input left out or ignored
    extremes: dict[str, Evaluation] = field(default_factory=dict)  # worst and best, where an expectation hides them
    with_labels: Evaluation | None = None  # where own first choices are the past: the same with right tools as it
    baselines: dict[str, Evaluation] = field(default_factory=dict)
    best_baseline: str | None = None  # of those that need no training: the best on the training groups
    best_feature: BestFeature | None = None  # the column that the baseline of that name ranks by
    left_out: Mapping[str, str] = field(default_factory=dict)  # baselines that are not compared, and why
    breakdown: Breakdown | None = None
    answers: Breakdown | None = None  # queries by whether their right tool was right in training
    catalogue: CatalogueCounts | None = None  # where the evaluation has metrics of the whole catalogue
    prompt: PromptSums | None = None  # what the first k tools leave of a prompt: of the catalogue, if it was ranked
    of_steps: dict[str, Told] = field(default_factory=dict)  # what each step of the model says of queries
    num_seen: int = 0  # traces that the model was trained on
    num_compared: int = 0  # traces of which that is known
    num_decided: int = 0  # queries for which corrections decide what is first
    tools: dict[str, ToolCounts] = field(default_factory=dict)  # where asked for
    examples: Examples = field(default_factory=Examples)
    explained: dict[str, Explained] = field(default_factory=dict)
    texts: dict[str, int] = field(default_factory=dict)  # of each tool, the rows that have a text
    doubts: tuple[str, ...] = ()  # why candidates make the metrics mean less than they seem to
    summary: MetricsRecord | None = None
    folds: CrossValidation | None = None
    ranked: Ranked | None = None  # of one shard in memory

    def aligned(self, before: "Evaluated") -> "Evaluated":
        """Return this with codes of traces above those before."""
        return replace(self, traces=self.traces + before.num_traces)

    def settled(self) -> "Evaluated":
        """Return the sum without what is of some parts only."""
        everywhere = {name: of for name, of in self.baselines.items() if of.parts == self.evaluation.parts}
        return replace(
            self,
            baselines=everywhere,
            best_baseline=self.best_baseline if self.best_baseline in everywhere else None,
            best_feature=self.best_feature if BEST_FEATURE in everywhere else None,
            extremes=self.extremes if self.evaluation.num_tied else {},
            summary=None,
            folds=None,
            ranked=None,
        )

    def light(self) -> "Evaluated":
        """Return what is kept of a shard among many: columns of its queries, and nothing of its candidates."""
        evaluation, ends = self.evaluation, (Ties.WORST.value, Ties.BEST.value)
        if evaluation.counted is None:
            counted = CandidateCounts.of(_probabilities(self.whole, evaluation))
            evaluation = replace(evaluation, counted=counted)
        is_expected = evaluation.rules.ties is Ties.EXPECTED  # without a tie both ends are the ranking itself
        compared = (self.best_baseline, BEST_FEATURE)
        return replace(
            self,
            evaluation=evaluation,
            extremes={name: self.extremes.get(name, evaluation).light() for name in ends if is_expected},
            with_labels=self.with_labels and self.with_labels.light(),
            baselines={name: of.light((TOP1,) if name in compared else ()) for name, of in self.baselines.items()},
            ranked=None,
        )

    @property
    def record(self) -> MetricsRecord:
        """What metrics.json says, and every page, table and comparison shows."""
        if self.summary is None:
            raise UsageError("a part of an evaluation has no record")
        return self.summary

    def with_record(self, **changes: Any) -> "Evaluated":
        """Return the evaluation with fields of its record changed."""
        return replace(self, summary=msgspec.structs.replace(self.record, **changes))

    @property
    def none(self) -> NoneMeasures | None:
        """How well none is told, of a model that says how probably nothing offered is right."""
        return self.record.none

    @property
    def warnings(self) -> tuple[str, ...]:
        """Why the metrics may mean less than they seem to."""
        return tuple(self.record.warnings)

    @property
    def whole(self) -> Ranked:
        """The one shard in memory."""
        if self.ranked is None:
            raise UsageError("groups that were measured shard by shard are not kept in memory")
        return self.ranked

    @property
    def groups(self) -> Groups:
        """The groups, of one shard in memory."""
        return self.whole.groups

    @property
    def phi(self) -> FloatArray:
        """The columns of the candidates, of one shard in memory."""
        return self.whole.phi

    @property
    def ranking(self) -> Ranking:
        """The ranking of the groups, of one shard in memory."""
        return self.whole.ranking

    @property
    def fingerprint(self) -> str:
        """The same where two results rest on the same data."""
        return f"{self.digest & ((1 << 64) - 1):016x}"

    def candidates(self) -> AnyCandidates:
        """Return what measures over candidates count."""
        if self.ranked is None and self.evaluation.counted is not None:
            return self.evaluation.counted
        return _probabilities(self.whole, self.evaluation)

    @property
    def is_seen(self) -> bool:
        """Whether the model was trained on some of the traces."""
        return self.num_seen > 0

    def headline(self) -> str:
        """Return what a person asks first: Top-1 and MRR, and over how many queries."""
        means, number = self.evaluation.means, self.evaluation.num_queries
        values = ", ".join(f"{name} {value:.3f}" for name in (TOP1, MRR) if (value := means[name]) is not None)
        return f"{values or 'nothing measured'}, {number:,} queries"


def _probabilities(ranked: Ranked, evaluation: Evaluation) -> CandidateProbabilities:
    """Return the candidates of the queries that count, each with its probability, and whether it is right."""
    is_counted, rules = ~np.isnan(evaluation.values[TOP1]), evaluation.rules
    is_right = ranked.groups.labels >= rules.rel_threshold
    return candidate_probabilities(ranked.ranking, is_right, is_counted, rules.threshold, rules.probability)
