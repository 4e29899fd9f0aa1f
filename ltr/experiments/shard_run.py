"""A run over a directory of columns: learned, measured and kept shard by shard."""

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.config.run import RunConfig, feature_configs, nothing_to_choose
from ltr.data.candidates import Past
from ltr.data.catalogues.tools import ToolCatalogue
from ltr.data.distinct_tools import first_texts, united
from ltr.data.none_of_these_groups import answered
from ltr.data.previous_tools import past_of
from ltr.data.source_files import SourceFile
from ltr.data.splits import TIME
from ltr.data.tool_texts import ToolText
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.errors import DataError, UsageError
from ltr.evaluation.baselines import alone, best_of
from ltr.evaluation.best_single_feature import BestFeature
from ltr.evaluation.metrics.ranking_measures import MRR, TOP1
from ltr.experiments.l2_choice import Settled, choice_by_folds, judged_by
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.rankings_without_training import baselines_record, top1_sums, uses_of, wrong_first
from ltr.experiments.read_data import APPLIED
from ltr.experiments.resolved_config import decided_by
from ltr.experiments.run_preconditions import fitted_on_all, refuse_given_probabilities, refuse_half_sections
from ltr.experiments.sampling_correction import count_uncorrected, uncorrected_warnings
from ltr.experiments.settings_choice_warnings import choice_warnings
from ltr.experiments.shard_cross_validation import cross_validate_shards
from ltr.experiments.shard_evaluation import Wanted, WholeGroups, evaluate_shards
from ltr.experiments.training_columns import refuse_other_features
from ltr.experiments.training_shard_reader import TrainingShardReader, trace_codes
from ltr.features.prior_weights import prior_of
from ltr.files.path_arguments import AnyPath
from ltr.logs import stage
from ltr.results.evaluation_rules import rules_up_to
from ltr.results.fold_results import CrossValidation
from ltr.results.merged_evaluation import EvaluatedShards
from ltr.results.metric_sums import Sums
from ltr.results.tools_seen_in_training import answer_marks
from ltr.serving.router import Router
from ltr.serving.training_trace_marks import MOST_MARKS, trace_marks
from ltr.storage.plain_or_featurized_samples import read
from ltr.storage.sharded_columns import ColumnShards, columns_directory, open_columns, read_manifest
from ltr.storage.training_record import BaselinesRecord, training_record
from ltr.training.model import Model
from ltr.training.nonlinear_terms_of_shards import MOST_DISTINCT, SAMPLED, shard_terms
from ltr.training.shard_training import diagnose_shards, fit_shards, refuse_chain

SAMPLED_TERMS = (
    f"knots and centres of columns with {MOST_DISTINCT:,} distinct values or more are those of {SAMPLED:,} groups: "
    "those with the lowest digests of their numbers"
)
NONE_UNLEARNED = (
    "none: how probably nothing offered is right is learned from samples in memory, and not from a directory of columns"
)

FILES_INSTEAD = "name files of samples, which are read into memory"
NOT_CHOSEN = "a directory of columns: folds choose nothing; columns, knots, products and l2 are as the config says"
NEWCOMERS_UNLEARNED = (
    "newcomers: how a tool that was never right compares with others is learned from samples in memory, and not from a "
    "directory of columns"
)


@dataclass(frozen=True, slots=True)
class LearnedShards:
    """What was learned from a directory of columns, before it is measured."""

    config: RunConfig  # with everything decided: kind, features, encoder
    router: Router
    model: Model
    shards: ColumnShards
    folds: CrossValidation | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class ShardsResult:
    """What a run over shards came to."""

    config: RunConfig
    router: Router
    model: Model
    measured: EvaluatedShards
    files: tuple[SourceFile, ...]  # that were read
    warnings: tuple[str, ...]
    auto_encoder: str = ""  # the columns were made before

    def __repr__(self) -> str:
        """That of a RunResult."""
        return f"<ShardsResult {self.config.name!r}: {self.measured.headline()}>"


def run_shards(
    config: RunConfig,
    *,
    keep_in: AnyPath | None = None,
    on_progress: OnProgress = silent,
    engine: Engine = IN_PROCESS,
) -> ShardsResult:
    """Learn from the directory of columns that `data.train` names, rank the test samples, evaluate.

    With `keep_in` the record of each query is written to that file as it comes.
    """
    learned = learn_shards(config, on_progress=on_progress, engine=engine)
    tested, files = _test_shards(config, learned.shards)
    wanted = Wanted(split="train" if config.data.test is None else "test", tools=keep_in is not None)
    measured = evaluate_shards(
        learned.router, tested, learned.config, wanted, keep_in=keep_in, on_progress=on_progress, engine=engine
    )
    measured = replace(measured, folds=learned.folds)
    files = tuple(dict.fromkeys((*learned.shards.part_files, *files)))
    unlearned = (NONE_UNLEARNED,) if measured.counts["num_none"] and config.data.test is None else ()
    warnings = tuple(dict.fromkeys((*learned.warnings, *unlearned, *measured.warnings)))
    return ShardsResult(learned.config, learned.router, learned.model, measured, files, warnings)


