"""The features by name: what a feature is, how it is registered, and how its two functions are called."""

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, get_args

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.data.groups import Candidates, Groups
from ltr.data.schema import Kind
from ltr.encoders.protocol import Encoder
from ltr.errors import DataError, RangeError, UsageError, suggestion
from ltr.features.read_only import write_protected
from ltr.features.rows import row_queries
from ltr.features.states import refuse_other_state
from ltr.features.words import Lexicon
from ltr.files.state_types import declared_type, refuse_other_type
from ltr.plugins import OURS, origin_prefix, plugin_errors, summary_of
from ltr.registry import Registry

Family = Literal["rel", "hist", "coop", "struct"]
Fit = Callable[..., State]
Column = Callable[..., FloatArray]
Subject = TypeVar("Subject")
Value = TypeVar("Value")

RANGES: dict[str, Callable[[float], bool]] = {
    "above 0": lambda value: value > 0,
    "of 0 or more": lambda value: value >= 0,
    "from 0 to 1": lambda value: 0 <= value <= 1,
}
Positive = Annotated[float, "above 0"]
NotNegative = Annotated[float, "of 0 or more"]
Rate = Annotated[float, "from 0 to 1"]


@dataclass(frozen=True, slots=True)
class Context:
    """What a feature may use besides the candidates; never labels."""

    encoder: Encoder
    memo: dict[Callable[..., Any], tuple[object, Any]] = field(default_factory=dict)
    lexicon: Lexicon = field(default_factory=Lexicon)

    def cosines(self, candidates: Candidates, texts: tuple[str, ...], codes: IntArray) -> FloatArray:
        """Cosine of each row's query and its text, texts[codes[row]]; 0 where either says nothing."""
        queries = self.encoder.encode(candidates.query_texts, "query")
        return queries.dots(row_queries(candidates), self.encoder.encode(texts, "document"), codes)

    def shared(self, compute: "Callable[[Subject, Context], Value]", subject: Subject) -> Value:
        """compute(subject, context), computed once for all features that read it; nobody may write to it.

        Only the value of the last subject is held, of candidates or groups.
        """
        entry = self.memo.get(compute)
        if entry is None or entry[0] is not subject:
            entry = self.memo[compute] = (subject, compute(subject, self))
        value: Value = entry[1]
        return value


@dataclass(frozen=True, slots=True)
class Option:
    """A number that a config may set: its default, and the range it must lie in, a key of RANGES."""

    default: float
    range: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One column of phi. `fit` learns a state from groups; `column` never sees a label."""

    name: str
    kind: Kind  # of its candidates: what stands before the dot of the name
    title: str  # what the column holds, in the words of a newcomer
    summary: str  # what it holds exactly, in one line
    family: Family
    column: Column
    fit: Fit | None
    options: dict[str, Option]


FEATURES: Registry[Feature] = Registry(
    "feature",
    "ltr.features.history",
    "ltr.features.tool_specification",
    "ltr.features.graph_specification",
    "ltr.features.tool_grams",
    "ltr.features.tool_popularity",
    "ltr.features.tool_prototypes",
    "ltr.features.tool_talk",
    "ltr.features.tool_wording",
    "ltr.features.graph_neighbours",
    "ltr.features.graph_order",
    "ltr.features.graph_shape",
)


def feature(name: str, family: Family, *, fit: Fit | None = None, title: str = "") -> Callable[[Column], Column]:
    """Register a column function under a name, with the function that fits its state, if it has one.

    The keyword-only parameters of the two functions are its options. Without a title the name stands in tables.
    """
    prefix, dot, _ = name.partition(".")
    if prefix not in get_args(Kind) or not dot:
        raise UsageError(f"feature {name!r}: a name such as tool.{name} or graph.{name} is needed")
    if family not in get_args(Family):
        raise UsageError(f"feature {name}: family {family!r}; one of {', '.join(get_args(Family))} is needed")

    def register(column: Column) -> Column:
        if not callable(column):
            raise UsageError(f"feature {name}: {column!r} is not a function")
        options = {}
        for parameter in [p for f in (column, fit) if f for p in inspect.signature(f).parameters.values()]:
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY:
                ranges = [word for word in get_args(parameter.annotation) if word in RANGES]
                options[parameter.name] = Option(parameter.default, ranges[0] if ranges else None)
        plugin = Feature(
            name=name,
            kind="graph" if prefix == "graph" else "tool",
            title=title or name,
            summary=summary_of(column),
            family=family,
            column=column,
            fit=fit,
            options=options,
        )
        FEATURES.add(name, plugin, made_of=column)
        return column

    return register


@dataclass(frozen=True, slots=True)
class FeatureConfig:
    """A feature by name, and its options where they are not the defaults."""

    name: str
    options: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        options, wrong = FEATURES[self.name].options, []
        for option, value in self.options.items():
            if option not in options:
                hint = suggestion(option, options) or f"; known: {', '.join(options) or 'none'}"
                wrong.append(f"feature {self.name} has no option {option!r}{hint}")
                continue
            allowed = options[option].range
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (is_number and np.isfinite(value)):
                wrong.append(f"feature {self.name}: {option} is {value!r}; a number is needed")
            elif allowed and not RANGES[allowed](value):
                wrong.append(f"feature {self.name}: {option} is {value!r}; a number {allowed} is needed")
        if wrong:
            raise RangeError(*wrong)


def fit_state(config: FeatureConfig, groups: Groups, context: Context) -> State | None:
    """The state of a feature that learns, fitted on the groups; None for one that does not."""
    function = FEATURES[config.name].fit
    if function is None:
        return None
    state: State = _result(config, function, context, groups)
    if FEATURES.source(config.name) != OURS:
        refuse_other_state(config.name, state)
        if declared := declared_type(function):
            refuse_other_type(state, declared, f"the feature {config.name}: the state that its fit returned")
    return state


def feature_column(config: FeatureConfig, candidates: Candidates, state: State | None, context: Context) -> FloatArray:
    """The feature's value of each row."""
    function = FEATURES[config.name].column
    values = _result(config, function, context, candidates, state)
    rows = int(candidates.offsets[-1])
    is_plain = isinstance(values, np.ndarray) and values.shape == (rows,) and values.dtype.kind in "biuf"
    if not (is_plain and np.isfinite(values).all()):
        where = origin_prefix(function)
        raise DataError(
            f"{where}the feature {config.name} did not give one finite number for each of {rows} candidates"
        )
    return values.astype(np.float64, copy=False)


def _result(config: FeatureConfig, function: Callable[..., Any], context: Context, *arguments: Any) -> Any:
    """What the function returns. A plug-in of others fails under its own name and may not write to its arguments."""
    source = FEATURES.source(config.name)
    parameters = inspect.signature(function).parameters
    options = {name: value for name, value in config.options.items() if name in parameters}
    protection = nullcontext() if source == OURS else write_protected(*arguments)
    with plugin_errors(f"the feature {config.name}", function, source), protection:
        return function(*arguments, context, **options)
