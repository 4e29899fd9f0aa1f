"""The whole flow, once: samples -> groups -> phi -> w -> ranking -> metrics. Here data and numbers meet."""

from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.config.run import RunConfig
from ltr.data.distinct_tools import tools_to_rank
from ltr.data.groups import Groups
from ltr.data.previous_tools import past_of
from ltr.encoders.registry import AUTO
from ltr.evaluation.baselines import best_feature
from ltr.evaluation.best_single_feature import BestFeature
from ltr.experiments.abstention_calibration import abstaining
from ltr.experiments.cross_fitted_scores import fold_models
from ltr.experiments.cross_validation import cross_validate
from ltr.experiments.evaluate_router import evaluate_router
from ltr.experiments.l2_choice import Settled, judged_by, settled, validation
from ltr.experiments.model_selection import chosen
from ltr.experiments.newcomers_training import training_columns, with_newcomers
from ltr.experiments.none_of_these_training import learn_none, none_source
from ltr.experiments.past_from_own_choices import rows_to_learn, with_own_past
from ltr.experiments.progress import OnProgress, Step, silent
from ltr.experiments.rankings_without_training import training_baselines
from ltr.experiments.resolved_config import decided
from ltr.experiments.sampling_correction import score_offset
from ltr.experiments.settings_choice_warnings import choice_warnings
from ltr.experiments.shared_inputs import SharedInputs
from ltr.experiments.training_columns import Prepared
from ltr.features.corrections import Rarity
from ltr.features.prior_weights import prior_of
from ltr.features.registry import FEATURES
from ltr.logs import stage
from ltr.reporting.abstention_section import broken_promise
from ltr.results.evaluated_ranking import EvaluatedRanking
from ltr.results.evaluation_rules import rules
from ltr.results.tools_seen_in_training import answer_marks
from ltr.serving.correction_term import corrected
from ltr.serving.router import Router
from ltr.serving.training_trace_marks import MOST_MARKS, trace_marks
from ltr.storage.training_groups import Learned
from ltr.storage.training_record import BaselinesRecord, RecommendedChoiceRecord, TrainingRecord, training_record
from ltr.training.config import L2, TrainConfig
from ltr.training.diagnosis import Diagnosis, diagnose
from ltr.training.epochs_and_progress import OnEpoch, Progress
from ltr.training.fit import fit
from ltr.training.model import Model
from ltr.training.validation_metric import Validation


@dataclass(frozen=True, slots=True, repr=False)
class RunResult:
    """What a run came to."""

    config: RunConfig  # with everything decided: kind, features, encoder
    router: Router
    model: Model
    train: Groups
    measured: EvaluatedRanking
    warnings: tuple[str, ...]
    auto_encoder: str = ""  # the encoder that auto took, where texts were encoded
    learned: Learned | None = None  # what outcomes are learned beside; None for ready numbers

    def __repr__(self) -> str:
        """What a notebook shows of it: how good it is, none of its arrays."""
        return f"<RunResult {self.config.name!r}: {self.measured.headline()}>"


def run(
    config: RunConfig,
    *,
    on_progress: OnProgress = silent,
    resume: Progress | None = None,
    shared: SharedInputs | None = None,
) -> RunResult:
    """Learn from the training samples, rank the test samples, evaluate.

    The training goes on from `resume`; `shared` is what other runs of the same data and features have read and made.
    """
    shared = SharedInputs(config) if shared is None else shared.for_run(config)
    is_l2_open, all_columns = L2 in config.train.choose, shared
    choice = chosen(config, shared, on_progress)
    config, shared = choice.config, choice.shared
    data, prepared = shared.data(on_progress), shared.columns(on_progress)
    groups, phi, names = prepared.groups, prepared.phi, prepared.names
    best, best_column, beside = best_and_baselines(all_columns.columns())
    del all_columns  # what folds left out has been ranked by: its columns take memory
    valid_phi = shared.valid_columns()
    valid = None if data.valid is None or valid_phi is None else validation(config, data.valid, valid_phi)
    folds, prior = None, prior_of(config.train, names)
    if config.train.folds is not None:
        fold_rules = rules(config, groups, also=judged_by(config.train))
        folds = cross_validate(config, shared.foldable(), shared.fold_columns, fold_rules, on_progress, prior=prior)
    settings = settled(config, phi, groups, folds, valid, prior=prior)
    model, diagnosis = fitted(config, settings.train, prepared, on_progress, valid=valid, resume=resume)
    by_folds = is_l2_open and choice.record is not None and choice.record.folds > 0
    is_l2_chosen = by_folds or settings.is_l2_chosen
    training = recorded(model, diagnosis, prepared, settings, choice.record, is_l2_chosen=is_l2_chosen)
    training = msgspec.structs.replace(training, best_feature=best, baselines=beside)
    trained = (groups.candidates.kind, names, model.w, prepared.features, settings.train, training, model.terms)
    router = with_newcomers(Router(*trained), prepared, settings.train)
    router = with_none_and_abstaining(router, config, (groups, data.calibrate), on_progress)
    learned = None
    if router.features is not None and groups.candidates.features is None:
        samples, outcomes = data.told
        has_layer = router.kind == "tool"
        rarity = Rarity.of(samples.candidates, router.features.encoder) if has_layer else Rarity.flat()
        learned = Learned(rarity, samples, outcomes)
        router = corrected(router, outcomes, learned.rarity)
    phi = shared.test_columns() if data.test else training_columns(router, prepared)
    on_progress(Step("measuring"))
    split = "test" if data.test else "train"
    measured = evaluate_router(
        router,
        data.test or groups,
        config,
        phi=_with_added(router, phi, data.test or groups),
        split=split,
        best_column=lambda asked: (best_column.applied(asked.candidates) if data.test else best_column.phi)[:, 0],
    )
    doubts = choice_warnings(config, settings, folds, model.training.watched)
    first = broken_promise(measured.abstention)
    warnings = tuple(dict.fromkeys((*first, *data.warnings, *doubts, *prepared.warnings, *measured.warnings)))
    measured = replace(measured, folds=folds)
    if prepared.features:
        router = replace(router, tools=tools_to_rank(groups.candidates, config.data))
    auto_encoder = _auto_encoder(config, prepared)
    return RunResult(decided(config, prepared), router, model, groups, measured, warnings, auto_encoder, learned)


