"""How a tool that was never right compares with others: learned by holding tools out, while the weights are held."""

import hashlib
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from ltr.arrays import BoolArray, FloatArray, offsets_of
from ltr.data.groups import Groups, select
from ltr.experiments.sampling_correction import score_offset
from ltr.experiments.training_columns import Prepared
from ltr.features.crossfit import CrossFitting
from ltr.features.fitted_features import FittedFeatures
from ltr.features.learned_states import fit_states
from ltr.features.presets import NEWCOMERS
from ltr.features.registry import FeatureConfig
from ltr.logs import stage
from ltr.serving.router import Router
from ltr.storage.training_record import NewcomersRecord
from ltr.training.config import TrainConfig
from ltr.training.fit import fit

FOLDS = 5  # of traces; in each another fifth of the tools that were right is held out as well
SHARE = 0.1  # of all, that queries for tools held out weigh; those for tools that are new anyway weigh as they are
FEWEST, ENOUGH = 10, 100  # queries for tools held out
UNTRAINED = "tool.zero_shot"  # what is known of a newcomer


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Queries as a training without their traces, and without some tools, scores them."""

    scores: FloatArray  # by the weights that are held, with the offset of a draw
    newcomers: FloatArray  # (rows, 2): the columns NEWCOMERS
    groups: Groups
    asks_for_missed: BoolArray  # (groups,): for a tool that was held out, and right in the other traces


def with_newcomers(router: Router, prepared: Prepared, train: TrainConfig) -> Router:
    """The router with the columns of newcomers.

    The score of a tool that was never right gets a + b zero_shot; a and b are the optimum of the same loss over left
    out traces, with a fifth of the tools held out of each fold. Queries for tools held out weigh a tenth of all.
    """
    groups = prepared.groups
    features = None if groups.candidates.features is not None else prepared.features
    if not train.newcomers or router.kind != "tool" or features is None or set(NEWCOMERS) & set(prepared.names):
        return router
    with stage("newcomers"):
        held = _held_out(router, features, groups)
        number = sum(int(one.asks_for_missed.sum()) for one in held)
        if number < FEWEST:
            return router
        offset, slope = _fitted(held, train, len(groups.candidates.trace_ids)).tolist()
        added = _added(features)
        states = fit_states(added, groups, features.encoder)
    w = np.array([0.0, offset, slope][-len(added) :])  # where UNTRAINED comes with them, it counts for newcomers alone
    record = NewcomersRecord(offset, slope, held_out=number, queries=sum(len(one.asks_for_missed) for one in held))
    return _with_columns(router, replace(features, configs=added, states=states), w, record)


def training_columns(router: Router, prepared: Prepared) -> FloatArray:
    """The columns of the training groups with those of newcomers, cross-fitted: they know each right tool."""
    count, phi = prepared.phi.shape[1], prepared.phi
    if router.training.newcomers is None:
        return phi
    configs = tuple(map(FeatureConfig, (UNTRAINED, *NEWCOMERS)))
    added = CrossFitting(configs, prepared.groups, router.fitted.encoder.name).fitted()[1]
    places = [(UNTRAINED, *NEWCOMERS).index(name) for name in router.names[count:] if name in (UNTRAINED, *NEWCOMERS)]
    return np.column_stack([phi, added[:, places]])


def _added(features: FittedFeatures) -> tuple[FeatureConfig, ...]:
    """What is put beside the features."""
    return tuple(FeatureConfig(name) for name in (UNTRAINED, *NEWCOMERS) if name not in features.names)


def _held_out(router: Router, features: FittedFeatures, groups: Groups) -> list[HeldOut]:
    """Folds of traces, each learned from the others without a fifth of the tools, until they have ENOUGH queries."""
    candidates = groups.candidates
    tool_folds = np.array([_fold(name) for name in candidates.name_texts], dtype=np.int64)
    trace_folds = np.array([_fold(name) for name in candidates.trace_ids], dtype=np.int64)[candidates.traces]
    configs, held = (*features.configs, *_added(features)), list[HeldOut]()
    for fold in range(FOLDS):
        if sum(int(one.asks_for_missed.sum()) for one in held) >= ENOUGH:
            break
        is_right_held = (tool_folds[candidates.names] == fold) & (groups.labels > 0)
        is_held, is_outside = np.logical_or.reduceat(is_right_held, groups.offsets[:-1]), trace_folds != fold
        is_learned, inside = is_outside & ~is_held, np.flatnonzero(~is_outside)
        if not is_learned.any() or not len(inside):
            continue
        missed = np.unique(candidates.names[is_right_held & np.repeat(is_outside, np.diff(groups.offsets))])
        asks_for_missed = np.logical_or.reduceat(is_right_held & np.isin(candidates.names, missed), groups.offsets[:-1])
        states = fit_states(configs, select(groups, np.flatnonzero(is_learned)), features.encoder)
        asked = select(groups, inside)
        phi = FittedFeatures("tool", configs, states, features.encoder)(asked.candidates)
        count = len(features.configs)
        scores, offset = router.scores(phi[:, :count]), score_offset(asked)
        scores = scores if offset is None else scores + offset
        held.append(HeldOut(scores, phi[:, -len(NEWCOMERS) :], asked, asks_for_missed[inside]))
    return held


def _fold(name: str) -> int:
    """The fold of a trace or a tool, by its name alone."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, salt=b"newcomer").digest(), "little") % FOLDS


def _fitted(held: list[HeldOut], train: TrainConfig, traces: int) -> FloatArray:
    """The weights of NEWCOMERS."""
    phi, scores = (np.concatenate(parts) for parts in zip(*((one.newcomers, one.scores) for one in held), strict=True))
    labels = np.concatenate([one.groups.labels for one in held])
    offsets = offsets_of(np.concatenate([np.diff(one.groups.offsets) for one in held]))
    weights = np.concatenate([one.groups.group_weights for one in held])
    is_held = np.concatenate([one.asks_for_missed for one in held])
    weights[is_held] *= SHARE / (1 - SHARE) * weights[~is_held].sum() / weights[is_held].sum()
    plain = TrainConfig(trainer="newton", standardize=True, targets=train.targets, l2=1 / traces)
    return fit(phi, labels, offsets, plain, weights=weights, score_offset=scores).w


def _with_columns(router: Router, features: FittedFeatures, w: FloatArray, record: NewcomersRecord) -> Router:
    """The router with the columns beside its own, in front of the weights of curves and products."""
    fitted, terms = router.fitted, router.terms
    for _ in features.names:
        terms = terms.with_plain_column()
    return replace(
        router,
        names=(*router.names, *features.names),
        w=np.insert(router.w, len(router.names), w),
        features=replace(
            fitted, configs=(*fitted.configs, *features.configs), states=(*fitted.states, *features.states)
        ),
        training=msgspec.structs.replace(router.training, newcomers=record),
        terms=terms,
    )
