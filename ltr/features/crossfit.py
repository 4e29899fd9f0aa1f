"""Cross-fitting: states that travel with the model, and training columns from states that saw no label of the row."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, Self

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups, select
from ltr.encoders.cached_encoder import CachedEncoder
from ltr.encoders.protocol import Encoder
from ltr.features.feature_context import Context
from ltr.features.fitted_features import FittedFeatures, column_of, reading, refuse_other_kind
from ltr.features.learned_states import Shard, counted, counting_key, learned_alike, merge_of, state_of
from ltr.features.learner_output_checks import alike
from ltr.features.lexicon import Lexicon
from ltr.features.registry import FEATURES, FeatureConfig
from ltr.features.state_learners import Counted, Optimised
from ltr.files.mergeable_tables import merged, merges_without_each, parts_without_each
from ltr.logs import LOG, stage

FOLDS = 10
FEWEST_TRACES = 20  # below: a fold for each trace

OnFold = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class SharedCounts:
    """What several choices of the groups to learn from count once, such as those of folds that judge settings.

    It is counted in cells, groups that lie in one fold of every choice. A fold's part is the merge of its cells'.
    """

    groups: Groups
    folds: IntArray  # (groups, choices): the fold of each group in each choice; -1: it is not learned from
    lexicon: Lexicon
    parts: dict[object, list[tuple[IntArray, Any]]] = field(default_factory=dict)  # folds and part of each cell

    @classmethod
    def of(cls, groups: Groups, choices: Sequence[IntArray]) -> Self:
        """The cells of some choices, each the indices of the groups to learn from."""
        folds = np.full((len(groups.offsets) - 1, len(choices)), -1)
        for choice, learned in enumerate(choices):
            folds[learned, choice] = fold_of_groups(select(groups, learned).candidates)
        return cls(groups, folds, Lexicon())

    def part(self, config: FeatureConfig, learner: Counted, encoder: Encoder, *, choice: int, fold: int) -> Any:
        """What the feature counts in a fold of a choice; None where the fold holds nothing."""
        key = counting_key(config, learner)
        if key not in self.parts:
            rows, cells = np.unique(self.folds, axis=0, return_inverse=True)
            members = [select(self.groups, np.flatnonzero(cells == cell)) for cell in range(len(rows))]
            shards = [Shard(cell, reading([config], cell.candidates, encoder, self.lexicon)) for cell in members]
            self.parts[key] = [(row, counted(config, learner, shard)) for row, shard in zip(rows, shards, strict=True)]
        parts = [part for folds, part in self.parts[key] if folds[choice] == fold]
        return reduce(merge_of(config, learner), parts) if parts else None


@dataclass(frozen=True, slots=True)
class Folds:
    """Groups dealt into folds of whole traces, a shard each, at least two; the last may hold nothing."""

    groups: Groups
    of_group: IntArray
    shards: tuple[Shard, ...]
    shared: tuple[SharedCounts, int] | None = None  # with the number of the choice that these groups are
    parts: dict[object, list[Any]] = field(default_factory=dict)  # what was counted in each shard

    @classmethod
    def dealt(
        cls,
        configs: Sequence[FeatureConfig],
        groups: Groups,
        encoder: Encoder,
        lexicon: Lexicon,
        shared: tuple[SharedCounts, int] | None = None,
    ) -> "Folds":
        """The folds in which training columns are cross-fitted."""
        of_group = fold_of_groups(groups.candidates)
        numbers = range(max(int(of_group.max(initial=0)) + 1, 2))
        members = [select(groups, np.flatnonzero(of_group == number)) for number in numbers]
        shards = [Shard(fold, reading(configs, fold.candidates, encoder, lexicon)) for fold in members]
        return cls(groups, of_group, tuple(shards), shared)

    def without_each(self, config: FeatureConfig) -> Iterator[State]:
        """What the feature learns from the other folds, for each fold, then what it learns from all."""
        learner = FEATURES[config.name].learner
        if isinstance(learner, Counted):
            key = counting_key(config, learner)
            if key not in self.parts:
                self.parts[key] = [self._part(config, learner, fold) for fold in range(len(self.shards))]
            yield from states_without_each(config, learner, self.parts[key])
            return
        context = self.shards[0].context
        for left_out in range(len(self.shards) + 1):
            if isinstance(learner, Optimised):
                others = [shard for place, shard in enumerate(self.shards) if place != left_out]
                yield state_of(config, others, Context(context.encoder, context.lexicon))
            else:
                groups = select(self.groups, np.flatnonzero(self.of_group != left_out))
                yield state_of(config, groups, reading([config], groups.candidates, context.encoder, context.lexicon))

    def _part(self, config: FeatureConfig, learner: Counted, fold: int) -> Any:
        """What the feature counts in a fold; an encoder that learns from texts gives other vectors in each choice."""
        shard = self.shards[fold]
        encoder = shard.context.encoder
        if self.shared and not (encoder.state and FEATURES[config.name].encodes):
            shared, choice = self.shared
            part = shared.part(config, learner, encoder, choice=choice, fold=fold)
            if part is not None:
                return part
        return counted(config, learner, shard)


@stage("featurising")
def fit_features(
    configs: Sequence[FeatureConfig],
    groups: Groups,
    encoder: str,
    on_fold: OnFold = lambda fold, of: None,
    *,
    shared: tuple[SharedCounts, int] | None = None,
) -> tuple[FittedFeatures, FloatArray]:
    """The features fitted on all the groups, and the groups' own cross-fitted phi.

    A feature that learns nothing has one column for all rows. Of one that learns, the rows of a fold come from a state
    of the other folds. A fold has whole traces: leaving out the row's group alone would not do, because the groups of
    a trace know each other's answers. `on_fold` hears the number of each fold that is done, and how many there are.
    `shared`: what other choices of groups count as well, and which choice these groups are.
    """
    candidates, lexicon = groups.candidates, shared[0].lexicon if shared else Lexicon()
    for config in configs:
        refuse_other_kind(FEATURES[config.name].kind, candidates)
    cached = CachedEncoder.fitted(encoder, encoded_texts(candidates))
    LOG.info(f"encoder {cached.name}, revision {cached.revision}")
    context = reading(configs, candidates, cached, lexicon)  # every text once: what follows looks its vector up
    phi, states = np.empty((len(groups.labels), len(configs))), list[State | None]([None] * len(configs))
    learning = [place for place, config in enumerate(configs) if FEATURES[config.name].learner]
    for place in set(range(len(configs))) - set(learning):
        phi[:, place] = column_of(configs[place], candidates, None, context)
    if learning:
        learning_configs = [configs[place] for place in learning]
        folds = Folds.dealt(learning_configs, groups, cached, lexicon, shared)
        count = int(folds.of_group.max(initial=0)) + 1
        row_folds = np.repeat(folds.of_group, np.diff(groups.offsets))
        learners = learned_alike(configs)
        without_each = [folds.without_each(configs[places[0]]) for places in learners.values()]
        for fold, *fold_states in zip(range(count), *without_each, strict=False):
            shard = folds.shards[fold]
            for places, state in zip(learners.values(), fold_states, strict=True):
                for place in places:
                    column = column_of(configs[place], shard.groups.candidates, state, shard.context)
                    phi[row_folds == fold, place] = column
            on_fold(fold + 1, count)
        for places, of_all in zip(learners.values(), without_each, strict=True):
            *_, state = of_all
            for place in places:
                states[place] = state
    return FittedFeatures(candidates.kind, tuple(configs), tuple(states), cached), phi


def encoded_texts(candidates: Candidates) -> list[str]:
    """The texts that an encoder may learn from: queries, and what the candidates are described by."""
    documents = [source for source, role in FEATURES[f"{candidates.kind}.rel"].encodes if role == "document"]
    return [*candidates.query_texts, *(text for source in documents for text in source(candidates, None).texts)]


def states_without_each(
    config: FeatureConfig, learner: Counted, parts: Sequence[Any], *, in_memory: int | None = None
) -> Iterator[State]:
    """The state that the feature makes of the other parts, for each part, then that of all.

    `in_memory`: see `parts_without_each`.
    """
    if learner.merge is merged:
        without_each = parts_without_each(alike(config.name, parts), in_memory=in_memory)
    else:
        without_each = merges_without_each(parts, merge_of(config, learner))
    return (state_of(config, part) for part in without_each)


def fold_of_groups(candidates: Candidates) -> IntArray:
    """The fold of each group, from 0: that of its trace; with fewer than FEWEST_TRACES traces each is a fold."""
    trace_ids = candidates.trace_ids
    is_few = len(trace_ids) < FEWEST_TRACES
    folds = np.array([place if is_few else trace_fold(trace) for place, trace in enumerate(trace_ids)], dtype=int)
    return np.unique(folds[candidates.traces], return_inverse=True)[1]


def trace_fold(trace_id: str) -> int:
    """The fold of a trace: a hash of its id, so that neither order nor other traces move it.

    >>> [trace_fold(trace) for trace in ("t1", "t2", "t3")]
    [7, 0, 0]
    """
    return int.from_bytes(hashlib.blake2b(trace_id.encode(), digest_size=8).digest(), "little") % FOLDS