def learn_shards(config: RunConfig, *, on_progress: OnProgress = silent, engine: Engine = IN_PROCESS) -> LearnedShards:
    """What newton learns from the directory, with all that a run keeps of the training."""
    shards, config, warnings = _opened(config, on_progress)
    kind, features = shards.manifest.kind, shards.features
    prior, source = prior_of(config.train, features.names), TrainingShardReader.of(shards)
    settings, folds = settled_by_folds(config, shards, prior, on_progress, engine)
    train = settings.train
    warnings += choice_warnings(config, settings, folds, None)
    terms, is_sampled = shard_terms(source, train, engine=engine)
    warnings += [SAMPLED_TERMS] * is_sampled
    with stage("training"):
        on_epoch = lambda epoch: on_progress(Step("training", epoch.number, None, epoch))  # noqa: E731
        model = fit_shards(source, train, terms=terms, prior=prior, on_epoch=on_epoch, engine=engine)
    with stage("diagnosis"):
        diagnosis = diagnose_shards(
            source, train, model, prior=prior, clusters=trace_codes(shards), names=features.names, engine=engine
        )
    summary = summarised(shards, engine)
    warnings += uncorrected_warnings(summary.uncorrected, shards.manifest.groups)
    training = msgspec.structs.replace(
        training_record(model, diagnosis, features.names, is_l2_chosen=settings.is_l2_chosen),
        best_feature=summary.best,
        baselines=summary.baselines,
        traces=summary.traces,
        answers=summary.answers,
        past=summary.past or "",
        folds=settings.by_folds,
    )
    trained = (kind, features.names, model.w, features, train, training, model.terms)
    return LearnedShards(
        config=decided_by(config, kind, features),
        router=Router(*trained, tools=summary.tools),
        model=model,
        shards=shards,
        folds=None if folds is None else replace(folds, past=summary.past),
        warnings=tuple(warnings),
    )


def _opened(config: RunConfig, on_progress: OnProgress) -> tuple[ColumnShards, RunConfig, list[str]]:
    """The directory that the config names, the config without what is not chosen there, and what is to be said."""
    directory = columns_directory(config.data.train)
    if directory is None:
        raise UsageError("data.train names no directory of columns")
    read_manifest(directory)  # whether it is one, before what is asked of it
    refuse_in_shards(config)
    on_progress(Step("reading"))
    shards = open_columns(directory)
    kind, warnings = shards.manifest.kind, [NOT_CHOSEN] * bool(config.train.choose)
    if config.kind and config.kind != kind:
        raise DataError(f"the config says kind {config.kind}; the columns are of {kind}s")
    warnings += [NEWCOMERS_UNLEARNED] * (config.train.newcomers and kind == "tool")
    config = nothing_to_choose(config)
    configs, _ = feature_configs(config, kind, sum(part.traces for part in shards.manifest.parts))
    refuse_other_features(config, tuple(column.name for column in configs), shards.features.names)
    return shards, config, warnings + [APPLIED] * shards.manifest.is_applied


def settled_by_folds(
    config: RunConfig, shards: ColumnShards, prior: FloatArray | None, on_progress: OnProgress, engine: Engine
) -> tuple[Settled, CrossValidation | None]:
    """The settings of the one fit whose weights are the result, and what folds say, where they are asked for."""
    train = config.train
    if train.folds is None:
        return Settled(replace(train, l2=train.penalty)), None
    if shards.manifest.is_applied:
        raise UsageError(f"folds is {train.folds}: not with columns that were applied (featurize -m); {FILES_INSTEAD}")
    longest, greatest = shards.extent()
    rules = rules_up_to(longest, config, also=judged_by(train))
    if rules.max_grade is None:
        rules = replace(rules, max_grade=max(greatest, 1.0))
    folds = cross_validate_shards(config, shards, rules, on_progress, prior=prior, engine=engine)
    return Settled(replace(train, l2=folds.l2), by_folds=choice_by_folds(folds, train.metric)), folds


def refuse_in_shards(config: RunConfig) -> None:
    """Raise for what a run over shards does not do, with what to do instead."""
    refuse_given_probabilities(config)
    refuse_half_sections(config)
    refuse_chain(config.train)
    data = config.data
    refused = {
        "sweep": bool(config.sweep),
        "train.l2 of several values without train.folds": len(config.train.l2s) > 1 and config.train.folds is None,
        "train.folds by time": config.train.folds is not None and data.split == TIME,
        "data.valid": data.valid is not None,
        "data.negatives": data.negatives is not None,
        "data.previous": data.previous is not None,
        "none": config.none.removed_share is not None or config.none.source is not None,
        "abstain": config.abstain.rule is not None,
    }
    if problem := next((name for name, is_asked in refused.items() if is_asked), ""):
        raise UsageError(f"{problem}: not with a directory of columns; {FILES_INSTEAD}")


