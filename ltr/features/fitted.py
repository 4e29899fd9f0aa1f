"""Fitted features: the columns that they give to candidates, and what a catalogue alone decides for them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, is_dataclass, replace
from itertools import chain
from typing import Any, Protocol, Self

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.encoders import CachedEncoder, Encoder, Role
from ltr.errors import DataError, UsageError
from ltr.features.protocol import FEATURES, Context, FeatureConfig, TextSource, option_names, text_sources
from ltr.features.tables import table_texts
from ltr.features.texts import Lexicon
from ltr.plugins import OURS, origin_prefix, plugin_errors
from ltr.samples import Candidates, Kind, ToolList, tools_of_rows
from ltr.states import Record, TextTable, declared_type


class Table(Protocol):
    """What a feature prepares of tools: an array with a row for each, a tuple of tables, or an object of this kind."""

    def extended(self, more: Self) -> Self:
        """Return the rows of this, then those of tools that came later."""
        ...


@dataclass(frozen=True, slots=True)
class Tables:
    """What each feature prepared of tools, None for one that prepares nothing; and the row of each candidate there."""

    of_features: tuple[Any, ...]
    rows: IntArray  # (rows,)
    of_states: dict[Any, Any]  # what features made of their states alone, held from query to query

    @staticmethod
    def extended(tables: tuple[Any, ...], more: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the rows of each table, then those of tools that came later.

        >>> Tables.extended((np.array([1, 2]), None), (np.array([3]), None))
        (array([1, 2, 3]), None)
        """
        return tuple(_extended(table, rows) for table, rows in zip(tables, more, strict=True))


def _extended(table: Any, more: Any) -> Any:
    if isinstance(table, tuple):
        return Tables.extended(table, more)
    if isinstance(table, np.ndarray):
        return np.concatenate([table, more])
    return None if table is None else table.extended(more)


@dataclass(frozen=True, slots=True)
class FittedFeatures:
    """Phi for any candidates of the kind: the features, what each has learned, and the encoder they share."""

    kind: Kind
    configs: tuple[FeatureConfig, ...]
    states: tuple[State | None, ...]
    encoder: Encoder

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the columns, in order."""
        return tuple(config.name for config in self.configs)

    def only(self, *names: str) -> "FittedFeatures":
        """Return those of the features that have one of the names."""
        return self.taken([place for place, name in enumerate(self.names) if name in names])

    def taken(self, places: Sequence[int]) -> "FittedFeatures":
        """Return some of the features, by their places."""
        configs, states = tuple(self.configs[at] for at in places), tuple(self.states[at] for at in places)
        return replace(self, configs=configs, states=states)

    def __call__(
        self, candidates: Candidates, tables: Tables | None = None, *, are_whole_lists: bool = True
    ) -> FloatArray:
        """Return phi of candidates that were not trained on, (rows, features).

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
        """Return how many numbers a row has before its list is whole."""
        return sum(FEATURES[config.name].finish.width for config in self.configs)

    def whole(self, raw: FloatArray, offsets: IntArray) -> FloatArray:
        """Return phi of whole lists: what each feature makes of the numbers of a list, (rows, features)."""
        phi, first = np.empty((len(raw), len(self.configs))), 0
        for place, (config, state) in enumerate(zip(self.configs, self.states, strict=True)):
            last = first + FEATURES[config.name].finish.width
            phi[:, place] = _in_list(config, raw[:, first:last], offsets, state)
            first = last
        return multiplied(self.configs, phi)

    def learned_tools(self) -> frozenset[str]:
        """Return the names of the tools that the states hold."""
        learned = set[str]()
        for config, state in zip(self.configs, self.states, strict=True):
            learner = FEATURES[config.name].learner
            if learner is not None and state is not None:
                learned.update(_tool_names(declared_type(learner.state), state))
        return frozenset(learned)

    def apart(self) -> "FittedFeatures":
        """Return the same features, with vectors of their own in memory: those of one shard go with it."""
        encoder = self.encoder
        return replace(self, encoder=encoder.apart()) if isinstance(encoder, CachedEncoder) else self

    def prepared(self, tools: ToolList, of_states: dict[Any, Any]) -> tuple[Any, ...]:
        """Return what each feature prepares of the tools; `of_states` holds what it makes of its state alone."""
        context = Context(self.encoder, Lexicon(), of_states=of_states)
        pairs = zip(self.configs, self.states, strict=True)
        return tuple(_prepared(config, tools, state, context) for config, state in pairs)


def _tool_names(declared: Any, value: State) -> Iterator[str]:
    """Yield the texts of the tables of tools in a state of the declared type."""
    if isinstance(declared, TextTable) and declared.axis == "tools":
        yield from table_texts(value)
    if isinstance(declared, Record):
        for name, part in declared.parts.items():
            yield from _tool_names(part, value[name])


def reading(
    configs: Sequence[FeatureConfig],
    candidates: Candidates,
    encoder: Encoder,
    lexicon: Lexicon,
    *,
    are_prepared: bool = False,
) -> Context:
    """Return the context in which features read candidates: the vectors of the texts they name."""
    context, of_roles = Context(encoder, lexicon), dict[Role, dict[TextSource, tuple[str, ...]]]()
    for source, role, name in text_sources(configs, are_prepared=are_prepared):
        with plugin_errors(f"the feature {name}", source, FEATURES.source(name)):
            of_roles.setdefault(role, {})[source] = context.shared(source, candidates).texts
    for role, of_sources in of_roles.items():  # a text that stands in two lists of a role is encoded once
        place = {text: row for row, text in enumerate(dict.fromkeys(chain.from_iterable(of_sources.values())))}
        vectors = encoder.encode(tuple(place), role)
        for source, texts in of_sources.items():
            rows = np.array([place[text] for text in texts], dtype=np.int64)
            context.vectors[source] = vectors if texts == tuple(place) else vectors.take(rows)
    return context


