"""Cross-fitting of samples that memory does not hold: shards of whole traces, counted one by one.

The state of a fold is made of what was counted in the other folds of all shards. So each column is that of the samples
in memory, to the last digits of sums.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, overload

import numpy as np

from ltr.arrays import BoolArray, FloatArray, IntArray, State
from ltr.data.candidates import Candidates
from ltr.data.groups import Groups, select
from ltr.encoders.cached_encoder import CachedEncoder
from ltr.encoders.protocol import CountingKind
from ltr.encoders.registry import encoder_kind
from ltr.engines.engine import IN_PROCESS, Engine
from ltr.errors import UsageError
from ltr.features.crossfit import FEWEST_TRACES, OnFold, encoded_texts, states_without_each, trace_fold
from ltr.features.feature_context import Context
from ltr.features.fitted_features import FittedFeatures, column_of, multiplied, reading, refuse_other_kind
from ltr.features.learned_states import Shard, counted, counting_key, learned_alike, merge_of, state_of
from ltr.features.learner_output_checks import alike
from ltr.features.lexicon import Lexicon
from ltr.features.registry import FEATURES, FeatureConfig
from ltr.features.state_learners import Counted, InMemory
from ltr.files.freed_memory import return_freed_memory
from ltr.files.mergeable_tables import Merging, Part, all_merged, merged
from ltr.files.shared_state_files import StoredState
from ltr.logs import LOG, stage

IN_MEMORY = 4 << 20  # bytes of a table: some five of each fold grow with the data


class Shards(Protocol):
    """Groups of whole traces, each shard read when it is asked for; a shard may hold no group."""

    def __len__(self) -> int:
        """How many shards there are."""
        ...

    def __getitem__(self, number: int, /) -> Groups:
        """The groups of a shard."""
        ...


@dataclass(frozen=True, slots=True)
class TraceFolds:
    """The fold of each trace: of a hash of its id, or where there are few traces each one is a fold."""

    few: tuple[str, ...]  # the traces, in order; () where there are many

    @classmethod
    def of(cls, traces: Sequence[str]) -> "TraceFolds":
        """The folds of these traces, or of all where these are the first of many."""
        return cls(() if len(traces) >= FEWEST_TRACES else tuple(traces))

    def of_groups(self, candidates: Candidates) -> IntArray:
        """The number of each group's fold; not every number need be used."""
        number = {trace: place for place, trace in enumerate(self.few)}
        folds = [number[trace] if self.few else trace_fold(trace) for trace in candidates.trace_ids]
        return np.array(folds, dtype=np.int64)[candidates.traces]

    def cut(self, groups: Groups) -> Iterator[tuple[int, BoolArray, Groups]]:
        """Each fold that the groups have: its number, which rows it has, and its groups."""
        of_group = self.of_groups(groups.candidates)
        of_row = np.repeat(of_group, np.diff(groups.offsets))
        for fold in np.unique(of_group).tolist():
            yield fold, of_row == fold, select(groups, np.flatnonzero(of_group == fold))


def first_traces(shards: Shards) -> tuple[str, ...]:
    """The first traces of all shards: all, or as many as it takes to know that they are not few."""
    ids = (trace for number in range(len(shards)) for trace in shards[number].candidates.trace_ids)
    return tuple(islice(ids, FEWEST_TRACES))


@dataclass(frozen=True, slots=True)
class CrossFit:
    """What gives training rows their columns: for each fold the states that did not see it, in files."""

    features: FittedFeatures  # of all groups
    encoder: CachedEncoder
    folds: TraceFolds
    states: dict[int, dict[int, StoredState]]  # by fold, and by the place of a feature that learns

    def phi(self, groups: Groups) -> FloatArray:
        """The cross-fitted columns of training groups, such as those of a shard."""
        return_freed_memory()
        candidates, configs, lexicon = groups.candidates, self.features.configs, Lexicon()
        encoder = self.encoder.apart()
        context = reading(configs, candidates, encoder, lexicon)  # every text once
        phi = np.empty((len(groups.labels), len(configs)))
        learning = [place for place, config in enumerate(configs) if FEATURES[config.name].learner]
        for place in set(range(len(configs))) - set(learning):
            phi[:, place] = column_of(configs[place], candidates, None, context)
        if not learning:
            return phi
        for fold, rows, members in self.folds.cut(groups):
            own = reading([configs[place] for place in learning], members.candidates, encoder, lexicon)
            for place in learning:
                stored = self.states[fold][place]  # what it holds is held by one column at a time
                phi[rows, place] = column_of(configs[place], members.candidates, stored.read(), own)
        return multiplied(configs, phi)


