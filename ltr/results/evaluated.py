"""Groups that were ranked, with all that is known of the ranking: one record, which adds up over shards."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import msgspec

from ltr.arrays import BoolArray, FloatArray, IntArray
from ltr.errors import UsageError
from ltr.evaluation import (
    MRR,
    TOP1,
    Baseline,
    BestFeature,
    Curve,
    Evaluation,
    NoneMeasures,
    PresetName,
    Ranking,
    Rules,
    Ties,
    first_choice_curve,
)
from ltr.records.metrics import FoldsRecord, MetricsRecord, ToolRecord
from ltr.results.breakdown import Breakdown
from ltr.results.queries import Examples, Explained, digest_of, hash_texts
from ltr.results.tools import PromptSums, ToolCounts, tool_counts, tool_records
from ltr.samples import Groups, Past
from ltr.steps import Told
from ltr.sums import AddsUp

Means = Mapping[str, float | None]  # by metric; None: no query could be scored


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """What folds say of a config."""

    l2s: tuple[float, ...]
    values: FloatArray  # (l2s, folds): the metric, greater is better
    l2: float  # the chosen one: all else is of it
    each: tuple[Means, ...]  # of the groups of each fold
    pooled: Means  # of every group that was left out once
    rules: Rules
    num_groups: int
    earlier: int  # of them, by time: those no later than the newest group their fold learns from
    past: Past | None = None  # what came before each group, as the model was told


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
            best_feature=self.best_feature if Baseline.BEST_FEATURE in everywhere else None,
            extremes=self.extremes if self.evaluation.num_tied else {},
            summary=None,
            folds=None,
            ranked=None,
        )

    def light(self) -> "Evaluated":
        """Return what is kept of a shard among many: columns of its queries, and nothing of its candidates."""
        evaluation, ends = self.evaluation, (Ties.WORST.value, Ties.BEST.value)
        if evaluation.counted is None:
            evaluation = evaluation.with_counts(self.ranking, self.groups.labels)
        is_expected = evaluation.rules.ties is Ties.EXPECTED  # without a tie both ends are the ranking itself
        compared = (self.best_baseline, Baseline.BEST_FEATURE)
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

    def with_folds(self, folds: CrossValidation | None) -> "Evaluated":
        """Return the evaluation beside what folds say."""
        if folds is None:
            return self
        record = FoldsRecord(dict(folds.pooled), [dict(means) for means in folds.each], folds.past)
        return replace(self.with_record(folds=record), folds=folds)

    def without_texts(self) -> "Evaluated":
        """Return the evaluation with a hash for each query, in its groups and in its warnings."""
        if self.ranked is None:
            return self
        groups, candidates = self.groups, self.groups.candidates
        hashed = replace(candidates, query_texts=tuple(map(digest_of, candidates.query_texts)))
        hidden = replace(self, ranked=replace(self.ranked, groups=replace(groups, candidates=hashed)))
        if self.summary is None:
            return hidden
        return hidden.with_record(warnings=hash_texts(self.warnings, candidates.query_texts))

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

    def curves(self) -> dict[str, Curve]:
        """Return the metrics that are no number, each as named columns; the first choice's reliability in any case."""
        counted = self.evaluation.counted if self.ranked is None else None
        candidates = counted or self.evaluation.candidates(self.ranking, self.groups.labels)
        curves = self.evaluation.curves | {"reliability_first": first_choice_curve(candidates)}
        if self.prompt and self.prompt.queries:
            curves[PromptSums.CURVE] = self.prompt.curve()
        for told in self.of_steps.values():
            curves |= told.curves()
        return curves

    def by_tool(self) -> list[ToolRecord]:
        """Return a record for each tool that was right or stood first, the most often right first.

        A right tool is found where it stands first, no wrong one level with it; it is mistaken for the tool that
        stands first where that one is wrong, equal scores in the order of their names. Graphs have none: their ids
        name nothing.
        """
        return tool_records(self.tools if self.ranked is None or self.tools else tool_counts(self))

    @property
    def is_seen(self) -> bool:
        """Whether the model was trained on some of the traces."""
        return self.num_seen > 0

    def headline(self) -> str:
        """Return what a person asks first: Top-1 and MRR, and over how many queries."""
        means, number = self.evaluation.means, self.evaluation.num_queries
        values = ", ".join(f"{name} {value:.3f}" for name in (TOP1, MRR) if (value := means[name]) is not None)
        return f"{values or 'nothing measured'}, {number:,} queries"
