"""How a tool that was never right compares with others: learned by holding tools out, while the weights are held."""

from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import msgspec
import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, offsets_of
from ltr.columns import Applied, Prepared, Work
from ltr.features import NEWCOMERS, CrossFit, CrossFitting, FeatureConfig, FittedFeatures, fit_states
from ltr.featurized import design_of
from ltr.logs import stage
from ltr.records.training import NewcomersRecord
from ltr.runs import StoredModel
from ltr.samples import Groups, Shards, Whole
from ltr.splits import hash_blocks
from ltr.training import Designs, TrainConfig, fit

FOLDS = 5  # of traces; in each another fifth of the tools that were right is held out as well
SALT = b"newcomer"
SHARE = 0.1  # of all, that queries for tools held out weigh; those for tools that are new anyway weigh as they are
FEWEST, ENOUGH = 10, 100  # queries for tools held out
UNTRAINED = "tool.zero_shot"  # what is known of a newcomer

Model = TypeVar("Model", bound=StoredModel)


@dataclass(frozen=True, slots=True)
class WithoutSome:
    """Queries as a training without their traces, and without some tools, scores them."""

    scores: FloatArray  # by the weights that are held, with the offset of a draw
    newcomers: FloatArray  # (rows, 2): the columns NEWCOMERS
    labels: FloatArray
    sizes: IntArray  # of the groups
    weights: FloatArray
    asks_for_missed: BoolArray  # (groups,): for a tool that was held out, and right in the other traces


@dataclass(frozen=True, slots=True)
class Fold:
    """The traces and the tools that a fold holds out, by their names alone."""

    number: int

    def right_held(self, groups: Groups) -> BoolArray:
        """Return the rows of right tools that are held out."""
        names = groups.candidates.name_texts
        of_tools = hash_blocks(names, FOLDS, SALT)
        is_held: BoolArray = (of_tools[groups.candidates.names] == self.number) & (groups.labels > 0)
        return is_held

    def outside(self, groups: Groups) -> BoolArray:
        """Return the groups of other traces."""
        candidates = groups.candidates
        is_outside: BoolArray = hash_blocks(candidates.trace_ids, FOLDS, SALT)[candidates.traces] != self.number
        return is_outside

    def learned(self, groups: Groups) -> Groups:
        """Select the groups of other traces that ask for no tool held out."""
        is_held = np.logical_or.reduceat(self.right_held(groups), groups.offsets[:-1])
        return groups.select(np.flatnonzero(self.outside(groups) & ~is_held))

    def missed(self, groups: Groups) -> set[str]:
        """Return the tools held out that are right in other traces."""
        rows = self.right_held(groups) & np.repeat(self.outside(groups), np.diff(groups.offsets))
        return {groups.candidates.name_texts[name] for name in np.unique(groups.candidates.names[rows]).tolist()}


def with_newcomers(model: Model, prepared: Prepared, samples: Shards | None, train: TrainConfig) -> Model:
    """Return the model with the columns of newcomers.

    The score of a tool that was never right gets a + b zero_shot; a and b are the optimum of the same loss over left
    out traces, with a fifth of the tools held out of each fold. Queries for tools held out weigh a tenth of all.
    """
    features, work = prepared.features, prepared.work
    if not train.newcomers or model.kind != "tool" or features is None or samples is None:
        return model
    if set(NEWCOMERS) & set(prepared.names):
        return model
    with stage("newcomers"):
        held = _held_out(model, features, samples, work)
        number = sum(int(one.asks_for_missed.sum()) for one in held)
        if number < FEWEST:
            return model
        offset, slope = _fitted(held, train, prepared.count_traces()).tolist()
        added = _added(features)
        states = fit_states(added, samples, features.encoder, work.engine)
    w = np.array([0.0, offset, slope][-len(added) :])  # where UNTRAINED comes with them, it counts for newcomers alone
    record = NewcomersRecord(offset, slope, held_out=number, queries=sum(len(one.asks_for_missed) for one in held))
    return _with_columns(model, replace(features, configs=added, states=states), w, record)


def newcomer_columns(model: StoredModel, prepared: Prepared, samples: Shards | None) -> Designs | None:
    """Return the columns of newcomers of the training groups, which know each right tool; None: there are none."""
    names = [name for name in model.names[len(prepared.names) :] if name in (UNTRAINED, *NEWCOMERS)]
    if not names or samples is None or model.features is None:
        return None
    configs, work = tuple(map(FeatureConfig, (UNTRAINED, *NEWCOMERS))), prepared.work
    places = [(UNTRAINED, *NEWCOMERS).index(name) for name in names]
    fitting = CrossFitting(configs, samples, model.features.encoder.name, engine=work.engine)
    if isinstance(samples, Whole):
        return (design_of(samples.groups, fitting.fitted()[1][:, places]),)
    some = partial(_some_columns, fitting.stored(work.new_folder()), places)
    return work.designs(samples, some, len(places))


