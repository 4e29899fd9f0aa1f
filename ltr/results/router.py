"""A router measured on groups, shard by shard; groups in memory are one shard. What is measured can be kept."""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.catalogues import ToolCatalogue
from ltr.config import RunConfig
from ltr.doubts import candidate_warnings, rows_with_text, seen_traces, seen_traces_warnings, without_text
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import DataError, count
from ltr.evaluation import CATALOGUE, TOP1, Baseline, Evaluation, NoRelevant, Rules, evaluate_by, rank
from ltr.files import locked, new_directory, write_lines
from ltr.logs import stage
from ltr.paths import AnyPath
from ltr.preconditions import refuse_given_probabilities
from ltr.progress import OnProgress, Step, silent
from ltr.records.abstain import broken_promise
from ltr.records.metrics import RESCUED, WRONG
from ltr.results.baselines import baselines_of
from ltr.results.evaluated import CatalogueCounts, Evaluated
from ltr.results.queries import examples, query_records, rescued, wrong
from ltr.results.record import finished, outdone_warnings
from ltr.results.scores import evaluate_scores, rules, rules_up_to
from ltr.results.tools import PromptSums, known_answers, tool_counts, tool_tokens
from ltr.runs import EVALUATION_KIND, Part, RunDirectory
from ltr.samples import Groups, Shards, Whole, none_warnings
from ltr.serving import Router
from ltr.steps import Told
from ltr.steps.catalogue import NOT_SERVED, catalogue_to_rank, rankings_on
from ltr.steps.past import with_own_past
from ltr.sums import Total, added

