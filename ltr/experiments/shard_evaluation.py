"""A router measured on groups that are in memory shard by shard: the same numbers, and records written as they come."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import msgspec
import numpy as np

from ltr.config.run import RunConfig
from ltr.data.fingerprint import fingerprint
from ltr.data.groups import Groups
from ltr.data.none_of_these_groups import answered
from ltr.data.previous_tools import past_of
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.engines.open_engine import open_engine
from ltr.errors import UsageError
from ltr.evaluation.baselines import BEST_FEATURE
from ltr.evaluation.evaluate import Rules
from ltr.evaluation.metrics.classification_counts import CandidateCounts
from ltr.evaluation.metrics.ranking_measures import TOP1
from ltr.evaluation.metrics.registry import CATALOGUE
from ltr.evaluation.ranking import Ties
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.rankings_without_training import baselines_of
from ltr.experiments.run_preconditions import refuse_given_probabilities
from ltr.files.atomic_write import write_lines
from ltr.files.directory_lock import locked
from ltr.files.output_replacement import new_directory
from ltr.files.path_arguments import AnyPath
from ltr.logs import stage
from ltr.results.evaluated_ranking import (
    EvaluatedRanking,
    beside_baselines,
    evaluate_scores,
    outdone_warnings,
    refuse_nothing_right,
)
from ltr.results.evaluation_rules import rules_up_to
from ltr.results.hashed_queries import without_texts
from ltr.results.hits_and_mistakes_by_tool import tool_counts, tool_records
from ltr.results.instructive_examples import examples
from ltr.results.merged_evaluation import EvaluatedPart, EvaluatedShards, MergedEvaluation, baseline_sums
from ltr.results.metric_sums import Sums, by_query, is_of_candidates, measures_of
from ltr.results.metrics_record import metrics_record
from ltr.results.query_records import query_records
from ltr.results.tools_seen_in_training import known_answers
from ltr.serving.candidate_warnings import candidate_warnings
from ltr.serving.router import Router
from ltr.serving.training_trace_marks import seen_traces
from ltr.storage.run_contents import write_summary, write_tools
from ltr.storage.run_directory import EVALUATION_KIND, PER_QUERY, refuse_taken
from ltr.storage.sharded_columns import ColumnShards, open_columns


@dataclass(frozen=True, slots=True, eq=False)
class WholeGroups:
    """Groups in memory as a single shard, with the columns that a router gives them."""

    groups: Groups

    def __len__(self) -> int:
        return 1

    def __getitem__(self, number: int) -> Groups:
        return (self.groups,)[number]

    def extent(self) -> tuple[int, float]:
        """The candidates of the longest group, and the greatest label."""
        return int(np.diff(self.groups.offsets).max()), float(np.nanmax(self.groups.labels, initial=0.0))


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of an evaluation beside the metrics of the config."""

    also: tuple[str, ...] = ()  # other metrics
    split: str = "given"  # train or test where the samples are those of the router's run
    explain: bool = False  # what each feature adds, in the records of the queries
    tools: bool = False  # tool by tool, also where nothing is kept


@dataclass(frozen=True, slots=True, eq=False)
class PartTask:
    """What is done to each shard: the same for all of them."""

    router: Router
    shards: ColumnShards | WholeGroups
    config: RunConfig
    rules: Rules  # by which every shard is measured: those that have a value for each query
    are_pooled: bool  # whether a measure is of candidates
    wanted: Wanted
    are_kept: bool  # the records of the queries


@stage("measuring")
def evaluate_shards(
    router: Router,
    shards: ColumnShards | WholeGroups,
    config: RunConfig,
    wanted: Wanted | None = None,
    *,
    keep_in: AnyPath | None = None,
    on_progress: OnProgress = silent,
    engine: Engine = IN_PROCESS,
) -> EvaluatedShards:
    """The groups of all shards ranked by the router and measured, as `evaluate_router` measures them in memory.

    With `keep_in` the record of each query is written to that file when its shard has been measured.
    """
    wanted = wanted or Wanted()
    refuse_whole(router, config, wanted.also)
    longest, greatest = shards.extent()
    rules = rules_up_to(longest, config, also=wanted.also)
    if rules.max_grade is None:
        rules = replace(rules, max_grade=max(greatest, 1.0))
    measures = measures_of(rules)
    by_rules = by_query(rules, measures), any(map(is_of_candidates, measures))
    task = PartTask(router, shards, config, *by_rules, wanted, are_kept=keep_in is not None)
    merging = MergedEvaluation(rules, measures, config)
    parts = engine.map(partial(evaluated_part, task=task), range(len(shards)))
    records = _merged(parts, merging, len(shards), on_progress)
    if keep_in is None:
        for _ in records:
            pass
    else:
        write_lines(Path(keep_in), records)
    result = merging.result(wanted.split, router.training)
    return replace(result, warnings=(*result.warnings, *outdone_warnings(result)))


