"""The whole flow, once: samples -> groups -> phi -> w -> ranking -> metrics. Here data and numbers meet."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace

import msgspec

from ltr.arrays import FloatArray
from ltr.config.run import RunConfig
from ltr.data.groups import Groups
from ltr.evaluation.baselines import baselines, best_feature
from ltr.evaluation.metrics.registry import all_named
from ltr.experiments.cross_validation import Settled, cross_validate, judged_by, settled, validation
from ltr.experiments.loading import Loaded
from ltr.experiments.shared_inputs import Prepared, SharedInputs
from ltr.experiments.warnings import choice_warnings, outdone_warnings
from ltr.logs import stage
from ltr.results.evaluated_ranking import CrossValidation, EvaluatedRanking, evaluate_groups, gain, rules
from ltr.results.training_summary import training_record
from ltr.serving.candidate_warnings import MOST_MARKS, candidate_warnings, trace_marks, training_trace_warnings
from ltr.serving.router import Router
from ltr.training.config import OnEpoch, Progress, ignore
from ltr.training.diagnosis import Diagnosis, diagnose
from ltr.training.early_stopping import Validation
from ltr.training.fit import fit
from ltr.training.model import Model


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to."""

    config: RunConfig  # with everything decided: kind, features, encoder
    router: Router
    model: Model
    train: Groups
    measured: EvaluatedRanking
    warnings: tuple[str, ...]


Begin = Callable[[Loaded], Progress | None]


def run(
    config: RunConfig,
    *,
    on_epoch: OnEpoch = ignore,
    begin: Begin = lambda loaded: None,
    shared: SharedInputs | None = None,
) -> RunResult:
    """Learn from the training samples, rank the test samples, measure.

    `begin` tells where to go on from; `shared` is what other runs of the same data and features have made.
    """
    shared = SharedInputs(config) if shared is None else shared.for_run(config)
    loaded = shared.loaded
    progress, prepared, groups = begin(loaded), shared.prepared, shared.prepared.groups
    folds = _cross_validated(config, shared)
    held = _validation(config, shared)
    settings = settled(config, prepared.phi, groups, folds, held)
    given, traces = (prepared.phi, groups.labels, groups.offsets, settings.train), groups.candidates.traces
    with stage("training"):
        model = fit(*given, weights=groups.weights, valid=held, on_epoch=on_epoch, progress=progress)
    with stage("diagnosis"):
        diagnosis = diagnose(*given, model, weights=groups.weights, clusters=traces, names=prepared.names)
    router = new_router(settings, prepared, model, diagnosis)
    split = "test" if loaded.test else "train"
    measured = evaluate_router(router, loaded.test or groups, config, phi=shared.test_phi(router), split=split)
    chosen = choice_warnings(config, settings, folds, model.training.watched)
    warnings = tuple(dict.fromkeys((*loaded.warnings, *chosen, *prepared.warnings, *measured.warnings)))
    return RunResult(decided(config, prepared), router, model, groups, replace(measured, folds=folds), warnings)


def _cross_validated(config: RunConfig, shared: SharedInputs) -> CrossValidation | None:
    """What the folds say, where they are asked for; measured as the test data are."""
    if config.train.folds is None:
        return None
    groups = shared.foldable()
    return cross_validate(config, groups, shared.featurise, rules(config, groups, also=judged_by(config.train)))


def _validation(config: RunConfig, shared: SharedInputs) -> Validation | None:
    """The validation groups as the training watches them, if there are any."""
    valid, phi = shared.loaded.valid, shared.valid_phi
    return None if valid is None or phi is None else validation(config, valid, phi)


def new_router(settings: Settled, prepared: Prepared, model: Model, diagnosis: Diagnosis) -> Router:
    """What is kept of a training: weights, features, and what is known about them."""
    names, groups = prepared.names, prepared.groups
    best = best_feature(names, prepared.phi, groups.labels, groups.offsets)
    training = msgspec.structs.replace(
        training_record(model, diagnosis, names, best),
        traces=trace_marks(groups.candidates)[:MOST_MARKS],
        folds=settings.by_folds,
        validated=settings.by_validation,
    )
    return Router(groups.candidates.kind, names, model.w, prepared.features, settings.train, training, model.knots)


@stage("measuring")
def evaluate_router(
    router: Router,
    groups: Groups,
    config: RunConfig,
    *,
    phi: FloatArray | None = None,
    also: Collection[str] = (),
    split: str = "given",
) -> EvaluatedRanking:
    """The groups ranked by the router and measured, also by other metrics than the config's, beside the baselines.

    Its warnings say what the groups make doubtful. `split`: train or test where they are those of the router's run,
    which has compared them when it read them.
    """
    phi = router.phi(groups.candidates) if phi is None else phi
    measured = replace(evaluate_groups(groups, phi, router.scores(phi), config, also=also), split=split)
    if config.evaluate.baselines:
        best, asked = router.training.best_feature, rules(config, groups, also=also)
        beside = baselines(phi, groups.labels, measured.ranking, asked, best=best, names=router.names)
        measured = replace(measured, baselines=beside, best=best)
        measured = replace(measured, gain=gain(measured, config.seed))
    learned = training_trace_warnings(router, groups.candidates) if split == "given" else ()
    before = (*learned, *candidate_warnings(router, groups.candidates))
    warnings = (*before, *measured.warnings, *outdone_warnings(measured))
    return replace(measured, warnings=warnings)


def decided(config: RunConfig, prepared: Prepared) -> RunConfig:
    """The config with what the data and the machine decided, so that it says all that was done."""
    kind = prepared.groups.candidates.kind
    metrics = tuple(each.name for each in all_named(config.evaluate.metrics))
    config = replace(config, kind=kind, evaluate=replace(config.evaluate, metrics=metrics))
    if prepared.features is None:
        return config
    features = tuple(
        {"name": each.name, **each.options} if each.options else each.name for each in prepared.features.configs
    )
    return replace(config, features=features, encoder=prepared.features.encoder.name)