BestColumn = Callable[[Groups], FloatArray]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is wanted of an evaluation beside the metrics of the config."""

    also: tuple[str, ...] = ()  # other metrics
    split: str = "given"  # train or test where the groups are those of the router's run, which has compared them
    by_tool: bool = False  # counts, tool by tool
    explain: bool = False  # what each feature adds, in the records of the queries
    keep_in: AnyPath | None = None  # a file for the record of each query, written when its shard has been measured


@dataclass(frozen=True, slots=True, eq=False)
class ShardTask:
    """What is done to each shard: the same for all of them."""

    router: Router
    shards: Shards
    config: RunConfig
    rules: Rules
    wanted: Wanted
    phi: FloatArray | None  # of groups in memory
    best_column: BestColumn | None
    tools: ToolCatalogue | None  # all of which each query is ranked on
    before: tuple[Any, ...]  # what the steps of the router know of all shards

    @property
    def is_part(self) -> bool:
        """Whether there are other shards."""
        return len(self.shards) > 1


@stage("measuring")
def evaluate_router(
    router: Router,
    groups: Shards | Groups,
    config: RunConfig,
    wanted: Wanted | None = None,
    *,
    phi: FloatArray | None = None,
    best_column: BestColumn | None = None,
    on_progress: OnProgress = silent,
    engine: Engine = IN_PROCESS,
) -> Evaluated:
    """Rank the groups by the router and measure them by the config, beside the baselines.

    Its warnings say what the groups make doubtful. `phi`: the columns of groups in memory. `best_column` computes the
    best single column, where folds left it out.
    """
    refuse_given_probabilities(config)
    wanted = wanted or Wanted()
    shards: Shards = Whole(groups) if isinstance(groups, Groups) else groups
    offered = [name.removesuffix(CATALOGUE) for name in wanted.also]
    tools = catalogue_to_rank(config, router.tools, shards, by_name=offered != list(wanted.also))
    task = ShardTask(
        router=router,
        shards=shards,
        config=config,
        rules=_rules(shards, config, offered),
        wanted=wanted,
        phi=phi,
        best_column=best_column,
        tools=tools if wanted.split != "train" else None,
        before=tuple(step.before(shards, config.seed, engine) for step in router.steps),
    )
    numbers, one = range(len(shards)), partial(_measured, task=task)
    measured = map(one, numbers) if len(shards) == 1 else engine.map(one, numbers)
    total = Total[Evaluated]()
    records = _taken(measured, total, len(shards), on_progress)
    if wanted.keep_in is None:
        deque(records, maxlen=0)
    else:
        write_lines(Path(wanted.keep_in), records)
    whole = total.sum()
    if not len(whole.evaluation.rank):
        number = count(whole.counts["num_none"], "group")
        raise DataError(f"none is right in {number}, and there is no other to measure on")
    whole = finished(whole, config.seed).with_record(**_of_steps(whole, router, config.seed))
    is_missed = tools and wanted.split == "train" and (config.evaluate.catalogue or whole.num_drawn)
    return whole.with_record(warnings=list(_warnings(whole, router, is_missed=bool(is_missed))))


def _rules(shards: Shards, config: RunConfig, also: Collection[str]) -> Rules:
    """Return the rules by which all shards are measured."""
    if len(shards) == 1:
        return rules(config, shards[0], also=also)
    longest, greatest = shards.extent()
    common = rules_up_to(longest, config, also=also)
    common.refuse_parts()
    return common if common.max_grade is not None else replace(common, max_grade=max(greatest, 1.0))


def _taken(
    measured: Iterable[tuple[Evaluated, list[bytes]]], total: Total[Evaluated], number: int, on_progress: OnProgress
) -> Iterator[bytes]:
    """Return the records of the queries of each shard, after it was added."""
    on_progress(Step("measuring", 0, number))
    for done, (part, records) in enumerate(measured, start=1):
        total.add(part)
        yield from records
        on_progress(Step("measuring", done, number))


def _measured(number: int, task: ShardTask) -> tuple[Evaluated, list[bytes]]:
    """Return what is known of a shard, and the records of its queries, where they are kept."""
    router, config, run_rules, wanted = task.router, task.config, task.rules, task.wanted
    groups = task.shards[number].to_learn()
    phi = router.phi(groups.candidates) if task.phi is None else task.phi
    with_labels = None
    if (
        groups.candidates.known_past == "labels" and wanted.split != "train"
    ):  # of training groups features know the answers
        ranking = rank(router.scores(phi), groups.offsets, keys=groups.candidates.key_order())
        with_labels = evaluate_by(ranking, groups.labels, run_rules, is_part=task.is_part)
        groups, phi = with_own_past(router, groups, phi)
    measured = evaluate_scores(groups, phi, router.scores(phi), run_rules, config, is_part=task.is_part)
    seen, compared = seen_traces(router, groups.candidates) if wanted.split == "given" else (0, 0)
    measured = replace(
        measured,
        split=wanted.split,
        with_labels=with_labels,
        answers=known_answers(router, groups, config.evaluate.rel_threshold),
        num_seen=seen,
        num_compared=compared,
        num_decided=router.count_decided(groups.candidates, phi),
        texts=rows_with_text(groups.candidates),
        doubts=tuple(candidate_warnings(router, groups.candidates)),
    )
    if task.tools:
        measured = _with_catalogue(measured, router, task.tools)
    measured = _with_steps(measured, router, task.before)
    if config.evaluate.baselines and len(groups.labels):
        measured = _beside_baselines(measured, task)
    are_kept = wanted.keep_in is not None
    shown = measured if config.data.texts or not (are_kept or task.is_part) else measured.without_texts()
    records = query_records(shown, router, explain=wanted.explain) if are_kept else ()
    lines = list(map(msgspec.json.encode, records))
    if are_kept or wanted.by_tool:
        measured = replace(measured, tools=tool_counts(shown))
    if not task.is_part:
        return measured, lines
    if are_kept:
        measured = replace(measured, examples=examples(shown, router))
    if wanted.explain:
        measured = replace(measured, explained={WRONG: wrong(shown, router), RESCUED: rescued(shown, router)})
    return measured.light(), lines


def _with_catalogue(measured: Evaluated, router: Router, tools: ToolCatalogue) -> Evaluated:
    """Add the metrics of a shard ranked on the whole catalogue, each named NAME@catalogue.

    A query counts where it counts on its own list. One whose right tools the catalogue lacks counts 0.
    """
    evaluation, parts, sums = measured.evaluation, list[Evaluation](), list[PromptSums]()
    by_rules = replace(evaluation.rules, metrics=tuple(evaluation.values), no_relevant=NoRelevant.ZERO)
    tokens = np.array([tool_tokens(name, text) for name, text in tools.items()])
    is_counted = ~np.isnan(evaluation.values[TOP1])
    with stage("measuring on the catalogue"):
        for block, ranking, labels in rankings_on(router, measured.groups, tools):
            parts.append(evaluate_by(ranking, labels, by_rules))
            is_right = labels >= by_rules.rel_threshold
            sums.append(PromptSums.of(ranking, is_right, np.tile(tokens, len(block)), is_counted[block]))
    if not parts:
        return measured
    served = added(parts)
    values = {name + CATALOGUE: np.where(is_counted, served.values[name], np.nan) for name in evaluation.values}
    lacking = int(((served.num_positives == 0) & is_counted).sum())
    return replace(
        measured,
        evaluation=evaluation.with_values(values),
        catalogue=CatalogueCounts(len(tools), lacking),
        prompt=reduce(add, sums),
    )


def _with_steps(measured: Evaluated, router: Router, before: tuple[Any, ...]) -> Evaluated:
    """Add what the steps of the router say of the queries of a shard."""
    groups, by, threshold = measured.groups, measured.ranking.scores, measured.evaluation.rules.rel_threshold
    if measured.split == "train":  # the router's own features know the answers
        borne = replace(groups.candidates, features=measured.phi, feature_names=router.names)
        groups = replace(groups, candidates=borne)
    ranked, of_steps = measured.whole, dict[str, Told]()
    for step, known in zip(router.steps, before, strict=True):
        of, columns = step.told(router, groups, (measured.phi, by), threshold, known)
        ranked = replace(ranked, **columns)
        of_steps |= {} if of is None else {step.title: of}
    return replace(measured, ranked=ranked, of_steps=of_steps)


def _of_steps(measured: Evaluated, router: Router, seed: int) -> dict[str, Any]:
    """Return how good what the steps of the router say is, by field of the record."""
    fields, queries = dict[str, Any](), (measured.counts["num_none"], len(measured.evaluation.rank))
    for step in router.steps:
        if (of := measured.of_steps.get(step.title)) is not None:
            fields |= step.measured(of, queries, is_moved=router.feedback is not None, seed=seed)
    return fields


def _beside_baselines(measured: Evaluated, task: ShardTask) -> Evaluated:
    """Add the metrics of the baselines, of which the router's training names the one to compare with."""
    labels, training = measured.groups.labels, task.router.training
    ranked, left_out = baselines_of(task.router, measured, task.rules, task.best_column)
    beside = {
        name: evaluate_by(ranking, labels, by_rules, is_part=task.is_part)
        for name, (ranking, by_rules) in ranked.items()
    }
    compared = training.baselines.compared
    return replace(
        measured,
        baselines=beside,
        best_baseline=compared if compared in beside else None,
        best_feature=training.best_feature if Baseline.BEST_FEATURE in beside else None,
        left_out=left_out,
        ranked=replace(measured.whole, compared=ranked[compared][0] if compared in beside else None),
    )


