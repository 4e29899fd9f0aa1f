"""The features by name: what a feature is, and how it is registered."""

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

import numpy as np

from ltr.arrays import FloatArray, IntArray, State
from ltr.data.schema import Kind
from ltr.encoders.protocol import Role
from ltr.errors import RangeError, UsageError, suggestion
from ltr.features.feature_context import TextSource
from ltr.features.option_ranges import RANGES
from ltr.features.state_learners import Counted, InMemory, Learner, Optimised, option_names
from ltr.plugins import summary_of
from ltr.registry import Registry

Family = Literal["rel", "hist", "coop", "struct"]
Fit = Callable[..., State]
Column = Callable[..., FloatArray]
Prepare = Callable[..., Any]  # of (tools, state, context): an array or a Table, a row for each tool


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
    column: Column
    learner: Learner | None
    prepare: Prepare | None  # makes the table that the column reads
    encodes: tuple[tuple[TextSource, Role], ...]  # texts whose vectors both functions find in the context
    title: str  # what the column holds, in the words of a newcomer
    family: Family
    options: dict[str, Option]
    finish: Finish = AS_THEY_ARE

    @property
    def summary(self) -> str:
        """What the column holds exactly, in one line."""
        return summary_of(self.column)


FEATURES: Registry[Feature] = Registry(
    "feature",
    {
        "ltr.features.specified_tool_features": ("tool.rel", "tool.coop", "tool.struct", "tool.hist_share"),
        "ltr.features.specified_graph_features": ("graph.rel", "graph.coop", "graph.struct"),
        "ltr.features.success_rates": ("tool.hist", "graph.hist"),
        "ltr.features.character_ngrams": ("tool.char", "tool.clause_char", "graph.cover"),
        "ltr.features.near_best": ("tool.near_words", "tool.near_letters", "tool.near_text", "tool.near_clause"),
        "ltr.features.zero_shot": ("tool.zero_shot",),
        "ltr.features.newcomers": ("tool.newcomer", "tool.newcomer_near"),
        "ltr.features.tool_popularity": ("tool.lift", "tool.known"),
        "ltr.features.tool_prototypes": (
            "tool.proto",
            "tool.query_proto",
            "tool.clause",
            "graph.proto",
            "graph.clauses",
        ),
        "ltr.features.tool_after_previous": ("tool.follows", "tool.repeat"),
        "ltr.features.tool_ridge": ("tool.ridge",),
        "ltr.features.corrections": ("tool.corrections",),
        "ltr.features.tool_word_associations": ("tool.talk",),
        "ltr.features.tool_word_overlap": ("tool.name", "tool.bm25"),
        "ltr.features.answered_query_words": ("tool.words", "tool.clause_words"),
        "ltr.features.graphs_of_near_queries": ("graph.near_edges",),
        "ltr.features.graph_and_query_order": ("graph.order",),
        "ltr.features.usual_graph_shape": ("graph.edges", "graph.start", "graph.size"),
    },
)


def feature(
    name: str,
    family: Family,
    *,
    fit: Fit | Counted | Optimised | None = None,
    prepare: Prepare | None = None,
    queries: TextSource | None = None,
    documents: TextSource | None = None,
    title: str = "",
    finish: Finish = AS_THEY_ARE,
) -> Callable[[Column], Column]:
    """Register a column function under a name, with what learns its state, if it has one.

    `fit` is `Counted`, `Optimised`, or a function of (groups, context) that returns the state. The keyword-only
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
    encodes: list[tuple[TextSource, Role]] = [(queries, "query")] if queries else []
    if documents:
        encodes.append((documents, "document"))

    def register(column: Column) -> Column:
        if not callable(column):
            raise UsageError(f"feature {name}: {column!r} is not a function")
        learner = fit if fit is None or isinstance(fit, Counted | Optimised) else InMemory(fit)
        options: dict[str, Option] = {}
        if prepare and prefix != "tool":
            raise UsageError(f"feature {name}: only tools are prepared")
        for function in (column, *([prepare] if prepare else []), *(learner.functions if learner else ())):
            parameters = inspect.signature(function).parameters
            for option in option_names(function):
                ranges = [word for word in get_args(parameters[option].annotation) if word in RANGES]
                options[option] = Option(parameters[option].default, ranges[0] if ranges else None)
        plugin = Feature(
            name=name,
            kind="graph" if prefix == "graph" else "tool",
            column=column,
            learner=learner,
            prepare=prepare,
            encodes=tuple(encodes),
            title=title or name,
            family=family,
            options=options,
            finish=finish,
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


def text_sources(configs: Iterable[FeatureConfig], *, are_prepared: bool) -> list[tuple[TextSource, Role, str]]:
    """The texts that an encoder reads for the features: what returns them, their role, and the first such feature.

    Features that are prepared find their documents in their tables.
    """
    sources: dict[TextSource, tuple[TextSource, Role, str]] = {}
    for config in configs:
        plugin = FEATURES[config.name]
        for source, role in plugin.encodes:
            if are_prepared and plugin.prepare and role == "document":
                continue
            sources.setdefault(source, (source, role, config.name))
    return list(sources.values())
