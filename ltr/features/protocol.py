"""What a feature is, how it learns and how it is registered, and what its functions are given."""

import inspect
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from functools import cache, wraps
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.encoders import Encoder, Role, Vectors
from ltr.errors import RangeError, UsageError, suggestion
from ltr.features.texts import Lexicon, row_queries
from ltr.plugins import summary_of
from ltr.registry import RANGES, Registry
from ltr.samples import Candidates, Kind, tools_of_rows
from ltr.tables import merged

Family = Literal["rel", "hist", "coop", "struct"]
Function = Callable[..., Any]
Subject = TypeVar("Subject")
Value = TypeVar("Value")


class Texts(Protocol):
    """What a function of (candidates, context) returns for an encoder: distinct texts, and what says whose they are."""

    @property
    def texts(self) -> tuple[str, ...]:
        """What the encoder reads."""
        ...


TextSource = Callable[..., Texts]


@dataclass(frozen=True, slots=True)
class Context:
    """What a feature may use besides the candidates; never labels."""

    encoder: Encoder
    lexicon: Lexicon = field(default_factory=Lexicon)
    vectors: dict[TextSource, Vectors] = field(default_factory=dict)  # of the texts that the features name, in order
    memo: dict[Function, tuple[object, Any]] = field(default_factory=dict)
    of_states: dict[Any, Any] = field(default_factory=dict)  # what features made of their states
    table: Any = None  # what the feature prepared of the tools, a row for each
    tools: IntArray = field(default_factory=lambda: np.empty(0, dtype=np.int64))  # (rows,) the row of each there

    def cosines(self, candidates: Candidates, texts: tuple[str, ...], codes: IntArray) -> FloatArray:
        """Return the cosine of each row's query and its text, texts[codes[row]]; 0 where either says nothing."""
        queries = self.encoder.encode(candidates.query_texts, "query")
        return queries.dots(row_queries(candidates), self.encoder.encode(texts, "document"), codes)

    def shared(self, compute: "Callable[[Subject, Context], Value]", subject: Subject) -> Value:
        """Return compute(subject, context), computed once for all features that read it; nobody may write to it.

        Only the value of the last subject is held, of candidates or groups.
        """
        entry = self.memo.get(compute)
        if entry is None or entry[0] is not subject:
            entry = self.memo[compute] = (subject, compute(subject, self))
        value: Value = entry[1]
        return value

    def prepared(self, kind: type[Value]) -> Value:
        """Return the table, which is of that class."""
        if not isinstance(self.table, kind):
            raise TypeError(f"{kind.__name__} is needed; what was prepared is {type(self.table).__name__}")
        return self.table

    def of_state(self, compute: Callable[..., Value], state: State, **options: float) -> Value:
        """Return compute(state), computed once for a state, however often tools are added to what is prepared."""
        key = (compute, id(state), tuple(options.values()))
        entry = self.of_states.get(key)
        if entry is None:
            entry = self.of_states[key] = (state, compute(state, **options))  # a state that is held keeps its id
        value: Value = entry[1]
        return value


class LeftOut(Protocol):
    """What a feature learned of some parts at once, and would have learned without some of them."""

    def rest(self, left_out: Collection[int], /) -> State:
        """Return what `column` reads where these parts are left out, by their places."""
        ...

    def state(self, left_out: Collection[int], /) -> State:
        """Return what is learned of the other parts."""
        ...

    @staticmethod
    def column(candidates: Candidates, rest: State, /) -> FloatArray:
        """Return the values of candidates whose queries are in the parts that were left out."""
        ...


# A learner is one of three. None of their functions knows which rows are training rows: cross-fitting decides which
# groups they see. The keyword-only parameters of the functions are options of the feature.


@dataclass(frozen=True, slots=True)
class Counted:
    """Learned by counting. Each shard of whole traces is counted once; parts of shards make that of all of them.

    A part holds exact sums and unions. Only `state` may bound or round, so that any cut into shards gives one state.
    Without a `merge` of its own a part is a mapping of tables (`ltr.tables.table`). Where what is
    learned without some parts is quicker to say of all at once, `left_out` does; it may decline with None.
    """

    count: Function  # (groups, context) -> part
    state: Callable[..., State]  # (part) -> state
    merge: Function = merged  # (part, part) -> part
    left_out: Callable[..., LeftOut | None] | None = None  # (parts) -> what is learned without some of them

    @property
    def functions(self) -> tuple[Function, ...]:
        """Return the functions that may have options."""
        return self.count, self.state, *([self.left_out] if self.left_out else [])