def _warnings(measured: Evaluated, router: Router, *, is_missed: bool) -> Iterator[str]:
    """Say what the groups make doubtful; `is_missed`: their catalogue would be ranked, and is not."""
    yield from broken_promise(measured.record.abstention)
    yield from seen_traces_warnings(measured.num_seen, measured.num_compared)
    if router.none is None:
        of = "test data: " if measured.split == "test" else ""
        yield from none_warnings(measured.counts["num_none"], of)
    if measured.num_decided:
        number = len(measured.evaluation.rank)
        yield f"corrections decided which candidate is first for {measured.num_decided:,} of {number:,} queries"
    yield from measured.doubts
    yield from without_text(measured.texts)
    if is_missed:
        yield NOT_SERVED
    yield from measured.warnings
    yield from outdone_warnings(measured.record)


def measure_and_keep(measure: Callable[..., Evaluated], out: AnyPath | None, *, overwrite: bool = False) -> Evaluated:
    """Return what `measure` finds; with `out` it is a directory of metrics.json, per_query.jsonl and by_tool.jsonl.

    `measure` is called with the file to which it writes the records of the queries; None without `out`.
    """
    if out is None:
        return measure(None)
    with locked(out):
        EVALUATION_KIND.refuse_taken(out, overwrite=overwrite)
        with new_directory(out) as home:
            measured = measure(home / Part.PER_QUERY)
            RunDirectory(home).write_results(measured.record, measured.evaluation.curves, measured.by_tool())
    return measured
