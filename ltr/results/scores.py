"""Groups ranked by scores, and measured: a shard, groups in memory, or a ranking of others."""

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np

from ltr.arrays import BoolArray, FloatArray
from ltr.config import RunConfig
from ltr.errors import DataError, UsageError
from ltr.evaluation import (
    TOP1,
    Evaluation,
    NoRelevant,
    Probability,
    Ranking,
    Rules,
    Ties,
    evaluate_by,
    preset_metrics,
    rank,
)
from ltr.files import write_lines
from ltr.jsonl import excerpt
from ltr.paths import AnyPath
from ltr.results.breakdown import break_down
from ltr.results.evaluated import Evaluated, Ranked
from ltr.results.queries import query_records
from ltr.results.record import finished
from ltr.results.tools import PromptSums, tokens_of_rows
from ltr.samples import Groups

UNBOUNDED = 10**9  # a cutoff above every rank: a candidate that is not listed has none


def rules_up_to(longest: int, config: RunConfig, *, also: Collection[str] = ()) -> Rules:
    """Return the rules of a config for groups of which the longest has so many candidates.

    The metrics of its preset, and others, stand beside its own.
    """
    evaluate = config.evaluate
    names = (*evaluate.metrics, *preset_metrics(evaluate.preset, longest), *also)
    ties, no_relevant = Ties(evaluate.ties), NoRelevant(evaluate.no_relevant)
    options = (evaluate.rel_threshold, no_relevant, evaluate.threshold, evaluate.max_grade)
    return Rules(names, ties, *options, Probability(evaluate.probability))


def rules(config: RunConfig, groups: Groups, *, also: Collection[str] = ()) -> Rules:
    """Return the rules of a config for these groups."""
    return rules_up_to(int(np.diff(groups.offsets).max(initial=0)), config, also=also)


def evaluate_scores(
    groups: Groups,
    phi: FloatArray,
    scores: FloatArray,
    run_rules: Rules,
    config: RunConfig,
    *,
    listed: BoolArray | None = None,
    is_part: bool = False,
) -> Evaluated:
    """Rank the groups by the scores and measure them by the rules; `is_part`: they are one shard of many."""
    if run_rules.no_relevant is NoRelevant.ERROR:
        refuse_nothing_right(groups, run_rules.rel_threshold)
    candidates, none = groups.candidates, groups.none_groups
    ranking = rank(scores, groups.offsets, keys=candidates.key_order(), listed=listed)
    evaluation = evaluate_by(ranking, groups.labels, run_rules, is_part=is_part)
    has_rows, group_by = len(groups.labels) > 0, config.evaluate.group_by
    return Evaluated(
        split="given",
        preset=config.evaluate.preset,
        evaluation=evaluation,
        digest=int(groups.fingerprint, 16),
        traces=candidates.traces,
        num_traces=len(candidates.trace_ids) + (0 if none is None else len(none.candidates.trace_ids)),
        past=candidates.known_past,
        num_drawn=int((~candidates.is_logged).sum()),
        counts={"num_none": groups.num_none},
        extremes=_extremes(ranking, groups, run_rules, evaluation),
        breakdown=break_down(groups, group_by) if group_by and has_rows else None,
        prompt=_prompt(groups, ranking, evaluation),
        ranked=Ranked(groups, phi, ranking),
    )


def evaluate_groups(
    groups: Groups,
    phi: FloatArray,
    scores: FloatArray,
    config: RunConfig,
    *,
    listed: BoolArray | None = None,
    also: Collection[str] = (),
) -> Evaluated:
    """Rank the groups by the scores and measure them by the rules of the config, also by other metrics."""
    is_whole = listed is None or bool(listed.all())
    run_rules = rules(config, groups, also=also) if is_whole else rules_up_to(UNBOUNDED, config, also=also)
    return finished(evaluate_scores(groups, phi, scores, run_rules, config, listed=listed), config.seed)


def _prompt(groups: Groups, ranking: Ranking, evaluation: Evaluation) -> PromptSums | None:
    """Return what the first k tools leave of a prompt with each list; None of what is no tool with a text."""
    if groups.candidates.kind != "tool" or groups.candidates.features is not None or not len(groups.labels):
        return None
    is_right = groups.labels >= evaluation.rules.rel_threshold
    is_counted = ~np.isnan(evaluation.values[TOP1])
    return PromptSums.of(ranking, is_right, tokens_of_rows(groups.candidates), is_counted)


def _extremes(ranking: Ranking, groups: Groups, run_rules: Rules, evaluation: Evaluation) -> dict[str, Evaluation]:
    """Return what ties would give at worst and at best, where the result is an expectation over them."""
    if evaluation.rules.ties is not Ties.EXPECTED or not evaluation.num_tied:
        return {}
    by_query = replace(run_rules, metrics=tuple(evaluation.values))
    bounds = (Ties.WORST, Ties.BEST)
    return {ties.value: evaluate_by(ranking, groups.labels, replace(by_query, ties=ties)) for ties in bounds}


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


def evaluate_run(
    run: AnyPath,
    qrels: AnyPath | None,
    config: RunConfig,
    *,
    complete: bool = False,
    hash_topics: bool = False,
    also: Collection[str] = (),
    keep_in: AnyPath | None = None,
) -> Evaluated:
    """Evaluate a ranking of others: a TREC run against its qrels, or lists or scored samples with their own labels.

    Topics that a TREC run lacks are left out, or `complete` counts them 0. Lines of its files that begin with # are
    comments, unless topics do (`hash_topics`). With `keep_in` the record of each query is written to that file.
    """
    if config.evaluate.group_by:
        raise UsageError(
            f"group_by {config.evaluate.group_by}: it goes with a model and samples; --run reads no such fields"
        )
    from ltr.importers import is_trec, read_scored  # no training reads their formats

    ranked = read_scored(run, qrels, complete=complete, hash_topics=hash_topics)
    evaluated = evaluate_groups(
        ranked.groups, ranked.scores[:, None], ranked.scores, config, listed=ranked.listed, also=also
    )
    if keep_in is not None:
        write_lines(Path(keep_in), map(msgspec.json.encode, query_records(evaluated)))
    missing = {"num_missing": ranked.num_missing, "num_ignored": ranked.num_ignored}
    remedy = "--hash-topics reads lines that begin with # as data"
    doubts = [f"{path}: comments with the columns of data: {number:,}; {remedy}" for path, number in ranked.likely_data]
    record = evaluated.record
    return evaluated.with_record(
        counts=msgspec.structs.replace(record.counts, **missing),
        rules=msgspec.structs.replace(record.rules, complete=complete if is_trec(run) else None),
        warnings=[*record.warnings, *doubts],
    )