@dataclass(frozen=True, slots=True)
class Optimised:
    """Learned as the optimum of a convex problem: from a fixed start, each pass a sum over the shards in their order.

    A shard has `groups` and the `context` in which they are read.
    """

    state: Callable[..., State]  # (shards, context) -> state

    @property
    def functions(self) -> tuple[Function, ...]:
        """Return the function that may have options."""
        return (self.state,)


@dataclass(frozen=True, slots=True)
class InMemory(Optimised):
    """Learned from all groups at once, by a function of (groups, context): once for each fold, in memory."""


Learner = Counted | Optimised


@cache
def option_names(function: Function) -> tuple[str, ...]:
    """Return the names of a function's keyword-only parameters: the options it takes.

    >>> option_names(lambda part, *, strength=2.0: {})
    ('strength',)
    """
    parameters = inspect.signature(function).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY)


@dataclass(frozen=True, slots=True)
class Option:
    """A number that a config may set: its default, and the range it must lie in, a key of RANGES."""

    default: float | None  # None: the feature estimates it
    range: str | None


@dataclass(frozen=True, slots=True)
class Finish:
    """What becomes of the numbers that a column function gives, once their lists are whole."""

    number: Callable[[FloatArray, IntArray, Any], FloatArray] | None = None  # of (values, offsets, state), for each row
    width: int = 1  # of the values: numbers that the column function gives for each row
    times: str = ""  # the feature by whose column this one is multiplied


