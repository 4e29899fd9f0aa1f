"""The rerankers by name: what opens one, what it may know, which options it has."""

import inspect
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from ltr.arrays import LARGEST, FloatArray
from ltr.configtext.strict import adapter
from ltr.configtext.wording import complaint
from ltr.errors import RangeError, UnknownNameError, UsageError, suggestion
from ltr.features.registry import RANGES
from ltr.plugins import bad_result, plugin_errors, source_of, summary_of
from ltr.registry import Registry
from ltr.rerankers.documents import Documents, Key

Reranker = Callable[[str, Documents], Any]  # a number for each document, the higher the better


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Setting:
    """What a reranker may know before the first query."""

    collection: Documents  # every candidate of the data, once
    seed: int = 0
    truth: Mapping[Key, float] = field(default_factory=dict)  # for the oracle alone
    allow_command: bool = False
    allow_download: bool = False


Absent = Callable[[str, Setting], str]


def here(argument: str, setting: Setting) -> str:
    """Nothing is missing."""
    return ""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a reranker is made: `make(setting, *[argument], **options)`, quick; what is slow waits for a query."""

    spelling: str  # NAME, or NAME:WHAT where something must follow the colon
    make: Callable[..., Reranker]
    absent: Absent  # why it cannot be used on this machine; "": it can
    is_reference: bool  # a bound that others are read by, and nothing to choose

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return summary_of(self.make)

    @property
    def options(self) -> dict[str, Any]:
        """The options and their types: the keyword-only parameters."""
        parameters = inspect.signature(self.make).parameters.values()
        return {each.name: each.annotation for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}


RERANKERS: Registry[Recipe] = Registry(
    "reranker",
    "ltr.rerankers.command",
    "ltr.rerankers.encoded",
    "ltr.rerankers.lexical",
    "ltr.rerankers.pairs",
    "ltr.rerankers.references",
    "ltr.rerankers.trained",
)


def reranker(
    spelling: str, *, absent: Absent = here, is_reference: bool = False
) -> Callable[[Callable[..., Reranker]], Callable[..., Reranker]]:
    """Register a function that opens a reranker, under NAME, or NAME:WHAT if it takes an argument."""

    def keep(function: Callable[..., Reranker]) -> Callable[..., Reranker]:
        RERANKERS.add(spelling, Recipe(spelling, function, absent, is_reference), made_of=function)
        return function

    return keep


def spelled(name: str) -> str:
    """The registered spelling of a name such as model:runs/tools; an unknown name lists the known ones.

    >>> spelled("random")
    'random'
    """
    start, colon, argument = name.partition(":")
    spelling = next((each for each in RERANKERS.names() if each.partition(":")[0] == start), None)
    if spelling is None:
        raise UnknownNameError("reranker", name, RERANKERS.names())
    wanted = spelling.partition(":")[2]
    if bool(wanted) != bool(argument) or (colon and not wanted):
        raise UsageError(f"reranker {name!r}: {spelling} is needed")
    return spelling


@dataclass(frozen=True, slots=True)
class Choice:
    """A reranker by name, and its options where they are not the defaults."""

    name: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        known, wrong = self.recipe.options, list[str]()
        for option, value in self.options.items():
            if option in known:
                wrong += misfits(f"reranker {self.name}: {option}", known[option], value)
                continue
            hint = suggestion(option, known) or f"; known: {', '.join(known) or 'none'}"
            wrong.append(f"reranker {self.name} has no option {option!r}{hint}")
        if wrong:
            raise RangeError(*wrong)

    @property
    def recipe(self) -> Recipe:
        """What is registered."""
        return RERANKERS[spelled(self.name)]

    @property
    def argument(self) -> str:
        """What follows the colon."""
        return self.name.partition(":")[2]

    def absent(self, setting: Setting) -> str:
        """Why it cannot be used here; "" when it can."""
        with self._blamed(self.recipe.absent):
            return str(self.recipe.absent(self.argument, setting))

    def opened(self, setting: Setting) -> Reranker:
        """The reranker, ready for the first query."""
        arguments = (self.argument,) if self.argument else ()
        with self._blamed(self.recipe.make):
            found = self.recipe.make(setting, *arguments, **self.options)
        if not callable(found):
            problem = f"opened {type(found).__name__}; a function of (query, documents) is needed"
            raise bad_result(self.recipe.make, f"{self.name}: {problem}")
        return found

    def _blamed(self, function: Callable[..., object]) -> AbstractContextManager[None]:
        return plugin_errors(f"reranker {self.name}", function, RERANKERS.source(spelled(self.name)))


def misfits(what: str, kind: Any, value: Any) -> Iterator[str]:
    """What is wrong with a value that has another type, or lies outside the range that its annotation names."""
    from pydantic import ValidationError

    try:
        adapter(kind).validate_json(json.dumps([value]))
    except ValidationError:
        yield f"{what}: {complaint(kind, value)}"
        return
    for word in get_args(kind):
        if word in RANGES and not RANGES[word](value):
            yield f"{what} is {value!r}; a number {word} is needed"


def scores(name: str, reranker: Reranker, query: str, documents: Documents) -> FloatArray:
    """What the reranker says of each document, checked: one finite number each."""
    with plugin_errors(f"reranker {name}", reranker, source_of(reranker)):
        said = reranker(query, documents)
    count = len(documents)
    try:
        found = np.asarray(said, dtype=np.float64)
    except (TypeError, ValueError):
        problem = f"{name}: gave {type(said).__name__} for {count} documents; numbers are needed"
        raise bad_result(reranker, problem) from None
    if found.shape != (count,):
        problem = f"{name}: gave scores of shape {found.shape} for {count} documents; one each is needed"
        raise bad_result(reranker, problem)
    if not (np.abs(found) <= LARGEST).all():  # NaN fails too
        wrong = float(found[int(np.argmin(np.abs(found) <= LARGEST))])
        raise bad_result(reranker, f"{name}: gave the score {wrong}; a finite number is needed")
    return found.copy()
