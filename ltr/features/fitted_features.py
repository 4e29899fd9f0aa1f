"""Fitted features: the columns that they give to candidates."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.data.candidates import Candidates
from ltr.data.distinct_tools import ToolList, tools_of_rows
from ltr.data.schema import Kind
from ltr.encoders.cached_encoder import CachedEncoder, encoded_lists
from ltr.encoders.protocol import Encoder, Role
from ltr.errors import DataError, UsageError
from ltr.features.feature_context import Context, StateMemo, TextSource
from ltr.features.lexicon import Lexicon
from ltr.features.precomputed_tables import Tables
from ltr.features.registry import FEATURES, FeatureConfig, text_sources
from ltr.features.state_learners import option_names
from ltr.features.write_protection import write_protected
from ltr.plugins import OURS, origin_prefix, plugin_errors


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
        return self.taken([place for place, name in enumerate(self.names) if name in names])

    def taken(self, places: Sequence[int]) -> "FittedFeatures":
        """Some of the features, by their places."""
        configs, states = tuple(self.configs[at] for at in places), tuple(self.states[at] for at in places)
        return replace(self, configs=configs, states=states)

    def __call__(
        self, candidates: Candidates, tables: Tables | None = None, *, are_whole_lists: bool = True
    ) -> FloatArray:
        """Phi of candidates that were not trained on, (rows, features).

        What was prepared of their tools before saves the time to prepare it again. Of parts of lists the numbers are
        those that `whole` makes columns of once the lists are whole, (rows, width).
        """
        refuse_other_kind(self.kind, candidates)
        context = reading(self.configs, candidates, self.encoder, Lexicon(), are_prepared=True)
        if tables is not None:
            context = replace(context, of_states=tables.of_states)
        raw, first = np.empty((int(candidates.offsets[-1]), self.width)), 0
        for place, (config, state) in enumerate(zip(self.configs, self.states, strict=True)):
            table = None if tables is None else replace(context, table=tables.of_features[place], tools=tables.rows)
            last = first + FEATURES[config.name].finish.width
            raw[:, first:last] = raw_numbers(config, candidates, state, table or context)
            first = last
        return self.whole(raw, candidates.offsets) if are_whole_lists else raw

    @property
    def width(self) -> int:
        """How many numbers a row has before its list is whole."""
        return sum(FEATURES[config.name].finish.width for config in self.configs)

    def whole(self, raw: FloatArray, offsets: IntArray) -> FloatArray:
        """Phi of whole lists: what each feature makes of the numbers of a list, (rows, features)."""
        phi, first = np.empty((len(raw), len(self.configs))), 0
        for place, (config, state) in enumerate(zip(self.configs, self.states, strict=True)):
            last = first + FEATURES[config.name].finish.width
            phi[:, place] = _in_list(config, raw[:, first:last], offsets, state)
            first = last
        return multiplied(self.configs, phi)

    def apart(self) -> "FittedFeatures":
        """The same features, with vectors of their own in memory: those of one shard go with it."""
        encoder = self.encoder
        return replace(self, encoder=encoder.apart()) if isinstance(encoder, CachedEncoder) else self

    def prepared(self, tools: ToolList, of_states: StateMemo) -> tuple[Any, ...]:
        """What each feature prepares of the tools; `of_states` holds what it makes of its state alone."""
        context = Context(self.encoder, Lexicon(), of_states=of_states)
        pairs = zip(self.configs, self.states, strict=True)
        return tuple(_prepared(config, tools, state, context) for config, state in pairs)


def reading(
    configs: Sequence[FeatureConfig],
    candidates: Candidates,
    encoder: Encoder,
    lexicon: Lexicon,
    *,
    are_prepared: bool = False,
) -> Context:
    """The context in which features read candidates: the vectors of the texts they name."""
    context = Context(encoder, lexicon)
    of_sources: dict[TextSource, tuple[Role, tuple[str, ...]]] = {}
    for source, role, name in text_sources(configs, are_prepared=are_prepared):
        with plugin_errors(f"the feature {name}", source, FEATURES.source(name)):
            of_sources[source] = role, context.shared(source, candidates).texts
    context.vectors.update(encoded_lists(encoder, of_sources))
    return context


def column_of(config: FeatureConfig, candidates: Candidates, state: State | None, context: Context) -> FloatArray:
    """One finite number for each candidate of whole lists, before it is multiplied by another column."""
    return _in_list(config, raw_numbers(config, candidates, state, context), candidates.offsets, state)


def _in_list(config: FeatureConfig, raw: FloatArray, offsets: IntArray, state: State | None) -> FloatArray:
    """One number for each row of its numbers, (rows, width), and those of its list."""
    number = FEATURES[config.name].finish.number
    if number is None:
        return raw[:, 0]
    return finite(config, number, call_feature(config, number, raw, offsets, state), (len(raw),))


def multiplied(configs: Sequence[FeatureConfig], phi: FloatArray) -> FloatArray:
    """Phi with the columns that are so declared multiplied by another of its columns."""
    names = [config.name for config in configs]
    for place, name in enumerate(names):
        if other := FEATURES[name].finish.times:
            if other not in names:
                raise UsageError(f"the feature {name} is multiplied by {other}; name both")
            phi[:, place] *= phi[:, names.index(other)]
    return phi


def raw_numbers(config: FeatureConfig, candidates: Candidates, state: State | None, context: Context) -> FloatArray:
    """Finite numbers for each candidate, before its list is looked at, (rows, width)."""
    column = FEATURES[config.name].column
    if FEATURES[config.name].prepare and context.table is None:
        tools, tool_of_row = context.shared(tools_of_rows, candidates)
        apart = replace(context, of_states={})  # of a fold: what is made of its state goes with it
        context = replace(apart, table=_prepared(config, tools, state, apart), tools=tool_of_row)
    values = call_feature(config, column, candidates, state, context)
    rows, width = int(candidates.offsets[-1]), FEATURES[config.name].finish.width
    return finite(config, column, values, (rows,) if width == 1 else (rows, width)).reshape(rows, width)


def checked(config: FeatureConfig, function: Callable[..., Any], values: Any, candidates: Candidates) -> FloatArray:
    """What a function of the feature gave for candidates: one finite number for each."""
    return finite(config, function, values, (int(candidates.offsets[-1]),))


def finite(config: FeatureConfig, function: Callable[..., Any], values: Any, shape: tuple[int, ...]) -> FloatArray:
    """What a function of the feature gave: an array of finite numbers, of that shape."""
    is_plain = isinstance(values, np.ndarray) and values.shape == shape and values.dtype.kind in "biuf"
    if not (is_plain and np.isfinite(values).all()):
        numbers = "one finite number" if len(shape) == 1 else f"{shape[1]} finite numbers"
        problem = f"the feature {config.name} did not give {numbers} for each of {shape[0]} candidates"
        raise DataError(f"{origin_prefix(function)}{problem}")
    column: FloatArray = values
    return column


def _prepared(config: FeatureConfig, tools: ToolList, state: State | None, context: Context) -> Any:
    """What the feature prepares of the tools."""
    prepare = FEATURES[config.name].prepare
    return None if prepare is None else call_feature(config, prepare, tools, state, context)


def call_feature(config: FeatureConfig, function: Callable[..., Any], *arguments: Any) -> Any:
    """What a function of the feature returns; one from outside may fail, and writes to none of its arguments."""
    source, options = FEATURES.source(config.name), options_of(config, function)
    if source == OURS:
        return function(*arguments, **options)
    inputs = [argument for argument in arguments if not isinstance(argument, Context)]
    with plugin_errors(f"the feature {config.name}", function, source), write_protected(*inputs):
        return function(*arguments, **options)


def options_of(config: FeatureConfig, function: Callable[..., Any]) -> dict[str, float]:
    """Those options of the config that the function takes."""
    return {name: config.options[name] for name in option_names(function) if name in config.options}


def refuse_other_kind(kind: str, candidates: Candidates) -> None:
    """Raise unless the candidates are of the kind and have texts to be featurised."""
    if kind != candidates.kind:
        raise DataError(f"the features are of {kind}s; the candidates are {candidates.kind}s")
    if candidates.features is not None:
        raise UsageError("the samples bear ready features; they cannot be featurised again")
