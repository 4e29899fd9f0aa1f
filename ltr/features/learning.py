"""What features learn from groups: counted shard by shard and made into states, and read anew where nothing adds up."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, overload

import numpy as np

from ltr.arrays import State
from ltr.encoders import CachedEncoder, Encoder
from ltr.engine import IN_PROCESS, Engine
from ltr.errors import DataError, UsageError
from ltr.features.fitted import call_feature, options_of, reading
from ltr.features.protocol import FEATURES, Context, Counted, FeatureConfig, InMemory
from ltr.features.texts import Lexicon
from ltr.plugins import OURS
from ltr.samples import Groups, Shards, Whole
from ltr.states import declared_type, refuse_other_type
from ltr.tables import Merging, Part, Table, merged, merges_without_each, parts_without_each, spilled

IN_MEMORY = 4 << 20  # bytes of a table of many shards: some five of each fold grow with the data
ARRAY_KINDS = "biuf"
LARGEST = 1 << 63


@dataclass(frozen=True, slots=True)
class Shard:
    """Groups of whole traces, and the context in which features read them."""

    groups: Groups
    context: Context


@dataclass(frozen=True, slots=True)
class ReadShards(Sequence[Shard]):
    """Shards that are read anew whenever a pass comes to them, with the context that some features need."""

    configs: Sequence[FeatureConfig]
    shards: Shards
    encoder: Encoder
    is_apart: bool = True  # the vectors of a shard go with it

    def __len__(self) -> int:
        return len(self.shards)

    @overload
    def __getitem__(self, index: int) -> Shard: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Shard]: ...
    def __getitem__(self, index: int | slice) -> Shard | Sequence[Shard]:
        """Read the groups of a shard."""
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        groups, encoder = self.shards[index], self.encoder
        if self.is_apart and isinstance(encoder, CachedEncoder):
            encoder = encoder.apart()
        return read_shard(self.configs, groups, encoder)


def read_shard(configs: Sequence[FeatureConfig], groups: Groups, encoder: Encoder) -> Shard:
    """Return the groups with the context that some features need."""
    return Shard(groups, reading(configs, groups.candidates, encoder, Lexicon()))


def fit_states(
    configs: Sequence[FeatureConfig], groups: Groups | Shards, encoder: Encoder, engine: Engine = IN_PROCESS
) -> tuple[State | None, ...]:
    """Fit the features on all the groups, in one shard or several; None for one that learns nothing."""
    shards = Whole(groups) if isinstance(groups, Groups) else groups
    learners = learned_alike(configs)
    if isinstance(shards, Whole):
        read: Sequence[Shard] = [read_shard(configs, shards.groups, encoder)]
        engine = IN_PROCESS
    else:
        refuse_plain_fits(configs)
        read = ReadShards(configs, shards, encoder)
    counters = counting(configs)
    merging = {key: Merging[Any](merge_of(config, in_memory=IN_MEMORY)) for key, config in counters.items()}
    for parts in engine.map(partial(_counted, [*counters.values()], read), range(len(read))) if counters else ():
        for key, part in zip(counters, parts, strict=True):
            merging[key].add(part)
    states: list[State | None] = [None] * len(configs)
    for places in learners.values():
        config = configs[places[0]]
        learner = FEATURES[config.name].learner
        if isinstance(learner, Counted):
            state = state_of(config, merging[counting_key(config)].total())
        elif isinstance(learner, InMemory):
            state = state_of(config, read[0].groups, read[0].context)
        elif isinstance(shards, Whole):
            state = state_of(config, read, read[0].context)
        else:
            state = state_of(config, ReadShards([config], shards, encoder), Context(encoder))
        for place in places:
            states[place] = state
    return tuple(states)


def _counted(configs: Sequence[FeatureConfig], read: Sequence[Shard], number: int) -> list[Any]:
    shard = read[number]
    return [counted(config, shard) for config in configs]


def learned_alike(configs: Sequence[FeatureConfig]) -> dict[object, list[int]]:
    """Return the places of the features that learn, those that learn the same together."""
    learners: dict[object, list[int]] = {}
    for place, config in enumerate(configs):
        if learner := FEATURES[config.name].learner:
            options = [option for function in learner.functions for option in options_of(config, function).items()]
            learners.setdefault((learner, *options), []).append(place)
    return learners


def counting(configs: Sequence[FeatureConfig]) -> dict[object, FeatureConfig]:
    """Return the features that count, one of those that count alike, by what they share."""
    counters = [config for config in configs if isinstance(FEATURES[config.name].learner, Counted)]
    return {counting_key(config): config for config in reversed(counters)}  # the first of them stays


def counting_key(config: FeatureConfig) -> object:
    """Return what two features share whose parts are the same."""
    learner = counter_of(config)
    return learner.count, learner.merge, *options_of(config, learner.count).items()


def counter_of(config: FeatureConfig) -> Counted:
    """Return how a feature that counts does so."""
    learner = FEATURES[config.name].learner
    if not isinstance(learner, Counted):
        raise TypeError(f"the feature {config.name} does not count")
    return learner


def refuse_plain_fits(configs: Sequence[FeatureConfig]) -> None:
    """Raise for a feature whose parts do not add up."""
    for config in configs:
        if isinstance(FEATURES[config.name].learner, InMemory):
            raise UsageError(
                f"the feature {config.name} learns with a plain fit, which needs all samples in memory: leave it out, "
                "make it a counted one, or write an .npz"
            )


def counted(config: FeatureConfig, shard: Shard) -> Any:
    """Return the part of a shard."""
    learner = counter_of(config)
    part = call_feature(config, learner.count, shard.groups, shard.context)
    if learner.merge is not merged:
        return part
    if not (isinstance(part, dict) and all(isinstance(table, Table) for table in part.values())):
        needed = "a dict of tables (ltr.tables.table) is needed, or a merge of its own"
        raise DataError(f"the feature {config.name}: its count gave {type(part).__name__}; {needed}")
    return spilled(part)


def merge_of(config: FeatureConfig, *, in_memory: int | None = None) -> Callable[[Any, Any], Any]:
    """Return what makes one part of two; larger tables than `in_memory` lie on disk, unless it is None."""
    merge = counter_of(config).merge
    if merge is not merged or in_memory is None:
        return partial(call_feature, config, merge)
    return partial(_merged_alike, config.name, in_memory)


def _merged_alike(name: str, in_memory: int, *parts: Part) -> Part:
    return merged(*_alike(name, parts), in_memory=in_memory)


def states_without_each(
    config: FeatureConfig, parts: Sequence[Any], *, in_memory: int | None = None
) -> Iterator[State]:
    """Yield the state that the feature makes of the other parts, for each part, then that of all.

    `in_memory`: see `parts_without_each`.
    """
    if counter_of(config).merge is merged:
        without_each = parts_without_each(_alike(config.name, parts), in_memory=in_memory)
    else:
        without_each = merges_without_each(parts, merge_of(config))
    return (state_of(config, part) for part in without_each)


def state_of(config: FeatureConfig, *source: Any) -> State:
    """Return the state that a feature makes of what it learns from: a part, shards or groups; of the declared type."""
    learner = FEATURES[config.name].learner
    if learner is None:
        raise UsageError(f"the feature {config.name} learns nothing")
    state: State = call_feature(config, learner.state, *source)
    if FEATURES.source(config.name) != OURS:
        _refuse_other_state(config.name, state)
        if declared := declared_type(learner.state):
            refuse_other_type(state, declared, f"the feature {config.name}: the state that its fit returned")
    return state


def _alike(name: str, parts: Sequence[Part]) -> Sequence[Part]:
    """Return the parts of shards, which must have the same tables to add up."""
    first, *others = map(_forms, parts)
    for other in others:
        if other != first:
            differ = ", ".join(sorted({place for place, _ in first.items() ^ other.items()}))
            needed = "each shard needs the same tables, of the same columns"
            raise DataError(f"the feature {name}: its count gave other tables of another shard ({differ}); {needed}")
    return parts


def _forms(part: Part) -> dict[str, str]:
    """Return what a row of each column of the tables is."""
    return {
        f"{name}.{key}": str(column.shape[1:]) if isinstance(column, np.ndarray) else "lists or vectors"
        for name, table in part.items()
        for key, column in (("keys", table.keys), *table.sums.items(), *table.facts.items())
    }


def _refuse_other_state(name: str, state: Any) -> None:
    """Raise where a state is, or holds, what a model could not store and restore unchanged.

    >>> _refuse_other_state("tool.own", {"counts": np.array([1, 2]), "mean": 0.5})
    """
    unchecked: list[tuple[str, Any]] = [("state", state)]
    while unchecked:
        path, value = unchecked.pop()
        is_whole = path == "state"
        is_array = isinstance(value, np.ndarray) and value.dtype.kind in ARRAY_KINDS and "[" not in path
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            unchecked += [(f"{path}.{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list) and not is_whole:
            unchecked += [(f"{path}[{place}]", inner) for place, inner in enumerate(value) if not _is_json(inner)]
        elif not is_array and (is_whole or not _is_json(value)):
            what = f"an array of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__
            raise DataError(
                f"the feature {name}: its fit gave {what} at {path}; "
                "a dict of JSON (text keys, finite numbers) and of numpy arrays of numbers is needed, or one such array"
            )


def _is_json(value: Any) -> bool:
    """Return whether it is a value JSON has, and no list or object."""
    if type(value) is float:
        return bool(np.isfinite(value))
    if type(value) is int:
        return abs(value) < LARGEST
    return value is None or type(value) in (bool, str)
