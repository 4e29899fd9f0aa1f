"""The features by name: two plain functions each, and what they may know."""

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar, get_args

import numpy as np

from ltr.arrays import FloatArray, IntArray
from ltr.encoders import Encoder
from ltr.errors import DataError, RangeError, UsageError, suggestion
from ltr.features.lending import lent
from ltr.features.states import refuse_other_state
from ltr.features.words import Lexicon
from ltr.groups import Candidates, Groups
from ltr.plugins import OURS, blamed, summary_of, told_of
from ltr.registry import Registry
from ltr.schema import Kind

Family = Literal["rel", "hist", "coop", "struct"]
State = dict[str, Any] | None
Fit = Callable[..., dict[str, Any]]
Column = Callable[..., FloatArray]
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
    remembered: dict[str, tuple[Candidates, Any]] = field(default_factory=dict)
    lexicon: Lexicon = field(default_factory=Lexicon)

    def cosines(self, candidates: Candidates, texts: tuple[str, ...], codes: IntArray) -> FloatArray:
        """Cosine of each row's query and its text, texts[codes[row]]; 0 where either says nothing."""
        queries = self.encoder.encode(candidates.query_texts, "query")
        rows = np.repeat(candidates.queries, np.diff(candidates.offsets))
        return queries.dots(rows, self.encoder.encode(texts, "document"), codes)

    def once(self, name: str, candidates: Candidates, compute: Callable[[], FloatArray]) -> FloatArray:
        """A column that several features need, computed for the first of them."""
        return self.shared(name, candidates, compute).copy()

    def shared(self, name: str, candidates: Candidates, compute: Callable[[], Value]) -> Value:
        """What several features need of the candidates and leave as it is, computed for the first of them."""
        known = self.remembered.get(name)
        if known is None or known[0] is not candidates:
            known = self.remembered[name] = (candidates, compute())
        found: Value = known[1]
        return found


@dataclass(frozen=True, slots=True)
class Feature:
    """One column of phi. `fit` learns a state from groups; `column` never sees a label."""

    name: str
    family: Family
    column: Column
    fit: Fit | None

    @property
    def kind(self) -> str:
        """tool or graph: what stands before the dot."""
        return self.name.partition(".")[0]

    @property
    def summary(self) -> str:
        """What the column holds, in one line."""
        return summary_of(self.column)

    @property
    def options(self) -> dict[str, Any]:
        """The options and their defaults: the keyword-only parameters of the two functions."""
        return {name: parameter.default for name, parameter in self._parameters().items()}

    def range_of(self, option: str) -> str | None:
        """Which numbers the option may be, in the words of RANGES, where its annotation says so."""
        known = [word for word in get_args(self._parameters()[option].annotation) if word in RANGES]
        return known[0] if known else None

    def _parameters(self) -> dict[str, inspect.Parameter]:
        both = [self.column, *([self.fit] if self.fit else [])]
        return {
            name: parameter
            for function in both
            for name, parameter in inspect.signature(function).parameters.items()
            if parameter.kind is inspect.Parameter.KEYWORD_ONLY
        }


FEATURES: Registry[Feature] = Registry("feature")


def feature(name: str, family: Family, *, fit: Fit | None = None) -> Callable[[Column], Column]:
    """Register a column function under a name, with the function that fits its state, if it has one."""

    kind = name.partition(".")[0]
    if kind not in get_args(Kind) or kind == name:
        raise UsageError(f"feature {name!r}: a name such as tool.{name} or graph.{name} is needed")
    if family not in get_args(Family):
        raise UsageError(f"feature {name}: family {family!r}; one of {', '.join(get_args(Family))} is needed")

    def keep(column: Column) -> Column:
        if not callable(column):
            raise UsageError(f"feature {name}: {column!r} is not a function")
        FEATURES.add(name, Feature(name, family, column, fit), made_of=column)
        return column

    return keep


@dataclass(frozen=True, slots=True)
class FeatureConfig:
    """A feature by name, and its options where they are not the defaults."""

    name: str
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        wrong = list(self._wrong_options())
        if wrong:
            raise RangeError(*wrong)

    def _wrong_options(self) -> Iterator[str]:
        known = FEATURES[self.name].options
        for option, value in self.options.items():
            if option not in known:
                hint = suggestion(option, known) or f"; known: {', '.join(known) or 'none'}"
                yield f"feature {self.name} has no option {option!r}{hint}"
                continue
            needed = FEATURES[self.name].range_of(option)
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            if not (is_number and np.isfinite(value)):
                yield f"feature {self.name}: {option} is {value!r}; a number is needed"
            elif needed and not RANGES[needed](value):
                yield f"feature {self.name}: {option} is {value!r}; a number {needed} is needed"


def fit_state(config: FeatureConfig, groups: Groups, context: Context) -> State:
    """The state of a feature that learns, fitted on the groups; None for one that does not."""
    function = FEATURES[config.name].fit
    if function is None:
        return None
    with _asked(config.name, function, groups):
        state: State = function(groups, context, **_accepted(function, config.options))
    if FEATURES.source(config.name) != OURS:
        refuse_other_state(config.name, state)
    return state


def column(config: FeatureConfig, candidates: Candidates, state: State, context: Context) -> FloatArray:
    """The feature's value of each row."""
    function = FEATURES[config.name].column
    with _asked(config.name, function, candidates, state):
        values = function(candidates, state, context, **_accepted(function, config.options))
    rows = int(candidates.offsets[-1])
    is_plain = isinstance(values, np.ndarray) and values.shape == (rows,) and values.dtype.kind in "biuf"
    if not (is_plain and np.isfinite(values).all()):
        where = told_of(function)
        raise DataError(
            f"{where}the feature {config.name} did not give one finite number for each of {rows} candidates"
        )
    return values.astype(np.float64, copy=False)


@contextmanager
def _asked(name: str, function: Callable[..., object], *given: object) -> Iterator[None]:
    """A stranger's function is told of by name where it fails, and writes to nothing that it is given."""
    source = FEATURES.source(name)
    with blamed(f"the feature {name}", function, source), nullcontext() if source == OURS else lent(*given):
        yield


def _accepted(function: Callable[..., object], options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name in inspect.signature(function).parameters}