AS_THEY_ARE = Finish()


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One column of phi. The learner makes a state of groups; `column` never sees a label."""

    name: str
    kind: Kind  # of its candidates: what stands before the dot of the name
    column: Function  # (candidates, state, context) -> values
    learner: Learner | None
    prepare: Function | None  # (tools, state, context) -> the table that the column reads
    encodes: tuple[tuple[TextSource, Role], ...]  # texts whose vectors both functions find in the context
    title: str  # what the column holds, in the words of a newcomer
    family: Family
    options: dict[str, Option]
    finish: Finish = AS_THEY_ARE

    @property
    def summary(self) -> str:
        """Return what the column holds exactly, in one line."""
        return summary_of(self.column)


FEATURES: Registry[Feature] = Registry(
    "feature",
    {
        "ltr.features.specified": (
            *("tool.rel", "tool.coop", "tool.struct", "tool.hist_share"),
            *("graph.rel", "graph.coop", "graph.struct"),
        ),
        "ltr.features.history": (
            *("tool.hist", "graph.hist", "tool.lift", "tool.known", "tool.newcomer", "tool.newcomer_near"),
            *("tool.follows", "tool.repeat"),
        ),
        "ltr.features.words": ("tool.name", "tool.bm25", "tool.words", "tool.clause_words", "tool.talk"),
        "ltr.features.letters": ("tool.char", "tool.clause_char", "graph.cover"),
        "ltr.features.vectors": ("tool.proto", "tool.query_proto", "tool.clause"),
        "ltr.features.ridge": ("tool.ridge",),
        "ltr.features.corrections": ("tool.corrections",),
        "ltr.features.zero_shot": (
            *("tool.near_words", "tool.near_letters", "tool.near_text", "tool.near_clause", "tool.zero_shot"),
        ),
        "ltr.features.graphs": (
            *("graph.proto", "graph.clauses", "graph.near_edges", "graph.order"),
            *("graph.edges", "graph.start", "graph.size"),
        ),
    },
)


def feature(
    name: str,
    family: Family,
    *,
    fit: Callable[..., State] | Learner | None = None,
    prepare: Function | None = None,
    queries: TextSource | None = None,
    documents: TextSource | None = None,
    title: str = "",
    finish: Finish = AS_THEY_ARE,
) -> Callable[[Function], Function]:
    """Register a column function under a name, with what learns its state, if it has one.

    The function is one of (candidates, state, context) that returns a number for each row, or one of (query, tool) or
    (query, graph) that returns the number of one row. `fit` is `Counted`, `Optimised`, or a function of (groups,
    context) that returns the state. The keyword-only
    parameters of all these functions are the options of the feature. `queries` and `documents` are functions of
    (candidates, context) that return texts: they are encoded before these functions are called, for all features at
    once, and `context.vectors` has their rows; `context.shared` computes once what several features read.
    `prepare` is a function of (tools, state, context) that returns what the tools of a catalogue alone decide, an array
    with a row for each tool or a `Table`; it is called once for each tool. The column finds it in `context.table`, and
    the row of each candidate in `context.tools`; the texts of `documents` are then encoded for the fit alone.
    `finish` says what becomes of the values once their lists are whole. Without a title the name stands in tables.
    """
    prefix, dot, _ = name.partition(".")
    if prefix not in get_args(Kind) or not dot:
        raise UsageError(f"feature {name!r}: a name such as tool.{name} or graph.{name} is needed")
    if family not in get_args(Family):
        raise UsageError(f"feature {name}: family {family!r}; one of {', '.join(get_args(Family))} is needed")
    sources: tuple[tuple[TextSource | None, Role], ...] = ((queries, "query"), (documents, "document"))

    def register(function: Function) -> Function:
        if not callable(function):
            raise UsageError(f"feature {name}: {function!r} is not a function")
        learner = fit if fit is None or isinstance(fit, Learner) else InMemory(fit)
        is_of_rows = _reads_one_row(function)
        if is_of_rows and (learner or prepare or queries or documents):
            raise UsageError(f"feature {name}: a function of one row learns nothing, and nothing is encoded for it")
        if prepare and prefix != "tool":
            raise UsageError(f"feature {name}: only tools are prepared")
        options: dict[str, Option] = {}
        for one in (function, *([prepare] if prepare else []), *(learner.functions if learner else ())):
            parameters = inspect.signature(one).parameters
            for option in option_names(one):
                ranges = [word for word in get_args(parameters[option].annotation) if word in RANGES]
                options[option] = Option(parameters[option].default, ranges[0] if ranges else None)
        plugin = Feature(
            name=name,
            kind="graph" if prefix == "graph" else "tool",
            column=_by_row(function) if is_of_rows else function,
            learner=learner,
            prepare=prepare,
            encodes=tuple((source, role) for source, role in sources if source),
            title=title or name,
            family=family,
            options=options,
            finish=finish,
        )
        FEATURES.add(name, plugin, made_of=function)
        return function

    return register


class Tool(NamedTuple):
    """A tool, for a feature that is written for one row at a time."""

    name: str
    description: str = ""
    inputs: str = ""


def _reads_one_row(function: Function) -> bool:
    """Return whether it is a function of (query, tool) or (query, graph), by the number of its parameters."""
    parameters = inspect.signature(function).parameters.values()
    return [parameter.kind for parameter in parameters if parameter.kind is not parameter.KEYWORD_ONLY] == [
        inspect.Parameter.POSITIONAL_OR_KEYWORD
    ] * 2


def _by_row(function: Callable[..., float]) -> Function:
    """Return the column of a function of a query and a tool, or a query and a graph."""

    @wraps(function)
    def column(candidates: Candidates, state: None, context: Context, **options: float) -> FloatArray:
        subjects: tuple[Any, ...] = candidates.distinct_graphs
        codes = candidates.graphs
        if candidates.kind == "tool":
            tools, codes = context.shared(tools_of_rows, candidates)
            subjects = tuple(Tool(name, *text) for name, text in zip(tools.names, tools.texts, strict=True))
        rows = zip(row_queries(candidates).tolist(), codes.tolist(), strict=True)
        values = [function(candidates.query_texts[query], subjects[code], **options) for query, code in rows]
        return np.array(values, dtype=np.float64)

    return column


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


def text_sources(configs: Iterable[FeatureConfig], *, are_prepared: bool) -> list[tuple[TextSource, Role, str]]:
    """Return the texts that an encoder reads for the features: what returns them, their role, the first such feature.

    Features that are prepared find their documents in their tables.
    """
    sources: dict[TextSource, tuple[TextSource, Role, str]] = {}
    for config in configs:
        plugin = FEATURES[config.name]
        for source, role in plugin.encodes:
            if not (are_prepared and plugin.prepare and role == "document"):
                sources.setdefault(source, (source, role, config.name))
    return list(sources.values())
