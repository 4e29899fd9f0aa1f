"""The whole flow, once: samples -> groups -> phi -> w -> ranking -> metrics. Here data and numbers meet."""

import hashlib
from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, replace

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.artifacts import Router, fit_digest, load_columns, nameless, sidecar, state_of
from ltr.baselines import BestFeature, baselines, best_feature
from ltr.catalogues import read_graphs, read_tools
from ltr.columns import SourceFile
from ltr.config import DataConfig, RunConfig, feature_configs
from ltr.doubts import MOST_MARKS, doubts, marks, nothing_right
from ltr.encoders import AUTO, best_installed
from ltr.errors import DataError, UsageError
from ltr.features import FittedFeatures, fit_features
from ltr.files import STDIN, digest, expand
from ltr.groups import Groups, key_order, read_groups, select
from ltr.measured import Measured, measured_groups, rules
from ltr.metrics import all_named
from ltr.model import Model, direction_text
from ltr.train import Epoch, fit
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


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run came to."""

    config: RunConfig  # with everything decided: kind, features, encoder
    router: Router
    model: Model
    train: Groups
    measured: Measured
    warnings: tuple[str, ...]


APPLIED = (
    "the features of the training samples were applied (featurize -m), not cross-fitted: if they learned from these "
    "samples, the weights trust them too much"
)
STATELESS = "the samples bear ready numbers without the state that made them: the model ranks featurised samples only"
Watch = Callable[[Epoch], None]


def run(config: RunConfig, *, on_epoch: Watch = lambda epoch: None) -> RunResult:
    """Learn from the training samples, rank the test samples, measure."""
    train, test, warnings = load(config)
    prepared = prepare(config, *train)
    model = fit(
        prepared.phi,
        prepared.groups.labels,
        prepared.groups.offsets,
        config.train,
        weights=prepared.groups.weights,
        on_epoch=on_epoch,
    )
    best = best_feature(prepared.names, prepared.phi, prepared.groups.labels, prepared.groups.offsets)
    router = new_router(config, prepared, model, best)
    measured = evaluate_router(router, test or prepared.groups, config, phi=None if test else prepared.phi)
    measured = replace(measured, split="test" if test else "train")
    warnings += (*prepared.warnings, *doubts(router, test.candidates if test else train[0].candidates))
    told = tuple(dict.fromkeys((*warnings, *nothing_right(measured.evaluation))))
    return RunResult(decided(config, prepared), router, model, prepared.groups, measured, told)


def load(config: RunConfig) -> tuple[tuple[Groups, FittedFeatures | None], Groups | None, tuple[str, ...]]:
    """Training groups with the state they bear, test groups, and what is odd about the two."""
    data = config.data
    if not data.train:
        raise UsageError("no training samples: name files, or set data.train in the config")
    train, state = read(data.train, data)
    if config.kind and config.kind != train.candidates.kind:
        raise DataError(f"the config says kind {config.kind}; the samples are {train.candidates.kind}s")
    if isinstance(data.test, float):
        if state is not None:
            raise UsageError(
                "test is a share, and the samples bear features, or vectors of texts, fitted on all of them; "
                "name a file of test samples"
            )
        kept, drawn = _split((train, state), data.test, config.seed)
        return kept, drawn, _warnings(kept[0], drawn)
    test = None if data.test is None else read(data.test, data)[0]
    return (train, state), test, _warnings(train, test)


def _warnings(train: Groups, test: Groups | None) -> tuple[str, ...]:
    found = [f"{each.code}: {each.message}" for each in quick_findings(train, test)]
    if train.candidates.features is not None and not train.candidates.fit:
        found.append(STATELESS)
    return (*found, APPLIED) if train.candidates.are_applied else tuple(found)


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


def new_router(config: RunConfig, prepared: Prepared, model: Model, best: BestFeature) -> Router:
    """What is kept of a training: weights, features, and what is known about them."""
    known, names = model.training, prepared.names
    training = {
        "groups": known.groups,
        "groups_one_candidate": known.skipped.one_candidate,
        "groups_no_positive": known.skipped.no_positive,
        "epochs": known.epochs,
        "objective": known.objective,
        "gradient_norm": known.gradient_norm,
        "gap_bound": known.gap_bound,
        "optimum": known.optimum.value,
        "deviations": None if known.deviations is None else known.deviations.tolist(),
        "escape": None if known.escape is None else direction_text(known.escape, names),
        "not_identified": [direction_text(direction, names) for direction in known.not_identified],
        "best_feature": asdict(best),
        "traces": marks(prepared.groups.candidates)[:MOST_MARKS],
    }
    kind = prepared.groups.candidates.kind
    return Router(kind, names, model.w, prepared.features, asdict(config.train), training)


def evaluate_router(
    router: Router, groups: Groups, config: RunConfig, *, phi: FloatArray | None = None, also: Collection[str] = ()
) -> Measured:
    """The groups ranked by the router and measured, also by other metrics than the config's, beside the baselines."""
    phi = router.phi(groups.candidates) if phi is None else phi
    measured = measured_groups(groups, phi, router.scores(phi), config, also=also)
    if not config.evaluate.baselines:
        return measured
    best, keys = BestFeature(**router.training["best_feature"]), key_order(groups.candidates)
    asked = rules(config, groups, also=also)
    beside = baselines(phi, groups.labels, groups.offsets, keys, asked, best, router.names)
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


def _split(
    train: tuple[Groups, FittedFeatures | None], share: float, seed: int
) -> tuple[tuple[Groups, FittedFeatures | None], Groups]:
    """The groups of a share of the traces taken out: those whose ids hash lowest with the seed."""
    groups, state = train
    trace_ids = groups.candidates.trace_ids
    drawn = [hashlib.blake2b(f"{seed}:{trace}".encode(), digest_size=8).digest() for trace in trace_ids]
    count = round(share * len(trace_ids))
    if not 0 < count < len(trace_ids):
        raise UsageError(f"test {share}: a share of {len(trace_ids)} traces leaves one side empty")
    limit = sorted(drawn)[count]
    is_test = np.array([mark < limit for mark in drawn])[groups.candidates.traces]
    kept: IntArray = np.flatnonzero(~is_test)
    return (select(groups, kept), state), select(groups, np.flatnonzero(is_test))