def _merged(
    parts: Iterable[EvaluatedPart | int], merging: MergedEvaluation, total: int, on_progress: OnProgress
) -> Iterator[bytes]:
    """The records of the queries of each part, after it was taken in."""
    on_progress(Step("measuring", 0, total))
    for number, part in enumerate(parts, start=1):
        if isinstance(part, int):
            merging.leave_out(part)
        else:
            merging.add(part)
            yield from part.records
        on_progress(Step("measuring", number, total))


def evaluated_part(number: int, task: PartTask) -> EvaluatedPart | int:
    """What is kept of a shard; of one in which nothing that any group offers is right, how many there are."""
    router, config, shard = task.router, task.config, task.shards[number]
    groups = answered(shard)
    if groups is None:
        return len(shard.offsets) - 1
    if config.evaluate.no_relevant == "error":
        refuse_nothing_right(groups, config.evaluate.rel_threshold)
    phi = router.phi(groups.candidates)
    measured = evaluate_scores(groups, phi, router.scores(phi), task.rules, config)
    answers = known_answers(router, groups, config.evaluate.rel_threshold)
    measured, beside = replace(measured, split=task.wanted.split, answers=answers), dict[str, Sums]()
    if config.evaluate.baselines:
        ranked, left_out = baselines_of(router, measured, task.rules)
        measured = beside_baselines(measured, ranked, left_out, router)
        beside = baseline_sums(measured, ranked, are_pooled=task.are_pooled)
    compared = {name: measured.baselines[name] for name in (measured.best_baseline, BEST_FEATURE) if name in beside}
    shown = measured if config.data.texts else without_texts(measured)
    return EvaluatedPart(
        evaluation=measured.evaluation,
        counted=CandidateCounts.of(measured.candidates()),
        beside=beside,
        ranges=_ranges(measured),
        compared_top1={name: evaluation.values[TOP1] for name, evaluation in compared.items()},
        left_out=measured.left_out,
        traces=groups.candidates.traces,
        num_traces=len(groups.candidates.trace_ids),
        answers=measured.answers,
        digest=int(fingerprint(groups), 16),
        drawn=measured.num_drawn(),
        of_past=past_of(groups.candidates),
        num_none=groups.num_none,
        seen_traces=seen_traces(router, groups.candidates),
        tools=tool_counts(shown) if task.are_kept or task.wanted.tools else {},
        examples=list(examples(shown, router)) if task.are_kept else [],
        records=_records(shown, task) if task.are_kept else [],
        warnings=tuple(candidate_warnings(router, groups.candidates)),
    )


def _records(measured: EvaluatedRanking, task: PartTask) -> list[bytes]:
    """The record of each query, as a line."""
    return list(map(msgspec.json.encode, query_records(measured, task.router, explain=task.wanted.explain)))


def _ranges(measured: EvaluatedRanking) -> dict[str, Sums]:
    """The sums in the worst and the best order of ties; without a tie both are those of the ranking."""
    if measured.evaluation.rules.ties is not Ties.EXPECTED:
        return {}
    bounds = (Ties.WORST.value, Ties.BEST.value)
    return {name: Sums.of(measured.extremes.get(name, measured.evaluation), None) for name in bounds}


def evaluate_directory(
    router: Router,
    samples: AnyPath,
    config: RunConfig,
    wanted: Wanted | None = None,
    *,
    out: AnyPath | None = None,
    overwrite: bool = False,
    on_progress: OnProgress = silent,
    code: Sequence[str] = (),
) -> EvaluatedShards:
    """The router measured on a directory of columns; `out` keeps what `keep_evaluation` keeps.

    The config's engine works on it, whose workers run the files of `code` first.
    """
    shards = open_columns(samples)
    if out is None:
        with open_engine(config.engine, code) as engine:
            return evaluate_shards(router, shards, config, wanted, on_progress=on_progress, engine=engine)
    with locked(out), open_engine(config.engine, code) as engine:
        refuse_taken(out, overwrite=overwrite, kind=EVALUATION_KIND)
        with new_directory(out) as home:
            records = home / PER_QUERY
            measured = evaluate_shards(
                router, shards, config, wanted, keep_in=records, on_progress=on_progress, engine=engine
            )
            write_summary(home, metrics_record(measured), measured.evaluation.curves)
            write_tools(home, tool_records(measured.tools))
    return measured


def refuse_whole(router: Router, config: RunConfig, also: Collection[str]) -> None:
    """Raise for what needs all groups at once."""
    refuse_given_probabilities(config)
    need_all = {
        "evaluate.group_by": config.evaluate.group_by is not None,
        "evaluate.catalogue": bool(config.evaluate.catalogue),
        "a metric of the catalogue": any(name.endswith(CATALOGUE) for name in also),
        "a model that says how probably none is right": router.none is not None,
        "a model that abstains": router.abstain is not None,
    }
    if problem := next((name for name, is_asked in need_all.items() if is_asked), ""):
        raise UsageError(f"{problem}: not measured shard by shard; name files instead of a directory of columns")