def fitted(
    config: RunConfig,
    train: TrainConfig,
    prepared: Prepared,
    on_progress: OnProgress = silent,
    *,
    valid: Validation | None = None,
    resume: Progress | None = None,
) -> tuple[Model, Diagnosis]:
    """The model of the groups and their columns, and what is known of it."""
    prior = prior_of(train, prepared.names)
    phi, learned = rows_to_learn(config, train, prepared, on_progress)
    inputs = (phi, learned.labels, learned.offsets, train)
    fixed: dict[str, Any] = {"weights": learned.weights, "score_offset": score_offset(learned), "prior": prior}
    with stage("training"):
        model = fit(*inputs, **fixed, valid=valid, on_epoch=_epoch_steps(train, on_progress), progress=resume)
    with stage("diagnosis"):
        traces = learned.candidates.traces
        return model, diagnose(*inputs, model, **fixed, clusters=traces, names=prepared.names)


def _with_added(router: Router, phi: FloatArray, groups: Groups) -> FloatArray:
    """The columns with those that were put beside trained ones, of newcomers and of corrections."""
    added = router.names[phi.shape[1] :]
    if not added:
        return phi
    needed = router.fitted.only(*added, *(FEATURES[name].finish.times for name in added))
    return np.column_stack([phi, needed(groups.candidates)[:, -len(added) :]])


def _epoch_steps(train: TrainConfig, on_progress: OnProgress) -> OnEpoch:
    """What hears of each epoch of a training."""
    epochs = train.epochs if train.trainer == "descent" else None
    return lambda epoch: on_progress(Step("training", epoch.number, epochs, epoch))


def _auto_encoder(config: RunConfig, prepared: Prepared) -> str:
    """The encoder that `auto` took; "" where it took none."""
    is_auto = config.encoder == AUTO and prepared.groups.candidates.features is None
    return prepared.features.encoder.name if is_auto and prepared.features else ""


def best_and_baselines(made: Prepared) -> tuple[BestFeature, Prepared, BaselinesRecord]:
    """Return the best of all columns that were made, alone, and how the training groups rank without training."""
    groups, names = made.groups, made.names
    best = best_feature(names, made.phi, groups.labels, groups.offsets)
    alone = made.only(np.array([names.index(best.name)]))
    return best, alone, training_baselines(groups, made.phi, names, made.features)


def recorded(
    model: Model,
    diagnosis: Diagnosis,
    prepared: Prepared,
    settings: Settled,
    choice: RecommendedChoiceRecord | None,
    *,
    is_l2_chosen: bool,
) -> TrainingRecord:
    """What is kept of the training beside w: how it went, what chose its settings, what it learned from."""
    groups, names = prepared.groups, prepared.names
    return msgspec.structs.replace(
        training_record(model, diagnosis, names, is_l2_chosen=is_l2_chosen),
        traces=trace_marks(groups.candidates)[:MOST_MARKS],
        answers=answer_marks(groups),
        past=past_of(groups.candidates) or "",
        folds=settings.by_folds,
        validated=settings.by_validation,
        choice=choice,
    )


def with_none_and_abstaining(
    router: Router, config: RunConfig, groups: tuple[Groups, Groups | None], on_progress: OnProgress = silent
) -> Router:
    """The router with what is learned while its weights are held: P(none), and when it abstains.

    `groups`: those it was trained on, and those that calibrate.
    """
    train, calibrate = groups
    source = none_source(config.none, train, config.seed)
    if source is None and config.abstain.chosen is None:
        return router
    if calibrate is not None and past_of(calibrate.candidates) == "labels":
        calibrate = with_own_past(router, calibrate)[0]
    models = fold_models(config, router.trainer, train, () if source is None else (source.none,), on_progress)
    router = replace(router, none=None if source is None else learn_none(config, source, models))
    if config.abstain.chosen is None or calibrate is None:
        return router
    scored = models.scored(train)
    rule = abstaining(router, config.abstain.chosen, calibrate, scored, models.of_groups(train), config.seed)
    return replace(router, abstain=rule)