def _some_columns(fitted: CrossFit, places: list[int], groups: Groups) -> FloatArray:
    return fitted.phi(groups)[:, places]


def _added(features: FittedFeatures) -> tuple[FeatureConfig, ...]:
    """What is put beside the features."""
    return tuple(FeatureConfig(name) for name in (UNTRAINED, *NEWCOMERS) if name not in features.names)


def _held_out(model: StoredModel, features: FittedFeatures, samples: Shards, work: Work) -> list[WithoutSome]:
    """Folds of traces, each learned from the others without a fifth of the tools, until they have ENOUGH queries."""
    configs, held = (*features.configs, *_added(features)), list[WithoutSome]()
    for fold in map(Fold, range(FOLDS)):
        if sum(int(one.asks_for_missed.sum()) for one in held) >= ENOUGH:
            break
        learned = samples.changed(fold.learned)
        sizes = list(work.map_shards(_count_groups, learned))
        inside = list(work.map_shards(partial(_count_inside, fold), samples))
        if not any(sizes) or not any(inside):
            continue
        missed = set[str]().union(*work.map_shards(fold.missed, samples))
        states = fit_states(configs, learned, features.encoder, work.engine)
        fitted = FittedFeatures("tool", configs, states, features.encoder)
        applied = Applied(fitted.names, fitted, is_apart=not isinstance(samples, Whole))
        told = partial(_scored, model, applied, len(features.configs), fold, frozenset(missed))
        held += (part for part in work.map_shards(told, samples) if len(part.sizes))
    return held


def _count_groups(groups: Groups) -> int:
    return len(groups.offsets) - 1


def _count_inside(fold: Fold, groups: Groups) -> int:
    return int((~fold.outside(groups)).sum())


def _scored(
    model: StoredModel, applied: Applied, trained: int, fold: Fold, missed: frozenset[str], groups: Groups
) -> WithoutSome:
    """The queries that a fold leaves out."""
    inside = np.flatnonzero(~fold.outside(groups))
    asked, candidates = groups.select(inside), groups.candidates
    is_missed = np.array([name in missed for name in candidates.name_texts], dtype=bool)[candidates.names]
    asks = np.logical_or.reduceat(fold.right_held(groups) & is_missed, groups.offsets[:-1])
    phi, draws = applied(asked.candidates), asked.candidates.draws
    scores = model.terms.scores(phi[:, :trained], model.w)
    if draws is not None:
        scores = scores + draws.offset(asked.labels, asked.offsets, asked.candidates.place)
    newcomers, sizes = phi[:, -len(NEWCOMERS) :], np.diff(asked.offsets)
    return WithoutSome(scores, newcomers, asked.labels, sizes, asked.group_weights, asks[inside])


def _fitted(held: list[WithoutSome], train: TrainConfig, traces: int) -> FloatArray:
    """The weights of NEWCOMERS."""
    phi, scores = (np.concatenate(parts) for parts in zip(*((one.newcomers, one.scores) for one in held), strict=True))
    labels = np.concatenate([one.labels for one in held])
    offsets = offsets_of(np.concatenate([one.sizes for one in held]))
    weights = np.concatenate([one.weights for one in held])
    is_held = np.concatenate([one.asks_for_missed for one in held])
    weights[is_held] *= SHARE / (1 - SHARE) * weights[~is_held].sum() / weights[is_held].sum()
    plain = TrainConfig(trainer="newton", standardize=True, targets=train.targets, l2=1 / traces)
    return fit(phi, labels, offsets, plain, weights=weights, score_offset=scores).w


def _with_columns(model: Model, features: FittedFeatures, w: FloatArray, record: NewcomersRecord) -> Model:
    """The model with the columns beside its own, in front of the weights of curves and products."""
    fitted, terms = model.features, model.terms
    if fitted is None:
        raise TypeError("a model of ready numbers has no columns of newcomers")
    for _ in features.names:
        terms = terms.with_plain_column()
    return replace(
        model,
        names=(*model.names, *features.names),
        w=np.insert(model.w, len(model.names), w),
        features=replace(
            fitted, configs=(*fitted.configs, *features.configs), states=(*fitted.states, *features.states)
        ),
        training=msgspec.structs.replace(model.training, newcomers=record),
        terms=terms,
    )