@stage("featurising")
def fit_over_shards(
    configs: Sequence[FeatureConfig],
    shards: Shards,
    folds: TraceFolds,
    encoder: str,
    on_shard: OnFold = lambda done, of: None,
    *,
    folder: Path,
    engine: Engine = IN_PROCESS,
) -> CrossFit:
    """The features fitted on all groups of all shards, and what gives the groups their cross-fitted columns.

    A feature that counts is counted once in each shard and fold. One that needs all groups in memory is refused. The
    folder takes the states of the folds.
    """
    refuse_plain_fits(configs)
    kind = shards[0].candidates.kind
    for config in configs:
        refuse_other_kind(FEATURES[config.name].kind, shards[0].candidates)
    fitted = fitted_encoder(encoder, shards, engine)
    LOG.info(f"encoder {fitted.name}, revision {fitted.revision}")
    learners = learned_alike(configs)
    parts = _Counting.of(configs, shards, folds, fitted).merged(on_shard, engine) if learners else {}
    of_all = list[State | None]([None] * len(configs))
    of_folds = {fold: dict[int, StoredState]() for fold in parts}
    for places in learners.values():
        states = _states(configs[places[0]], shards, folds, fitted, parts)
        for fold, without_it in zip(parts, states, strict=False):
            stored = StoredState.written(folder / f"without-{fold}-{places[0]}", without_it)
            of_folds[fold] |= dict.fromkeys(places, stored)
        (state,) = states
        for place in places:
            of_all[place] = state
    return CrossFit(FittedFeatures(kind, tuple(configs), tuple(of_all), fitted), fitted, folds, of_folds)


def _states(
    config: FeatureConfig, shards: Shards, folds: TraceFolds, encoder: CachedEncoder, parts: "PartsOfFolds"
) -> Iterator[State]:
    """What the feature learns without each fold, in their order, then what it learns from all."""
    learner = FEATURES[config.name].learner
    if not isinstance(learner, Counted):
        others = (_Others(config, shards, folds, fold, encoder) for fold in (*parts, None))
        return (state_of(config, rest, Context(encoder)) for rest in others)
    key = counting_key(config, learner)
    listed = [of_fold[key] for of_fold in parts.values()]
    if len(listed) == 1:  # of a single trace nothing is learned without it
        nothing = select(shards[0], np.empty(0, dtype=np.int64))
        context = reading([config], nothing.candidates, encoder, Lexicon())
        listed.append(counted(config, learner, Shard(nothing, context)))
        without_it, _, of_all = states_without_each(config, learner, listed)
        return iter((without_it, of_all))
    return states_without_each(config, learner, listed, in_memory=IN_MEMORY)


def refuse_plain_fits(configs: Sequence[FeatureConfig]) -> None:
    """Raise for a feature whose parts do not add up."""
    for config in configs:
        if isinstance(FEATURES[config.name].learner, InMemory):
            raise UsageError(
                f"the feature {config.name} learns with a plain fit, which needs all samples in memory: leave it out, "
                "make it a counted one, or write an .npz"
            )


def fitted_encoder(name: str, shards: Shards, engine: Engine) -> CachedEncoder:
    """The encoder of that name, after it has seen the texts of all shards, if it learns from texts."""
    kind, unfitted = encoder_kind(name), CachedEncoder.fitted(name, ())
    if not unfitted.state:
        return unfitted
    if not isinstance(kind, CountingKind):
        raise UsageError(f"the encoder {name} learns from all texts in memory: name another one, or write an .npz")
    return CachedEncoder.of(kind.fitted_to(engine.map(partial(_counted_texts, name, shards), range(len(shards)))))


