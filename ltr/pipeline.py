"""The whole flow, once: samples -> groups -> phi -> w -> ranking -> metrics. Here data and numbers meet."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from ltr.arrays import FloatArray
from ltr.artifacts import (
    Router,
    fit_digest,
    load_columns,
    nameless,
    refuse_other_columns,
    sidecar,
    state_of,
    training_document,
)
from ltr.baselines import BestFeature, baselines, best_feature
from ltr.catalogues import read_graphs, read_tools
from ltr.columns import SourceFile
from ltr.config import DataConfig, RunConfig, feature_configs
from ltr.doubts import MOST_MARKS, doubts, marks, nothing_right
from ltr.encoders import AUTO, best_installed
from ltr.errors import DataError, UsageError
from ltr.features import FittedFeatures, fit_features
from ltr.files import STDIN, digest, expand
from ltr.folds import CrossValidation, Featurise, cross_validate, folds_document, settled, validation
from ltr.groups import Candidates, Groups, read_groups
from ltr.measured import Measured, measured_groups, rules, truth_of
from ltr.metrics import all_named
from ltr.model import Model
from ltr.splits import taken_out
from ltr.train import Diagnosis, Progress, TrainConfig, diagnose, fit
from ltr.train.config import OnEpoch, ignore
from ltr.validate import quick_findings


@dataclass(frozen=True, slots=True)
class Prepared:
    """Groups with their phi, and the features that made it; None for ready numbers without a state."""

    groups: Groups
    phi: FloatArray
    features: FittedFeatures | None
    warnings: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns of phi."""
        return self.features.names if self.features else nameless(self.phi.shape[1])

    def applied(self, candidates: Candidates) -> FloatArray:
        """The columns of candidates that were not trained on."""
        if candidates.features is None and self.features is not None:
            return self.features(candidates)
        if candidates.features is None:
            raise DataError("the training samples bear ready numbers; the others need them too")
        refuse_other_columns(self.names, candidates)
        return candidates.features


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to."""

    config: RunConfig  # with everything decided: kind, features, encoder
    router: Router
    model: Model
    train: Groups
    measured: Measured
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What a run reads."""

    train: tuple[Groups, FittedFeatures | None]  # with the state they bear
    valid: Groups | None
    test: Groups | None
    warnings: tuple[str, ...]  # what is odd about them


APPLIED = (
    "the features of the training samples were applied (featurize -m), not cross-fitted: if they learned from these "
    "samples, the weights trust them too much"
)
STATELESS = "the samples bear ready numbers without the state that made them: the model ranks featurised samples only"
Begin = Callable[[Loaded], Progress | None]


def run(config: RunConfig, *, on_epoch: OnEpoch = ignore, begin: Begin = lambda loaded: None) -> RunResult:
    """Learn from the training samples, rank the test samples, measure; begin tells where to go on from."""
    loaded = load(config)
    progress = begin(loaded)
    prepared = prepare(config, *loaded.train)
    folds = cross_validate(config, *_foldable(config, loaded)) if config.train.folds else None
    held = None if loaded.valid is None else validation(config, loaded.valid, prepared.applied(loaded.valid.candidates))
    groups = prepared.groups
    settings = settled(config, prepared.phi, groups, folds, held)
    given = (prepared.phi, groups.labels, groups.offsets, settings)
    model = fit(*given, weights=groups.weights, valid=held, on_epoch=on_epoch, progress=progress)
    traces = groups.candidates.traces
    diagnosis = diagnose(*given, model, weights=groups.weights, clusters=traces, names=prepared.names)
    router = new_router(settings, prepared, model, diagnosis, folds)
    test = loaded.test
    measured = evaluate_router(router, test or groups, config, phi=None if test else prepared.phi)
    measured = replace(measured, split="test" if test else "train", folds=folds)
    known = (*loaded.warnings, *prepared.warnings, *doubts(router, (test or loaded.train[0]).candidates))
    told = tuple(dict.fromkeys((*known, *nothing_right(measured.evaluation))))
    return RunResult(decided(config, prepared), router, model, groups, measured, told)


def _foldable(config: RunConfig, loaded: Loaded) -> tuple[Groups, Featurise]:
    """The training groups, and how each fold makes its columns: anew, of nothing but the fold."""
    groups, state = loaded.train
    refuse_fitted(state, "folds are asked for")

    def featurise(learned: Groups) -> tuple[FloatArray, Callable[[Candidates], FloatArray]]:
        prepared = prepare(config, learned, state)
        return prepared.phi, prepared.applied

    return groups, featurise


def load(config: RunConfig) -> Loaded:
    """Training groups, validation and test groups: files of their own, or shares of the training traces."""
    data = config.data
    if not data.train:
        raise UsageError("no training samples: name files, or set data.train in the config")
    train, state = read(data.train, data)
    if config.kind and config.kind != train.candidates.kind:
        raise DataError(f"the config says kind {config.kind}; the samples are {train.candidates.kind}s")
    held: dict[str, Groups] = {}
    options: dict[str, Any] = {"seed": config.seed, "by": data.split, "of": len(train.candidates.trace_ids)}
    for name, asked in (("test", data.test), ("valid", data.valid)):
        if isinstance(asked, float):
            refuse_fitted(state, f"{name} is a share")
            train, held[name] = taken_out(train, asked, name, **options)
        elif asked is not None:
            held[name] = read(asked, data)[0]
    warnings = _warnings(train, held, data)
    return Loaded((train, state), held.get("valid"), held.get("test"), warnings)


