"""How a tool that was never right compares with others: learned by holding tools out, while the weights are held."""

import hashlib
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from ltr.arrays import BoolArray, FloatArray
from ltr.data.groups import Groups, select
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
SHARE = 0.1  # of the queries that are for a newcomer, as the two weights take it
FEWEST = 10  # queries for a tool that was held out
NEAR = "tool.zero_shot"  # what is known of a newcomer


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Queries as a training without their traces, and without some tools, scores them."""

    scores: FloatArray  # by the weights that are held
    newcomers: FloatArray  # (rows, 2): the columns NEWCOMERS
    groups: Groups


@stage("newcomers")
def with_newcomers(router: Router, prepared: Prepared, train: TrainConfig) -> tuple[Router, FloatArray]:
    """The router with the columns of newcomers, and these of the training rows, cross-fitted.

    The score of a tool that was never right gets a + b zero_shot; a and b are the optimum of the same loss over left
    out traces, with a fifth of the tools held out of each fold, in which queries for newcomers weigh a tenth.
    """
    groups, nothing = prepared.groups, np.empty((len(prepared.phi), 0))
    if not train.newcomers or router.kind != "tool" or prepared.features is None:
        return router, nothing
    added = tuple(name for name in (NEAR, *NEWCOMERS) if name not in prepared.names)
    held = _held_out(router, prepared.features, groups)
    is_new = np.concatenate([_asks_for_newcomer(one) for one in held]) if held else np.zeros(0, dtype=bool)
    if is_new.sum() < FEWEST or is_new.all():
        return router, nothing
    learned = _fitted(held, is_new, train, len(groups.candidates.trace_ids))
    configs = tuple(map(FeatureConfig, (NEAR, *NEWCOMERS)))
    features, phi = CrossFitting(configs, groups, prepared.features.encoder.name).fitted()
    w = np.array([0.0] * (len(added) - len(NEWCOMERS)) + learned.tolist())
    record = NewcomersRecord(int(is_new.sum()), len(is_new))
    return _with_columns(router, features.only(*added), w, record), phi[:, -len(added) :]


def _held_out(router: Router, features: FittedFeatures, groups: Groups) -> list[HeldOut]:
    """Each fold of traces, learned from the others without a fifth of the tools."""
    candidates = groups.candidates
    tool_folds = np.array([_fold(name) for name in candidates.name_texts], dtype=np.int64)
    trace_folds = np.array([_fold(name) for name in candidates.trace_ids], dtype=np.int64)[candidates.traces]
    added = tuple(name for name in (NEAR, *NEWCOMERS) if name not in features.names)
    configs, held = (*features.configs, *map(FeatureConfig, added)), []
    for fold in range(FOLDS):
        is_held = (tool_folds[candidates.names] == fold) & (groups.labels > 0)
        is_learned = (trace_folds != fold) & ~np.logical_or.reduceat(is_held, groups.offsets[:-1])
        inside = np.flatnonzero(trace_folds == fold)
        if not is_learned.any() or not len(inside):
            continue
        states = fit_states(configs, select(groups, np.flatnonzero(is_learned)), features.encoder)
        asked = select(groups, inside)
        phi = FittedFeatures("tool", configs, states, features.encoder)(asked.candidates)
        count = len(features.configs)
        held.append(HeldOut(router.scores(phi[:, :count]), phi[:, -len(NEWCOMERS) :], asked))
    return held


def _fold(name: str) -> int:
    """The fold of a trace or a tool, by its name alone."""
    return int.from_bytes(hashlib.blake2b(name.encode(), digest_size=8, salt=b"newcomer").digest(), "little") % FOLDS


def _asks_for_newcomer(held: HeldOut) -> BoolArray:
    """Of each group whether a right tool is a newcomer."""
    is_new: BoolArray = (held.newcomers[:, 0] > 0) & (held.groups.labels > 0)
    return np.logical_or.reduceat(is_new, held.groups.offsets[:-1])


def _fitted(held: list[HeldOut], is_new: BoolArray, train: TrainConfig, traces: int) -> FloatArray:
    """The weights of NEWCOMERS."""
    phi, scores = (np.concatenate(parts) for parts in zip(*((one.newcomers, one.scores) for one in held), strict=True))
    labels = np.concatenate([one.groups.labels for one in held])
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([np.diff(one.groups.offsets) for one in held]))])
    weights = np.concatenate([_weights(one.groups) for one in held])
    weights[is_new] *= SHARE / (1 - SHARE) * weights[~is_new].sum() / weights[is_new].sum()
    plain = TrainConfig(trainer="newton", standardize=True, targets=train.targets, l2=1 / traces)
    return fit(phi, labels, offsets, plain, weights=weights, score_offset=scores).w


def _weights(groups: Groups) -> FloatArray:
    return np.ones(len(groups.offsets) - 1) if groups.weights is None else groups.weights


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