def _counted_texts(name: str, shards: Shards, number: int) -> Any:
    """What the encoder counts in the texts of a shard."""
    kind = encoder_kind(name)
    return kind.count_texts(encoded_texts(shards[number].candidates)) if isinstance(kind, CountingKind) else None


PartsOfFolds = dict[int, dict[object, Any]]  # by fold and `counting_key`


@dataclass(frozen=True, slots=True)
class _Counting:
    """What the workers that count get: features of which no two count the same, and what they count."""

    configs: tuple[FeatureConfig, ...]
    shards: Shards
    folds: TraceFolds
    encoder: CachedEncoder

    @classmethod
    def of(
        cls, configs: Sequence[FeatureConfig], shards: Shards, folds: TraceFolds, encoder: CachedEncoder
    ) -> "_Counting":
        """The counting of those features that count."""
        of_key: dict[object, FeatureConfig] = {}
        for config in configs:
            learner = FEATURES[config.name].learner
            if isinstance(learner, Counted):
                of_key.setdefault(counting_key(config, learner), config)
        return cls(tuple(of_key.values()), shards, folds, encoder)

    def merged(self, on_shard: OnFold, engine: Engine) -> PartsOfFolds:
        """What each feature finds in each fold, the folds in order; shards are added in their order."""
        merging: dict[int, dict[object, Merging[Any]]] = {}
        counts = engine.map(partial(_counted, self), range(len(self.shards)))
        for done, of_shard in enumerate(counts, start=1):
            for fold, parts in of_shard.items():
                merges = merging.setdefault(fold, {})
                for config, part in zip(self.configs, parts, strict=True):
                    learner = counter(config)
                    key = counting_key(config, learner)
                    merge = partial(_merged, config.name) if learner.merge is merged else merge_of(config, learner)
                    merges.setdefault(key, Merging(merge)).add(part)
            return_freed_memory()
            on_shard(done, len(self.shards))
        return {fold: {key: merge.total() for key, merge in merging[fold].items()} for fold in sorted(merging)}


def _counted(counting: _Counting, number: int) -> dict[int, list[Any]]:
    """What each feature counts in each fold of a shard."""
    lexicon, encoder, parts = Lexicon(), counting.encoder.apart(), dict[int, list[Any]]()
    for fold, _, members in counting.folds.cut(counting.shards[number]):
        shard = Shard(members, reading(counting.configs, members.candidates, encoder, lexicon))
        parts[fold] = [counted(config, counter(config), shard) for config in counting.configs]
    return parts


def _merged(name: str, left: Part, right: Part) -> Part:
    """Two parts as one, of which disk holds what would take much memory for all features and folds together."""
    return all_merged(alike(name, [left, right]), in_memory=IN_MEMORY)


def counter(config: FeatureConfig) -> Counted:
    """How the feature counts."""
    learner = FEATURES[config.name].learner
    if not isinstance(learner, Counted):
        raise TypeError(f"the feature {config.name} does not count")
    return learner


@dataclass(frozen=True, slots=True)
class _Others(Sequence[Shard]):
    """The shards without the groups of a fold, each read anew whenever a pass comes to it."""

    config: FeatureConfig
    shards: Shards
    folds: TraceFolds
    left_out: int | None  # None: no fold
    encoder: CachedEncoder

    def __len__(self) -> int:
        return len(self.shards)

    @overload
    def __getitem__(self, index: int) -> Shard: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Shard]: ...
    def __getitem__(self, index: int | slice) -> Shard | Sequence[Shard]:
        """The groups of a shard, with the context in which they are read."""
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        groups = self.shards[index]
        others = select(groups, np.flatnonzero(self.folds.of_groups(groups.candidates) != self.left_out))
        return Shard(others, reading([self.config], others.candidates, self.encoder.apart(), Lexicon()))