@dataclass(frozen=True, slots=True, eq=False)
class Summary:
    """What a run keeps of its training groups beside the weights; that of shards adds up."""

    best: BestFeature
    baselines: BaselinesRecord
    traces: list[str]
    answers: list[str]
    past: Past | None
    tools: ToolCatalogue | None
    uncorrected: int  # groups whose drawn rows get no offset


@dataclass(frozen=True, slots=True, eq=False)
class _ShardSummary:
    alone: dict[BestFeature, Sums]
    uses: Counter[str]
    wrong_first: int
    traces: list[str]
    answers: list[str]
    past: Past | None
    tools: ToolCatalogue
    uncorrected: int


def summarised(shards: ColumnShards, engine: Engine = IN_PROCESS) -> Summary:
    """The best single feature, the marks of traces and right tools, and the tools."""
    alone_sums, tools, answers, traces = dict[BestFeature, Sums](), dict[str, ToolText](), set[str](), list[str]()
    past: Past | None = None
    uses, are_wrong_first, uncorrected = Counter[str](), 0, 0
    for part in engine.map(partial(_shard_summary, shards=shards), range(len(shards))):
        if part is None:
            continue
        alone_sums = {name: alone_sums[name] + sums if alone_sums else sums for name, sums in part.alone.items()}
        uses += part.uses
        are_wrong_first += part.wrong_first
        traces = sorted((*traces, *part.traces))[:MOST_MARKS]
        answers.update(part.answers)
        tools = united((tools, part.tools))
        past = past or part.past
        uncorrected += part.uncorrected
    means = {
        feature: {name: sums.sums[name] / max(sums.numbers[name], 1) for name in (MRR, TOP1)}
        for feature, sums in alone_sums.items()
    }
    best = best_of({feature: (of[MRR], of[TOP1]) for feature, of in means.items()})
    baselines = _baselines_of_shards(shards, uses, are_wrong_first, engine)
    is_tools = shards.manifest.kind == "tool"
    return Summary(best, baselines, traces, sorted(answers), past, tools if is_tools else None, uncorrected)


def _shard_summary(number: int, shards: ColumnShards) -> _ShardSummary | None:
    groups = answered(shards[number])
    if groups is None:
        return None
    candidates, features = groups.candidates, shards.features
    phi = np.empty((0, len(features.names))) if candidates.features is None else candidates.features
    evaluated = alone(features.names, phi, groups.labels, groups.offsets)
    return _ShardSummary(
        alone={feature: Sums.of(evaluation, None) for feature, evaluation in evaluated},
        uses=uses_of(groups),
        wrong_first=wrong_first(groups),
        traces=trace_marks(candidates)[:MOST_MARKS],
        answers=answer_marks(groups),
        past=past_of(candidates),
        tools=first_texts(candidates) if candidates.kind == "tool" else {},
        uncorrected=count_uncorrected(groups),
    )


def _baselines_of_shards(
    shards: ColumnShards, uses: Counter[str], are_wrong_first: int, engine: Engine
) -> BaselinesRecord:
    """Measure the rankings without training in a second pass: what was used elsewhere is known after the first."""
    sums, missing = dict[str, Sums](), dict[str, str]()
    for part in engine.map(partial(_shard_top1, shards=shards, uses=uses), range(len(shards))):
        if part is not None:
            sums = {name: sums[name] + of if name in sums else of for name, of in part[0].items()}
            missing |= part[1]
    sums = {name: of for name, of in sums.items() if name not in missing}
    return baselines_record(sums, missing, uses, are_wrong_first=are_wrong_first)


def _shard_top1(number: int, shards: ColumnShards, uses: Counter[str]) -> tuple[dict[str, Sums], dict[str, str]] | None:
    groups = answered(shards[number])
    if groups is None or groups.candidates.features is None:
        return None
    columns = dict(zip(shards.features.names, groups.candidates.features.T, strict=True))
    return top1_sums(groups, columns, None, uses)


def _test_shards(config: RunConfig, train: ColumnShards) -> tuple[ColumnShards | WholeGroups, tuple[SourceFile, ...]]:
    """What the run is measured on, and the files it was read from."""
    test = config.data.test
    if test is None:
        return train, ()
    if isinstance(test, float):
        raise fitted_on_all("test is a share")
    if directory := columns_directory(test):
        shards = open_columns(directory)
        return shards, shards.part_files
    groups, _ = read(test, config.data)
    return WholeGroups(groups), (*groups.candidates.files, *groups.candidates.catalogues)
