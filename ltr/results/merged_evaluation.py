"""A ranking that was evaluated shard by shard: values of each query are put one after the other, all else adds up."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.config.run import RunConfig
from ltr.data.candidates import Past
from ltr.data.none_of_these_groups import left_out_warnings
from ltr.errors import UsageError
from ltr.evaluation.baselines import BEST_FEATURE
from ltr.evaluation.bootstrap import intervals, resampled_units
from ltr.evaluation.evaluate import Evaluation, Rules
from ltr.evaluation.metrics.classification_counts import CandidateCounts
from ltr.evaluation.metrics.ranking_measures import TOP1
from ltr.evaluation.metrics.registry import Curve, Drawn, Measure, Pooled
from ltr.evaluation.ranking import Ranking
from ltr.results.breakdown import Breakdown
from ltr.results.evaluated_ranking import Evaluated, EvaluatedRanking, lead_of, nothing_right
from ltr.results.hits_and_mistakes_by_tool import ToolCounts, add_tools
from ltr.results.instructive_examples import MOST_EACH
from ltr.results.metric_sums import Sums
from ltr.serving.training_trace_marks import seen_traces_warnings
from ltr.storage.evaluation_records import ExampleRecord
from ltr.storage.training_record import TrainingRecord

VECTORS = ("rank", "tied", "num_positives", "num_found", "num_candidates")
Column = TypeVar("Column", FloatArray, IntArray)
COUNTS = ("num_queries", "num_tied", "num_no_relevant", "num_one_candidate")


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedShards(Evaluated):
    """A ranking of labelled groups that were in memory shard by shard."""

    counted: CandidateCounts
    digest: str
    drawn: int
    of_past: Past | None
    tools: Mapping[str, ToolCounts]
    examples: Sequence[ExampleRecord]

    def candidates(self) -> CandidateCounts:
        """What measures over candidates count."""
        return self.counted

    def fingerprint(self) -> str:
        """The same where two results rest on the same data."""
        return self.digest

    def past(self) -> Past | None:
        """What the past of the candidates is made of."""
        return self.of_past

    def num_drawn(self) -> int:
        """How many candidates were drawn from a catalogue."""
        return self.drawn


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class EvaluatedPart:
    """What is kept of a shard that was evaluated: light beside its groups, and it adds up."""

    evaluation: Evaluation  # by the measures that have a value for each query
    counted: CandidateCounts
    beside: dict[str, Sums]  # of the baselines
    ranges: dict[str, Sums]  # of the worst and the best order of ties
    compared_top1: dict[str, FloatArray]  # Top-1 of the best baseline and the best single column, of each query
    left_out: Mapping[str, str]  # baselines that are not compared, and why
    traces: IntArray  # of each query, counted from 0
    num_traces: int
    answers: Breakdown | None
    digest: int
    drawn: int
    of_past: Past | None
    num_none: int
    seen_traces: tuple[int, int]  # among those of the training, of how many that were compared
    tools: dict[str, ToolCounts]
    examples: list[ExampleRecord]
    records: list[bytes]  # of each query, encoded; empty where nobody keeps them
    warnings: tuple[str, ...]


def baseline_sums(
    evaluated: EvaluatedRanking, ranked: Mapping[str, tuple[Ranking, Rules]], *, are_pooled: bool
) -> dict[str, Sums]:
    """The sums of each baseline on the groups of a shard."""
    sums = dict[str, Sums]()
    for name, evaluation in evaluated.baselines.items():
        other = replace(evaluated, ranking=ranked[name][0], evaluation=evaluation)
        sums[name] = Sums.of(evaluation, CandidateCounts.of(other.candidates()) if are_pooled else None)
    return sums


class MergedEvaluation:
    """Takes the parts in the order of the shards; `result` is what they come to."""

    def __init__(self, rules: Rules, measures: Sequence[Measure], config: RunConfig) -> None:
        self._rules, self._measures, self._config = rules, measures, config
        self._values: dict[str, list[FloatArray]] = {}
        self._ranks: dict[str, list[IntArray]] = {}
        self._traces: list[IntArray] = []
        self._compared: dict[str, list[FloatArray]] = {}
        self._left_out: dict[str, str] = {}
        self._everywhere: set[str] | None = None  # baselines that every part has
        self._answers: list[IntArray] = []
        self._sums: dict[str, Sums] = {}
        self._numbers = dict.fromkeys((*COUNTS, "traces", "digest", "drawn", "none", "seen", "compared"), 0)
        self._tools: dict[str, ToolCounts] = {}
        self._examples: list[ExampleRecord] = []
        self._warnings: dict[str, None] = {}
        self._first: EvaluatedPart | None = None
        self._counted: CandidateCounts | None = None

    def add(self, part: EvaluatedPart) -> None:
        """Take in the next part."""
        self._first = self._first or part
        self._counted = part.counted if self._counted is None else self._counted + part.counted
        self._add_vectors(part)
        self._left_out |= part.left_out
        self._everywhere = part.beside.keys() & (part.beside.keys() if self._everywhere is None else self._everywhere)
        for name, sums in {**part.beside, **{f"ties {name}": sums for name, sums in part.ranges.items()}}.items():
            self._sums[name] = self._sums[name] + sums if name in self._sums else sums
        numbers = {name: getattr(part.evaluation, name) for name in COUNTS}
        numbers |= {"traces": part.num_traces, "digest": part.digest, "drawn": part.drawn, "none": part.num_none}
        numbers |= dict(zip(("seen", "compared"), part.seen_traces, strict=True))
        self._numbers = {name: number + numbers[name] for name, number in self._numbers.items()}
        add_tools(self._tools, part.tools)
        self._examples = most_instructive([*self._examples, *part.examples])
        self._warnings |= dict.fromkeys(part.warnings)

    def leave_out(self, num_none: int) -> None:
        """Count the groups of a shard in which nothing that any of them offers is right."""
        self._numbers["none"] += num_none

    def _add_vectors(self, part: EvaluatedPart) -> None:
        for name, column in part.evaluation.values.items():
            self._values.setdefault(name, []).append(column)
        for name in VECTORS:
            self._ranks.setdefault(name, []).append(getattr(part.evaluation, name))
        self._traces.append(part.traces + self._numbers["traces"])
        for name, column in part.compared_top1.items():
            self._compared.setdefault(name, []).append(column)
        if part.answers is not None:
            self._answers.append(part.answers.codes.astype(np.int8))

    def result(self, split: str, training: TrainingRecord) -> EvaluatedShards:
        """The evaluation of all shards. What was kept of them is given back, so that it is asked for once."""
        if self._first is None or self._counted is None:
            raise UsageError("no shard was evaluated")
        evaluation, traces = self._evaluation(self._counted), np.concatenate(self._traces)
        self._traces.clear()
        clusters = resampled_units(traces)
        beside = {name: sums for name, sums in self._sums.items() if name in (self._everywhere or ())}
        ranges = {name.removeprefix("ties "): sums for name, sums in self._sums.items() if name.startswith("ties ")}
        bounds = {name: bound for name, bound in self._counted.error_bounds.items() if self._is_asked(name)}
        ours, seed = evaluation.values[TOP1], self._config.seed
        theirs = {name: columns for name, columns in self._compared.items() if name in beside}
        leads = {name: lead_of(ours, top1, traces, seed) for name, top1 in _joined(theirs).items()}
        compared = training.baselines.compared
        return EvaluatedShards(
            split=split,
            evaluation=evaluation,
            baselines={name: self._means_alone(sums, evaluation) for name, sums in beside.items()},
            intervals=intervals(evaluation, clusters, seed=self._config.seed),
            unit="query" if clusters is None else "trace",
            preset=self._config.evaluate.preset,
            extremes={
                name: self._means_alone(sums, evaluation) for name, sums in ranges.items() if evaluation.num_tied
            },
            best_baseline=compared if compared in leads else None,
            over_best_baseline=leads.get(compared),
            best_feature=training.best_feature if BEST_FEATURE in leads else None,
            over_best_feature=leads.get(BEST_FEATURE),
            left_out=self._left_out,
            answers=self._breakdown(),
            counts={"num_none": self._numbers["none"]},
            is_seen=split == "given" and self._numbers["seen"] > 0,
            warnings=(*self._before(split), *self._warnings, *nothing_right(evaluation)),
            error_bounds=bounds,
            counted=self._counted,
            digest=f"{self._numbers['digest'] & ((1 << 64) - 1):016x}",
            drawn=self._numbers["drawn"],
            of_past=self._first.of_past,
            tools=self._tools,
            examples=self._examples,
        )

    def _before(self, split: str) -> Iterator[str]:
        """What the groups make doubtful."""
        if split == "given":
            yield from seen_traces_warnings(self._numbers["seen"], self._numbers["compared"])
        yield from left_out_warnings(self._numbers["none"], "test data: " if split == "test" else "")

    def _is_asked(self, name: str) -> bool:
        return any(measure.name == name for measure in self._measures)

    def _means_alone(self, sums: Sums, evaluation: Evaluation) -> Evaluation:
        """The means of another ranking of the same candidates, whose values were not kept."""
        return replace(evaluation, means=sums.means(self._measures), values={}, curves={})

    def _evaluation(self, counted: CandidateCounts) -> Evaluation:
        joined, ranks = _joined(self._values), _joined(self._ranks)
        means: dict[str, float | None] = {}
        curves: dict[str, Curve] = {}
        for measure in self._measures:
            if isinstance(measure, Pooled):
                means |= measure.of(counted)
            elif isinstance(measure, Drawn):
                curves[measure.name] = measure.of(counted)
            else:
                values = joined[measure.name]
                defined = values[~np.isnan(values)]
                means[measure.name] = float(defined.mean()) if defined.size else None
        return Evaluation(
            rules=replace(self._rules, metrics=tuple(measure.name for measure in self._measures)),
            means=means,
            values={measure.name: joined[measure.name] for measure in self._measures if measure.name in joined},
            curves=curves,
            rank=ranks["rank"],
            tied=ranks["tied"],
            num_positives=ranks["num_positives"],
            num_found=ranks["num_found"],
            num_candidates=ranks["num_candidates"],
            num_queries=self._numbers["num_queries"],
            num_tied=self._numbers["num_tied"],
            num_no_relevant=self._numbers["num_no_relevant"],
            num_one_candidate=self._numbers["num_one_candidate"],
        )

    def _breakdown(self) -> Breakdown | None:
        if self._first is None or self._first.answers is None:
            return None
        return replace(self._first.answers, codes=np.concatenate(self._answers))


def _joined(columns: dict[str, list[Column]]) -> dict[str, Column]:
    """Each column in one; its pieces are given back before the next is joined."""
    return {name: np.concatenate(columns.pop(name)) for name in list(columns)}


def most_instructive(examples: Iterable[ExampleRecord]) -> list[ExampleRecord]:
    """Of each kind those with the most probable first candidate, the earlier of equals."""
    kinds: dict[str, list[ExampleRecord]] = {}
    for example in examples:
        kinds.setdefault(example.kind, []).append(example)
    return [example for of_kind in kinds.values() for example in sorted(of_kind, key=_surest)[:MOST_EACH]]


def _surest(example: ExampleRecord) -> float:
    return -max(candidate.probability for candidate in example.candidates if candidate.place == 1)
