"""The whole flow, once: samples -> columns -> what folds choose -> w -> steps -> ranking -> metrics. Read it first."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import msgspec
import numpy as np

from ltr.arrays import FloatArray
from ltr.choose import choose
from ltr.columns import IN_MEMORY, Data, Features, Prepared, Work, clusters_of, columns_key, data_key
from ltr.config import RunConfig
from ltr.doubts import candidate_warnings
from ltr.encoders import AUTO
from ltr.engine import EngineConfig, open_engine
from ltr.errors import UsageError
from ltr.evaluation import all_named
from ltr.features import FEATURES, FittedFeatures, Rarity, prior_of
from ltr.folds import Settled, choice_warnings, cross_validate, judging_rules, settled
from ltr.logs import stage
from ltr.paths import AnyPath
from ltr.progress import OnProgress, Step, silent
from ltr.read import read_data, reads_directory
from ltr.records.abstain import broken_promise
from ltr.records.training import RecommendedChoiceRecord, TrainingRecord, training_record
from ltr.results import Evaluated, Wanted, evaluate_router, untrained
from ltr.runs import Learned
from ltr.samples import Groups, Kind, Past, Shards, TableRows, Whole
from ltr.serving import Router
from ltr.steps import abstain, none
from ltr.steps.heldout import Held
from ltr.steps.negatives import uncorrected_warnings
from ltr.steps.newcomers import newcomer_columns, with_newcomers
from ltr.steps.past import designs_to_learn
from ltr.temporary import temporary_directory
from ltr.training import (
    L2,
    Designs,
    Diagnosis,
    Model,
    OnEpoch,
    Progress,
    Terms,
    TrainConfig,
    Validation,
    diagnose,
    extent_of,
    fit_designs,
)

OTHER_ORDER = (
    "descent goes through a directory of columns part by part, and not by the first line of each query: another order "
    "of steps, which ends in other weights than the same samples in memory"
)


@dataclass(frozen=True, slots=True, repr=False)
class RunResult:
    """Result of a run: router, metrics, warnings."""

    config: RunConfig  # with everything decided: kind, features, encoder
    router: Router
    model: Model
    data: Data
    measured: Evaluated
    warnings: tuple[str, ...]
    auto_encoder: str = ""  # the encoder that auto took, where texts were encoded
    learned: Learned | None = None  # what outcomes are learned beside; None for ready numbers

    def __repr__(self) -> str:
        """What a notebook shows of it: how good it is, none of its arrays."""
        return f"<RunResult {self.config.name!r}: {self.measured.headline()}>"

    @property
    def train(self) -> Groups:
        """The training groups, where they are in memory."""
        if not isinstance(self.data.train, Whole):
            raise UsageError("the training samples are read shard by shard")
        return self.data.train.groups


def run(
    config: RunConfig,
    *,
    on_progress: OnProgress = silent,
    resume: Progress | None = None,
    shared: Features | None = None,
) -> RunResult:
    """Learn from the training samples, rank the test samples, evaluate.

    The training goes on from `resume`; `shared` is what other runs of the same data and features have read and made.
    """
    if shared is not None:
        return learn(config, features_of(config, shared), on_progress=on_progress, resume=resume)
    with work_for(config) as work:
        features = features_of(config, work=work, on_progress=on_progress)
        return learn(config, features, on_progress=on_progress, resume=resume)


@contextmanager
def work_for(config: RunConfig, code: Sequence[str] = ()) -> Iterator[Work]:
    """Open the engine that works on directories of columns, and a folder; samples in memory need neither."""
    if not reads_directory(config):
        yield IN_MEMORY
        return
    with open_engine(config.engine, code) as engine, temporary_directory() as folder:
        yield Work(engine, folder)


def features_of(
    config: RunConfig,
    last: Features | None = None,
    *,
    work: Work = IN_MEMORY,
    given: Mapping[str, TableRows] | None = None,
    on_progress: OnProgress = silent,
) -> Features:
    """Return the columns of a run: those of the last one, or of what it read, where the configs share them.

    `given`: rows that stand for files.
    """
    if last is not None and last.work == work == IN_MEMORY:  # what is made of shards lies in their own folder
        if columns_key(config) == columns_key(last.config):
            return last
        if data_key(config) == data_key(last.config):
            return Features(config, last.data, work)
    on_progress(Step("reading"))
    return Features(config, read_data(config, given, engine=work.engine), work)


def learn(
    config: RunConfig,
    features: Features,
    *,
    on_progress: OnProgress = silent,
    resume: Progress | None = None,
    keep_in: AnyPath | None = None,
) -> RunResult:
    """Learn from columns that are made at the first call, rank the test samples, evaluate.

    With `keep_in` the record of each query is written to that file as it comes.
    """
    data, work, is_l2_open = features.data, features.work, L2 in config.train.choose
    choice = choose(config, features, on_progress)
    beside = untrained(features.training(on_progress))
    marks, past = beside.marks, beside.marks.past
    config, features = choice.config, choice.features
    prepared, valid = features.training(), features.designs("valid")
    prior = prior_of(config.train, prepared.names)
    watched = None if valid is None else Validation(valid, judging_rules(config), engine=work.engine)
    folds = None if config.train.folds is None else cross_validate(config, features, past, on_progress, prior=prior)
    settings = settled(config, prepared.designs, folds, watched, prior=prior, engine=work.engine)
    model, diagnosis = fitted(config, settings.train, prepared, past, on_progress, valid=watched, resume=resume)
    by_folds = is_l2_open and choice.record is not None and choice.record.folds > 0
    is_l2_chosen = by_folds or settings.is_l2_chosen
    training = recorded(model, diagnosis, prepared, settings, choice.record, is_l2_chosen=is_l2_chosen)
    training = beside.put_into(marks.put_into(training))
    trained = (prepared.kind, prepared.names, model.w, prepared.features, settings.train, training, model.terms)
    router = with_newcomers(Router(*trained), prepared, data.samples, settings.train)
    held = Held(config, settings.train, features, on_progress)  # models that know nothing of what they score
    router = none.learn(router, config, features, held, has_none=marks.num_none > 0)
    router = abstain.learn(router, config, features, held)
    router, learned = with_corrections(router, data)
    measured = measured_on(router, config, features, beside.column, on_progress, keep_in)
    router = replace(router, tools=marks.tools_to_rank(config, data)) if prepared.features else router
    warnings = (
        *broken_promise(measured.record.abstention),
        *data.warnings,
        *_of_held(router, data),
        *([] if isinstance(data.train, Whole) else uncorrected_warnings(marks.uncorrected, marks.groups)),
        *([Terms.SAMPLED_NOTE] if model.terms.are_sampled else ()),
        *([OTHER_ORDER] if settings.train.trainer == "descent" and not isinstance(prepared.designs, tuple) else ()),
        *choice_warnings(config, settings, folds, model.training.watched),
        *prepared.warnings,
        *measured.warnings,
    )
    return RunResult(
        config=decided(config, prepared.kind, prepared.features),
        router=router,
        model=model,
        data=data,
        measured=measured.with_folds(folds),
        warnings=tuple(dict.fromkeys(warnings)),
        auto_encoder=_auto_encoder(config, prepared),
        learned=learned,
    )


def _of_held(router: Router, data: Data) -> Iterator[str]:
    """Say what makes the columns of a directory to be held out mean less than they seem to."""
    for name, shards in (("validation", data.valid), ("calibration", data.calibrate)):
        if shards is not None and not isinstance(shards, Whole):
            yield from (f"{name} data: {doubt}" for doubt in candidate_warnings(router, shards[0].candidates))


def fitted(
    config: RunConfig,
    train: TrainConfig,
    prepared: Prepared,
    past: Past | None,
    on_progress: OnProgress = silent,
    *,
    valid: Validation | None = None,
    resume: Progress | None = None,
) -> tuple[Model, Diagnosis]:
    """Return the model of the groups and their columns, and what is known of it; `past`: what theirs is made of."""
    prior, engine = prior_of(train, prepared.names), prepared.work.engine
    designs = designs_to_learn(config, train, prepared, past, on_progress)
    on_epoch = _epoch_steps(train, on_progress)
    with stage("training"):
        model = fit_designs(designs, train, prior=prior, valid=valid, on_epoch=on_epoch, progress=resume, engine=engine)
    with stage("diagnosis"):
        clusters, names = clusters_of(designs), prepared.names
        return model, diagnose(designs, train, model, prior=prior, clusters=clusters, names=names, engine=engine)


def _epoch_steps(train: TrainConfig, on_progress: OnProgress) -> OnEpoch:
    """Return the callback that reports each epoch."""
    epochs = train.epochs if train.trainer == "descent" else None
    return lambda epoch: on_progress(Step("training", epoch.number, epochs, epoch))


def recorded(
    model: Model,
    diagnosis: Diagnosis,
    prepared: Prepared,
    settings: Settled,
    choice: RecommendedChoiceRecord | None,
    *,
    is_l2_chosen: bool,
) -> TrainingRecord:
    """Return what is kept of the training beside w: how it went, and what chose its settings."""
    record = training_record(model, diagnosis, prepared.names, is_l2_chosen=is_l2_chosen)
    return msgspec.structs.replace(record, folds=settings.by_folds, validated=settings.by_validation, choice=choice)


def with_corrections(router: Router, data: Data) -> tuple[Router, Learned | None]:
    """Return the router with the layer of outcomes among samples in memory, and what later ones are learned beside."""
    is_plain = isinstance(data.train, Whole) and data.train.groups.candidates.features is None
    if router.features is None or not is_plain:
        return router, None
    samples, outcomes = data.told
    has_layer = router.kind == "tool"
    rarity = Rarity.of(samples.candidates, router.features.encoder) if has_layer else Rarity.flat()
    return router.corrected(outcomes, rarity), Learned(rarity, samples, outcomes)


def measured_on(
    router: Router,
    config: RunConfig,
    features: Features,
    best: Prepared,
    on_progress: OnProgress = silent,
    keep_in: AnyPath | None = None,
) -> Evaluated:
    """Measure the router on the test samples, or without any on the training samples; `best`: the best column."""
    data, prepared, phi = features.data, features.training(), None
    shards, columns = data.test or data.train, list[Designs | None]()
    if data.test is None:
        columns = [prepared.designs, newcomer_columns(router, prepared, data.samples)]
    elif isinstance(data.test, Whole):
        columns = [features.designs("test")]
    designs = tuple(of for of in columns if of is not None)
    if isinstance(shards, Whole):
        known = np.column_stack([np.asarray(of[0].phi) for of in designs])
        phi = _with_added(router, np.ascontiguousarray(known), shards.groups)
    elif data.test is None:
        shards = Bearing(shards, designs, router.names)
    elif shards[0].candidates.feature_names != router.names:
        shards = shards.changed(Groups.without_numbers)
    is_test = data.test is not None

    def best_column(asked: Groups) -> FloatArray:
        return (best.applied(asked.candidates) if is_test else best.phi)[:, 0]

    options: dict[str, Any] = {"phi": phi, "on_progress": on_progress, "engine": features.work.engine}
    options["best_column"] = best_column if isinstance(prepared.shards, Whole) else None
    return evaluate_router(
        router, shards, config, Wanted(split="test" if is_test else "train", keep_in=keep_in), **options
    )


def _with_added(router: Router, phi: FloatArray, groups: Groups) -> FloatArray:
    """The columns with those that were put beside trained ones, of newcomers and of corrections."""
    added = router.names[phi.shape[1] :]
    if not added:
        return phi
    needed = router.fitted.only(*added, *(FEATURES[name].finish.times for name in added))
    return np.column_stack([phi, needed(groups.candidates)[:, -len(added) :]])


@dataclass(frozen=True, slots=True, eq=False)
class Bearing(Shards):
    """Training groups in shards that bear their cross-fitted columns, which know nothing of their own traces."""

    shards: Shards
    designs: tuple[Designs, ...]  # of columns that stand side by side
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.shards)

    def extent(self) -> tuple[int, float]:
        """Return the candidates of the longest group, and the greatest label."""
        return extent_of(self.designs[0])

    def __getitem__(self, number: int) -> Groups:
        groups = self.shards[number]
        if groups.candidates.feature_names == self.names:
            return groups
        phi = np.column_stack([np.asarray(designs[number].phi) for designs in self.designs])
        plain = groups.without_numbers()
        return replace(plain, candidates=replace(plain.candidates, features=phi, feature_names=self.names))


def decided(config: RunConfig, kind: Kind, features: FittedFeatures | None) -> RunConfig:
    """Return the config with what the data and the machine decided, so that it says all that was done.

    Who did it changes no result, and is left out.
    """
    metrics = tuple(measure.name for measure in all_named(config.evaluate.metrics))
    config = replace(config, kind=kind, evaluate=replace(config.evaluate, metrics=metrics), engine=EngineConfig())
    if features is None:
        return config
    return replace(config.with_columns(features.configs), encoder=features.encoder.name)


def _auto_encoder(config: RunConfig, prepared: Prepared) -> str:
    """The encoder that `auto` took; "" where it took none."""
    is_auto = config.encoder == AUTO and not prepared.is_given
    return prepared.features.encoder.name if is_auto and prepared.features else ""