def column_of(config: FeatureConfig, candidates: Candidates, state: State | None, context: Context) -> FloatArray:
    """Return one finite number for each candidate of whole lists, before it is multiplied by another column."""
    return _in_list(config, raw_numbers(config, candidates, state, context), candidates.offsets, state)


def _in_list(config: FeatureConfig, raw: FloatArray, offsets: IntArray, state: State | None) -> FloatArray:
    """Return one number for each row of its numbers, (rows, width), and those of its list."""
    number = FEATURES[config.name].finish.number
    if number is None:
        return raw[:, 0]
    return finite(config, number, call_feature(config, number, raw, offsets, state), (len(raw),))


def multiplied(configs: Sequence[FeatureConfig], phi: FloatArray) -> FloatArray:
    """Return phi with the columns that are so declared multiplied by another of its columns."""
    names = [config.name for config in configs]
    for place, name in enumerate(names):
        if other := FEATURES[name].finish.times:
            if other not in names:
                raise UsageError(f"the feature {name} is multiplied by {other}; name both")
            phi[:, place] *= phi[:, names.index(other)]
    return phi


def raw_numbers(config: FeatureConfig, candidates: Candidates, state: State | None, context: Context) -> FloatArray:
    """Return finite numbers for each candidate, before its list is looked at, (rows, width)."""
    column = FEATURES[config.name].column
    if FEATURES[config.name].prepare and context.table is None:
        tools, tool_of_row = context.shared(tools_of_rows, candidates)
        apart = replace(context, of_states={})  # of a fold: what is made of its state goes with it
        context = replace(apart, table=_prepared(config, tools, state, apart), tools=tool_of_row)
    values = call_feature(config, column, candidates, state, context)
    rows, width = int(candidates.offsets[-1]), FEATURES[config.name].finish.width
    return finite(config, column, values, (rows,) if width == 1 else (rows, width)).reshape(rows, width)


def finite(config: FeatureConfig, function: Callable[..., Any], values: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return what a function of the feature gave: an array of finite numbers, of that shape."""
    is_plain = isinstance(values, np.ndarray) and values.shape == shape and values.dtype.kind in "biuf"
    if not (is_plain and np.isfinite(values).all()):
        numbers = "one finite number" if len(shape) == 1 else f"{shape[1]} finite numbers"
        problem = f"the feature {config.name} did not give {numbers} for each of {shape[0]} candidates"
        raise DataError(f"{origin_prefix(function)}{problem}")
    column: FloatArray = values
    return column


def _prepared(config: FeatureConfig, tools: ToolList, state: State | None, context: Context) -> Any:
    """Return what the feature prepares of the tools."""
    prepare = FEATURES[config.name].prepare
    return None if prepare is None else call_feature(config, prepare, tools, state, context)


def call_feature(config: FeatureConfig, function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a function of the feature returns; one from outside may fail, and writes to none of its arguments."""
    source, options = FEATURES.source(config.name), options_of(config, function)
    if source == OURS:
        return function(*arguments, **options)
    inputs = [argument for argument in arguments if not isinstance(argument, Context)]
    with plugin_errors(f"the feature {config.name}", function, source), _write_protected(*inputs):
        return function(*arguments, **options)


def options_of(config: FeatureConfig, function: Callable[..., Any]) -> dict[str, float]:
    """Return those options of the config that the function takes."""
    return {name: config.options[name] for name in option_names(function) if name in config.options}


def refuse_other_kind(kind: str, candidates: Candidates) -> None:
    """Raise unless the candidates are of the kind and have texts to be featurised."""
    if kind != candidates.kind:
        raise DataError(f"the features are of {kind}s; the candidates are {candidates.kind}s")
    if candidates.features is not None:
        raise UsageError("the samples bear ready features; they cannot be featurised again")


@contextmanager
def _write_protected(*values: Any) -> Iterator[None]:
    """Let nobody write, inside the block, to the arrays of the values, nor of dataclasses, mappings and lists in them.

    >>> column = np.zeros(2)
    >>> with _write_protected({"column": column}):
    ...     column += 1
    Traceback (most recent call last):
    ValueError: it writes to an array that it was given; it may write to a copy
    >>> column += 1
    """
    arrays = [array for array in _arrays(*values) if array.flags.writeable]
    for array in arrays:
        array.flags.writeable = False
    try:
        yield
    except ValueError as error:
        if "read-only" not in str(error):
            raise
        problem = "it writes to an array that it was given; it may write to a copy"
        raise ValueError(problem).with_traceback(error.__traceback__) from None
    finally:
        for array in sorted(arrays, key=lambda array: array.base is not None):  # a view opens after what it looks at
            array.flags.writeable = True


def _arrays(*values: Any) -> Iterator[np.ndarray[Any, Any]]:
    for value in values:
        if isinstance(value, np.ndarray):
            yield value
        elif isinstance(value, dict):
            yield from _arrays(*value.values())
        elif isinstance(value, list):
            yield from _arrays(*value)
        elif is_dataclass(value):
            yield from _arrays(*(getattr(value, field.name) for field in fields(value)))