def _warnings(train: Groups, held: Mapping[str, Groups], data: DataConfig) -> tuple[str, ...]:
    """What leaks the label, what training data share with what they are kept from, where their numbers are from."""
    found = [
        f"{each.code}: {each.message}"
        for each in quick_findings(train, held.get("test"), is_share=isinstance(data.test, float))
    ]
    shared = quick_findings(train, held.get("valid"), is_share=isinstance(data.valid, float))
    found += [f"{each.code}: validation data: {each.message}" for each in shared if each.code.startswith("overlap")]
    if train.candidates.features is not None and not train.candidates.fit:
        found.append(STATELESS)
    return (*found, APPLIED) if train.candidates.are_applied else tuple(found)


def refuse_fitted(state: FittedFeatures | None, why: str) -> None:
    """Raise for ready features that, or whose encoder, learned from the groups they would be kept from."""
    if state is not None:
        raise UsageError(
            f"{why}, and the samples bear features, or vectors of texts, fitted on all of them; "
            "name a file of samples instead"
        )


def read(
    paths: str | tuple[str, ...], data: DataConfig, *, labels_required: bool = True
) -> tuple[Groups, FittedFeatures | None]:
    """The groups of samples or featurised files, and the fitted features they bear, if any."""
    files = expand(paths)
    packed = [name for name in files if name.endswith(".npz")]
    if packed and len(files) > 1:
        raise UsageError(f"{packed[0]}: a file of featurised columns is read alone")
    if packed:
        return load_columns(packed[0])
    tools = read_tools(data.tools) if data.tools else None
    graphs = read_graphs(data.graphs) if data.graphs else None
    catalogues = tuple(_source(path) for path in (data.tools, data.graphs) if path and path != STDIN)
    groups = read_groups(files, tools=tools, graphs=graphs, labels_required=labels_required)
    groups = replace(groups, candidates=replace(groups.candidates, catalogues=catalogues))
    if groups.candidates.features is None:
        return groups, None
    return _with_state(groups)


def _source(path: str) -> SourceFile:
    content = digest(path)
    return SourceFile(path, 0, sha256=content.sha256, byte_count=content.byte_count)


def _with_state(groups: Groups) -> tuple[Groups, FittedFeatures | None]:
    """Ready numbers with the state that lies beside their files, and the names it gives them."""
    ready, found = groups.candidates, state_of(groups.candidates.files)
    if found is None:
        return groups, None
    state, path = found.features, ready.files[0].path
    if ready.features is None or ready.features.shape[1] != len(state.names) or ready.kind != state.kind:
        raise DataError(f"{sidecar(path)}: its {len(state.names)} {state.kind} features do not fit {path}")
    fit = fit_digest(state)
    ready = replace(ready, feature_names=state.names, fit=fit, are_applied=found.is_applied)
    return replace(groups, candidates=ready), state


def prepare(config: RunConfig, groups: Groups, state: FittedFeatures | None) -> Prepared:
    """The groups with their phi: ready numbers as they are, else the configured features, cross-fitted."""
    ready = groups.candidates.features
    configs, warnings = feature_configs(config, groups.candidates.kind, len(groups.candidates.trace_ids))
    if ready is None:
        features, phi = fit_features(configs, groups, encoder_name(config))
        return Prepared(groups, phi, features, warnings)
    asked = tuple(each.name for each in configs) if config.features else ()
    if asked and asked != groups.candidates.feature_names:
        bears = ", ".join(groups.candidates.feature_names)
        raise UsageError(f"the samples bear the ready features {bears}; the config names {', '.join(asked)}")
    return Prepared(groups, ready, state)


def encoder_name(config: RunConfig) -> str:
    """The encoder of a run: the named one, or the best that is installed."""
    return best_installed() if config.encoder == AUTO else config.encoder


def new_router(
    settings: TrainConfig, prepared: Prepared, model: Model, diagnosis: Diagnosis, folds: CrossValidation | None
) -> Router:
    """What is kept of a training: weights, features, and what is known about them."""
    names, groups = prepared.names, prepared.groups
    best = asdict(best_feature(names, prepared.phi, groups.labels, groups.offsets))
    training = training_document(model, diagnosis, names, best)
    training["traces"] = marks(groups.candidates)[:MOST_MARKS]
    if folds is not None:
        training["folds"] = folds_document(folds, settings.metric)
    return Router(groups.candidates.kind, names, model.w, prepared.features, asdict(settings), training)


def evaluate_router(
    router: Router, groups: Groups, config: RunConfig, *, phi: FloatArray | None = None, also: Collection[str] = ()
) -> Measured:
    """The groups ranked by the router and measured, also by other metrics than the config's, beside the baselines."""
    phi = router.phi(groups.candidates) if phi is None else phi
    measured = measured_groups(groups, phi, router.scores(phi), config, also=also)
    if not config.evaluate.baselines:
        return measured
    best = BestFeature(**router.training["best_feature"])
    asked = rules(config, groups, also=also)
    beside = baselines(phi, truth_of(groups), asked, best=best, names=router.names)
    return replace(measured, baselines=beside, best=best)


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
