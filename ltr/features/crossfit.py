"""Cross-fitting: states that travel with the model, and training columns from states that saw no label of the row."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from typing import Any, Self

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.data.groups import Candidates, Groups, select
from ltr.data.schema import Kind
from ltr.encoders.cached_encoder import CachedEncoder, encoded_lists
from ltr.encoders.protocol import Encoder, Role
from ltr.errors import DataError, UsageError
from ltr.features.learner_output_checks import alike, refuse_other_part, refuse_other_state
from ltr.features.lexicon import Lexicon
from ltr.features.precomputed_tables import Tables, tools_of_rows
from ltr.features.registry import FEATURES, Context, FeatureConfig, StateMemo, TextSource, ToolList, text_sources
from ltr.features.state_learners import Counted, Optimised, option_names
from ltr.features.write_protection import write_protected
from ltr.files.learned_state_types import declared_type, refuse_other_type
from ltr.files.mergeable_tables import Part, merged, merges_without_each, parts_without_each, spilled
from ltr.logs import LOG, stage
from ltr.plugins import OURS, origin_prefix, plugin_errors

FOLDS = 10
FEWEST_TRACES = 20  # below: a fold for each trace

OnFold = Callable[[int, int], object]


@dataclass(frozen=True, slots=True)
class FittedFeatures:
    """Phi for any candidates of the kind: the features, what each has learned, and the encoder they share."""

    kind: Kind
    configs: tuple[FeatureConfig, ...]
    states: tuple[State | None, ...]
    encoder: Encoder

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(config.name for config in self.configs)

    def only(self, *names: str) -> "FittedFeatures":
        """Those of the features that have one of the names."""
        places = [place for place, name in enumerate(self.names) if name in names]
        configs, states = tuple(self.configs[at] for at in places), tuple(self.states[at] for at in places)
        return replace(self, configs=configs, states=states)

    def __call__(self, candidates: Candidates, tables: Tables | None = None) -> FloatArray:
        """Phi of candidates that were not trained on, (rows, features).

        What was prepared of their tools before saves the time to prepare it again.
        """
        refuse_other_kind(self.kind, candidates)
        context = reading(self.configs, candidates, self.encoder, Lexicon(), are_prepared=True)
        if tables is not None:
            context = replace(context, of_states=tables.of_states)
        phi = np.empty((int(candidates.offsets[-1]), len(self.configs)))
        for place, (config, state) in enumerate(zip(self.configs, self.states, strict=True)):
            table = None if tables is None else replace(context, table=tables.of_features[place], tools=tables.rows)
            phi[:, place] = column_of(config, candidates, state, table or context)
        return phi

    def apart(self) -> "FittedFeatures":
        """The same features, with vectors of their own in memory: those of one shard go with it."""
        encoder = self.encoder
        return replace(self, encoder=encoder.apart()) if isinstance(encoder, CachedEncoder) else self

    def prepared(self, tools: ToolList, of_states: StateMemo) -> tuple[Any, ...]:
        """What each feature prepares of the tools; `of_states` holds what it makes of its state alone."""
        context = Context(self.encoder, Lexicon(), of_states=of_states)
        pairs = zip(self.configs, self.states, strict=True)
        return tuple(_prepared(config, tools, state, context) for config, state in pairs)


@dataclass(frozen=True, slots=True)
class Shard:
    """Groups of whole traces, and the context in which features read them."""

    groups: Groups
    context: Context


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
        return reduce(partial(_called, config, learner.merge), parts) if parts else None


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


def learned_alike(configs: Sequence[FeatureConfig]) -> dict[object, list[int]]:
    """The places of the features that learn, those that learn the same together."""
    learners: dict[object, list[int]] = {}
    for place, config in enumerate(configs):
        if learner := FEATURES[config.name].learner:
            learners.setdefault((learner, *_learned_options(config)), []).append(place)
    return learners


def fit_states(
    configs: Sequence[FeatureConfig], groups: Groups, encoder: Encoder, lexicon: Lexicon | None = None
) -> tuple[State | None, ...]:
    """What each feature learns from the groups, in one shard; None for one that learns nothing."""
    shard = Shard(groups, reading(configs, groups.candidates, encoder, Lexicon() if lexicon is None else lexicon))
    states: list[State | None] = []
    for config in configs:
        learner = FEATURES[config.name].learner
        if isinstance(learner, Counted):
            states.append(state_of(config, counted(config, learner, shard)))
        elif isinstance(learner, Optimised):
            states.append(state_of(config, [shard], shard.context))
        else:
            states.append(state_of(config, groups, shard.context) if learner else None)
    return tuple(states)


def named_parts(configs: Sequence[FeatureConfig], groups: Groups, encoder: Encoder) -> dict[str, Part]:
    """What the features that read names and labels alone count in the groups, by feature."""
    shard, parts = Shard(groups, Context(encoder)), dict[str, Part]()
    for config in configs:
        learner = FEATURES[config.name].learner
        if isinstance(learner, Counted) and learner.by_name and learner.merge is merged:
            parts[config.name] = counted(config, learner, shard)
    return parts


def reading(
    configs: Sequence[FeatureConfig],
    candidates: Candidates,
    encoder: Encoder,
    lexicon: Lexicon,
    *,
    are_prepared: bool = False,
) -> Context:
    """The context in which features read candidates: the vectors of the texts they name, and what they share."""
    context = Context(encoder, lexicon)
    of_sources: dict[TextSource, tuple[Role, tuple[str, ...]]] = {}
    for source, role, name in text_sources(configs, are_prepared=are_prepared):
        with plugin_errors(f"the feature {name}", source, FEATURES.source(name)):
            of_sources[source] = role, context.shared(source, candidates).texts
    context.vectors.update(encoded_lists(encoder, of_sources))
    for config in configs:
        for shared in FEATURES[config.name].shares:
            with plugin_errors(f"the feature {config.name}", shared, FEATURES.source(config.name)):
                context.shared(shared, candidates)
    return context


def counted(config: FeatureConfig, learner: Counted, shard: Shard) -> Any:
    """The part of a shard."""
    part = _called(config, learner.count, shard.groups, shard.context)
    if learner.merge is merged:
        refuse_other_part(config.name, part)
        return spilled(part)
    return part


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


def merge_of(config: FeatureConfig, learner: Counted) -> Callable[[Any, Any], Any]:
    """What makes one part of two."""
    return partial(_called, config, learner.merge)


def state_of(config: FeatureConfig, *source: Any) -> State:
    """The state that the feature makes of what it learned from: a part, shards or groups; of the type it declares."""
    learner = FEATURES[config.name].learner
    if learner is None:
        raise UsageError(f"the feature {config.name} learns nothing")
    state: State = _called(config, learner.state, *source)
    if FEATURES.source(config.name) != OURS:
        refuse_other_state(config.name, state)
        if declared := declared_type(learner.state):
            refuse_other_type(state, declared, f"the feature {config.name}: the state that its fit returned")
    return state


def column_of(config: FeatureConfig, candidates: Candidates, state: State | None, context: Context) -> FloatArray:
    """One finite number for each candidate."""
    column, rows = FEATURES[config.name].column, int(candidates.offsets[-1])
    if FEATURES[config.name].prepare and context.table is None:
        tools, tool_of_row = context.shared(tools_of_rows, candidates)
        apart = replace(context, of_states={})  # of a fold: what is made of its state goes with it
        context = replace(apart, table=_prepared(config, tools, state, apart), tools=tool_of_row)
    values: FloatArray = _called(config, column, candidates, state, context)
    is_plain = isinstance(values, np.ndarray) and values.shape == (rows,) and values.dtype.kind in "biuf"
    if not (is_plain and np.isfinite(values).all()):
        problem = f"the feature {config.name} did not give one finite number for each of {rows} candidates"
        raise DataError(f"{origin_prefix(column)}{problem}")
    return values


def _prepared(config: FeatureConfig, tools: ToolList, state: State | None, context: Context) -> Any:
    """What the feature prepares of the tools."""
    prepare = FEATURES[config.name].prepare
    return None if prepare is None else _called(config, prepare, tools, state, context)


def _called(config: FeatureConfig, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of the feature returns; one from outside may fail, and writes to none of its arguments."""
    source, options = FEATURES.source(config.name), _options(config, function)
    if source == OURS:
        return function(*arguments, **options)
    inputs = [argument for argument in arguments if not isinstance(argument, Context)]
    with plugin_errors(f"the feature {config.name}", function, source), write_protected(*inputs):
        return function(*arguments, **options)


def _options(config: FeatureConfig, function: Callable[..., Any]) -> dict[str, float]:
    """Those options of the config that the function takes."""
    return {name: config.options[name] for name in option_names(function) if name in config.options}


def counting_key(config: FeatureConfig, learner: Counted) -> object:
    """What two features share whose parts are the same."""
    return learner.count, learner.merge, *_options(config, learner.count).items()


def _learned_options(config: FeatureConfig) -> list[tuple[str, float]]:
    """Those options of the config that its learner takes."""
    learner = FEATURES[config.name].learner
    functions = learner.functions if learner else ()
    return [option for function in functions for option in _options(config, function).items()]


def refuse_other_kind(kind: str, candidates: Candidates) -> None:
    """Raise unless the candidates are of the kind and have texts to be featurised."""
    if kind != candidates.kind:
        raise DataError(f"the features are of {kind}s; the candidates are {candidates.kind}s")
    if candidates.features is not None:
        raise UsageError("the samples bear ready features; they cannot be featurised again")


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
