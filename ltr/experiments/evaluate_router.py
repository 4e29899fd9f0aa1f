"""A router measured on groups: ranking, baselines, whole catalogue, what makes them doubtful; kept where asked."""

from collections.abc import Callable, Collection
from dataclasses import replace

from ltr.arrays import FloatArray
from ltr.config.run import RunConfig
from ltr.data.groups import Groups
from ltr.data.none_of_these_groups import none_warnings
from ltr.data.previous_tools import past_of
from ltr.evaluation.metrics.registry import CATALOGUE
from ltr.experiments.abstention_evaluation import with_abstention
from ltr.experiments.none_of_these_evaluation import with_none
from ltr.experiments.past_from_own_choices import with_own_past
from ltr.experiments.rankings_without_training import baselines_of
from ltr.experiments.run_preconditions import refuse_given_probabilities
from ltr.experiments.whole_catalogue_evaluation import NOT_SERVED, catalogue_to_rank, with_catalogue
from ltr.files.directory_lock import locked
from ltr.files.output_replacement import new_directory
from ltr.files.path_arguments import AnyPath
from ltr.logs import stage
from ltr.reporting.abstention_section import broken_promise
from ltr.results.evaluated_ranking import (
    EvaluatedRanking,
    beside_baselines,
    evaluate_groups,
    outdone_warnings,
    with_leads,
)
from ltr.results.evaluation_rules import rules
from ltr.results.hits_and_mistakes_by_tool import by_tool
from ltr.results.metrics_record import metrics_record
from ltr.results.query_records import query_records
from ltr.results.tools_seen_in_training import known_answers
from ltr.serving.candidate_warnings import candidate_warnings
from ltr.serving.router import Router
from ltr.serving.training_trace_marks import seen_traces, seen_traces_warnings
from ltr.storage.run_contents import write_metrics, write_tools
from ltr.storage.run_directory import EVALUATION_KIND, refuse_taken


@stage("measuring")
def evaluate_router(
    router: Router,
    groups: Groups,
    config: RunConfig,
    *,
    phi: FloatArray | None = None,
    also: Collection[str] = (),
    split: str = "given",
    best_column: Callable[[Groups], FloatArray] | None = None,
) -> EvaluatedRanking:
    """The groups ranked by the router and measured, also by other metrics than the config's, beside the baselines.

    Its warnings say what the groups make doubtful. `split`: train or test where they are those of the router's run,
    which has compared them when it read them. `best_column` computes the best single column, where folds left it out.
    """
    refuse_given_probabilities(config)
    phi = router.phi(groups.candidates) if phi is None else phi
    offered = [name.removesuffix(CATALOGUE) for name in also]
    with_labels = None
    if past_of(groups.candidates) == "labels" and split != "train":  # the features know the answers of training groups
        with_labels = evaluate_groups(groups, phi, router.scores(phi), config, also=offered).evaluation
        groups, phi = with_own_past(router, groups, phi)
    measured = evaluate_groups(groups, phi, router.scores(phi), config, also=offered)
    measured = replace(measured, split=split, with_labels=with_labels)
    tools = catalogue_to_rank(config, router, groups, by_name=offered != list(also))
    if tools and split != "train":
        measured = with_catalogue(measured, router, tools, seed=config.seed)
    if router.none is not None:
        measured = with_none(measured, router, seed=config.seed)
    measured = with_abstention(measured, router, seed=config.seed)
    measured = replace(measured, answers=known_answers(router, groups, config.evaluate.rel_threshold))
    if config.evaluate.baselines:
        beside = baselines_of(router, measured, rules(config, groups, also=offered), best_column)
        measured = with_leads(beside_baselines(measured, *beside, router), config.seed)
    seen, compared = seen_traces(router, groups.candidates) if split == "given" else (0, 0)
    unused = none_warnings(groups, "test data: " if split == "test" else "") if router.none is None else ()
    first = (*broken_promise(measured.abstention), *seen_traces_warnings(seen, compared))
    decided = router.count_decided(groups.candidates, phi)
    number = len(groups.offsets) - 1
    moved = (f"corrections decided which candidate is first for {decided:,} of {number:,} queries",) if decided else ()
    before = (*first, *unused, *moved, *candidate_warnings(router, groups.candidates))
    is_missed = tools and split == "train" and (config.evaluate.catalogue or not groups.candidates.is_logged.all())
    before = (*before, NOT_SERVED) if is_missed else before
    warnings = (*before, *measured.warnings, *outdone_warnings(measured))
    return replace(measured, is_seen=seen > 0, warnings=warnings)


def keep_evaluation(
    measured: EvaluatedRanking, router: Router | None, out: AnyPath, *, explain: bool, overwrite: bool
) -> None:
    """metrics.json, per_query.jsonl and by_tool.jsonl of an evaluation, in a directory that holds nothing else."""
    with locked(out):
        refuse_taken(out, overwrite=overwrite, kind=EVALUATION_KIND)
        with new_directory(out) as home:
            queries = query_records(measured, router, explain=explain)
            write_metrics(home, metrics_record(measured), queries, measured.evaluation.curves)
            write_tools(home, by_tool(measured))
