"""What the files of a run say: one description of each record, for whoever writes it and whoever reads it.

Files are untrusted when they are read: types are checked, numbers may be missing, texts stay texts. No reader depends
on the order of keys. Metrics stand apart from everything else, so that a plug-in's metric may have any name.
"""

from typing import Final, Literal

import msgspec

from ltr.evaluation import AbstentionMeasures, Baseline, BestFeature, NoneMeasures

METRICS_FORMAT: Final = "ltr-metrics/3"
WRONG, RESCUED = "wrong", "rescued"  # kinds of examples
KNOWN, UNSEEN = "known", "unseen"  # parts of the queries: whether a right tool was right in training
METRICS_VERSION = 1  # rises when a metric of the same name becomes another number; such results are not compared


class IntervalRecord(msgspec.Struct):
    """A mean with its 95 % interval; no interval of a single unit."""

    mean: float | None
    low: float | None
    high: float | None


class RangeRecord(msgspec.Struct):
    """The least and the greatest value that ties leave room for."""

    worst: float | None
    best: float | None


class RulesRecord(msgspec.Struct):
    """The rules that made the numbers."""

    split: str  # train or test of a run; given: the samples of an evaluation
    ties: str
    gain: str
    preset: str
    rel_threshold: float
    threshold: float
    max_grade: float | None
    probability: str
    no_relevant: str
    interval_unit: str
    interval_level: float
    interval_resamples: int
    metrics_version: int
    fingerprint: str  # the same for the same queries, candidates and labels
    complete: bool | None = None  # of a ranking of others: whether queries that it lacks count 0
    past: str | None = None  # what came before the queries: logged, labels or own (first choices); null: not known


class CountsRecord(msgspec.Struct, omit_defaults=True):
    """How many queries and candidates the numbers are of."""

    num_queries: int  # in the means
    num_groups: int
    num_candidates: int
    num_tied: int
    num_no_relevant: int
    num_one_candidate: int
    interval_num_units: int
    candidates_median: float = 0.0  # of a query
    candidates_least: int = 0
    candidates_most: int = 0
    num_drawn: int = 0  # candidates that were drawn from a catalogue
    catalogue_tools: int | None = None  # candidates of each query in the metrics of the whole catalogue
    catalogue_lacking: int | None = None  # queries whose right tools it lacks: they count 0 there
    queries_of: dict[str, int] = {}  # of metrics that are not defined for every query that counts
    num_none: int = 0  # groups that are in none of the counts above: nothing that they offered is right
    num_missing: int | None = None  # of a TREC run: topics that it lacks
    num_ignored: int | None = None  # of a TREC run: lines of topics that were not judged


class FoldsRecord(msgspec.Struct):
    """The metrics of cross-validation: over all groups, and fold by fold."""

    pooled: dict[str, float | None]
    each: list[dict[str, float | None]]
    past: str | None = None  # what came before the queries


class PartRecord(msgspec.Struct):
    """The queries with one value of the field."""

    name: str
    num_queries: int
    metrics: dict[str, float | None]


class BreakdownRecord(msgspec.Struct):
    """The metrics for each value of a field of the samples."""

    field: str
    parts: list[PartRecord]


class MetricsRecord(msgspec.Struct, kw_only=True):
    """metrics.json: the means, and apart from them all that is known of how they came about."""

    format: Literal["ltr-metrics/3"]
    metrics: dict[str, float | None]
    intervals: dict[str, IntervalRecord]
    rules: RulesRecord
    counts: CountsRecord
    baselines: dict[str, dict[str, float | None]] = {}
    best_baseline: str | None = None  # of those that need no training: the best on the training groups
    over_best_baseline: IntervalRecord | None = None  # how much greater Top-1 is than by that ranking
    best_feature: BestFeature | None = None  # the column that the baseline of that name ranks by
    over_best_feature: IntervalRecord | None = None  # how much greater Top-1 is than by that column
    left_out: dict[str, str] = {}  # baselines that are not compared, and why
    ranges: dict[str, RangeRecord] = {}
    error_bounds: dict[str, float] = {}  # of metrics that are counted in bins: how far each can be from the exact one
    folds: FoldsRecord | None = None
    breakdown: BreakdownRecord | None = None
    answers: BreakdownRecord | None = None  # queries by whether a right tool was right in training
    with_labels: dict[str, float | None] | None = None  # of past own: the metrics with right tools as the past
    none: NoneMeasures | None = None  # of a model that says how probably nothing offered is right
    abstention: AbstentionMeasures | None = None  # of a model that abstains
    warnings: list[str] = []

    @property
    def leads(self) -> dict[str, IntervalRecord]:
        """How much greater Top-1 is than that of the best baseline, first, and of the best single column."""
        by_name = {self.best_baseline: self.over_best_baseline, Baseline.BEST_FEATURE: self.over_best_feature}
        return {name: lead for name, lead in by_name.items() if name is not None and lead is not None}


class MistakeRecord(msgspec.Struct):
    """A tool that stood first in the place of a right one: how often, and a query that shows it."""

    tool: str
    count: int
    query: str


class ToolRecord(msgspec.Struct):
    """A line of by_tool.jsonl: in how many queries a tool was right, was found, stood first, was mistaken for which."""

    tool: str
    right: int
    found: int  # of these, where it stands first alone
    first: int  # right or wrong
    wrongly_first: int
    mistaken_for: list[MistakeRecord]  # the most frequent ones


class QueryRecord(msgspec.Struct, omit_defaults=True):
    """One query: what was right, what was ranked first, where the right one stood, its value of each metric."""

    trace_id: str
    node_id: str
    query: str
    true_candidate: str | None
    predicted_candidate: str | None  # None: nothing was ranked
    top3_candidates: list[str]
    top3_scores: list[float]
    rank: int | None
    is_top1_correct: bool
    is_top3_correct: bool
    top1: float | None
    top3: float | None
    reciprocal_rank: float | None
    tied: int
    num_candidates: int
    num_positives: int
    probability: float | None
    none: float | None = None  # how probably nothing offered is right, of a model that says it
    abstains: bool | None = None  # whether a model that abstains does
    metrics: dict[str, float | None] = {}  # those that were asked for besides the three


class ExplainedRecord(QueryRecord, omit_defaults=True):
    """With what each feature adds to the score of the first and of the right candidate."""

    contributions: dict[str, dict[str, float] | None] = {}


class CandidateRecord(msgspec.Struct):
    """One candidate of an example."""

    candidate: str
    label: float
    is_right: bool
    probability: float
    score: float
    place: int
    is_chosen_by_baseline: bool
    contributions: list[float]  # of the features of the example


class ExampleRecord(msgspec.Struct):
    """A line of examples.jsonl: a query taken apart."""

    kind: str  # WRONG, or RESCUED: right where the best baseline is not
    trace_id: str
    node_id: str
    query: str
    rank: int
    num_candidates: int
    features: list[str]
    candidates: list[CandidateRecord]
