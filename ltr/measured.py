"""A ranking of labelled groups with all that is known about it: metrics, intervals, baselines, parts."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from ltr.arrays import BoolArray, FloatArray
from ltr.baselines import Rules, measure
from ltr.config import RunConfig
from ltr.errors import UsageError
from ltr.files import AnyPath
from ltr.folds import CrossValidation
from ltr.groups import Groups, key_order
from ltr.importers.ranked import read_ranked
from ltr.intervals import intervals, resampled_units
from ltr.metrics import Evaluation
from ltr.parts import Parts, parts_by
from ltr.ranking import Ranking
from ltr.statistics import Interval


@dataclass(frozen=True, slots=True)
class Measured:
    """A ranking of labelled groups, its metrics, and those of what it is compared with."""

    split: str  # test, or train where there is no test data
    groups: Groups
    phi: FloatArray
    ranking: Ranking
    evaluation: Evaluation
    baselines: dict[str, Evaluation]
    intervals: dict[str, Interval]  # of each mean
    unit: str  # what was resampled for them: query, or trace where one holds several
    parts: Parts | None = None
    folds: CrossValidation | None = None
    counts: Mapping[str, int] = field(default_factory=dict)  # what the input left out or ignored


def measured_groups(
    groups: Groups, phi: FloatArray, scores: FloatArray, config: RunConfig, *, listed: BoolArray | None = None
) -> Measured:
    """The groups ranked by the scores and measured by the rules of the config; no baselines."""
    keys = key_order(groups.candidates)
    ranking, evaluation = measure(scores, groups.labels, groups.offsets, keys, rules(config), listed=listed)
    clusters = resampled_units(groups.candidates.traces)
    return Measured(
        split="test",
        groups=groups,
        phi=phi,
        ranking=ranking,
        evaluation=evaluation,
        baselines={},
        intervals=intervals(evaluation, clusters, seed=config.seed),
        unit="query" if clusters is None else "trace",
        parts=parts_by(config.evaluate.group_by, groups) if config.evaluate.group_by else None,
    )


def rules(config: RunConfig) -> Rules:
    """The rules of the config."""
    asked = config.evaluate
    return Rules(asked.metrics, asked.ties, asked.rel_threshold, asked.no_relevant)


def evaluate_run(run: AnyPath, qrels: AnyPath, config: RunConfig) -> Measured:
    """A TREC run measured against its qrels: every topic of the qrels counts, those that the run misses 0."""
    if config.evaluate.group_by:
        raise UsageError(f"group_by {config.evaluate.group_by}: a TREC run has no fields but its topics")
    found = read_ranked(run, qrels)
    measured = measured_groups(found.groups, found.scores[:, None], found.scores, config, listed=found.listed)
    return replace(measured, counts={"num_missing": found.num_missing, "num_ignored": found.num_ignored})
