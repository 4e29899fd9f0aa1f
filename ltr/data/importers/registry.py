"""What an importer is, and the importers by name."""

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ltr.data.importers.file_beginning import Opening
from ltr.data.importers.tally import Tally
from ltr.plugins import summary_of
from ltr.registry import Registry


@dataclass(frozen=True, slots=True)
class Imported:
    """Lines of samples, notes on what is known before they are read, and the tally that reading them fills."""

    lines: Iterable[Mapping[str, Any]]
    notes: tuple[str, ...] = ()
    tally: Tally = field(default_factory=Tally)


Convert = Callable[..., Imported]  # (files, **options): an importer's options are its keyword-only parameters


@dataclass(frozen=True, slots=True)
class Importer:
    """A registered importer, and how a file of its format is recognised."""

    convert: Convert
    title: str  # what such a file is, after "looks like": "an OpenAI chat log"
    looks_like: Callable[[Opening], bool]

    @property
    def summary(self) -> str:
        """What it does, in one line."""
        return summary_of(self.convert)

    @property
    def options(self) -> tuple[str, ...]:
        """The names of its options."""
        parameters = inspect.signature(self.convert).parameters.values()
        return tuple(parameter.name for parameter in parameters if parameter.kind is inspect.Parameter.KEYWORD_ONLY)


IMPORTERS: Registry[Importer] = Registry(
    "importer",
    {
        "ltr.data.importers.openai": ("openai",),
        "ltr.data.importers.anthropic": ("anthropic",),
        "ltr.data.importers.atif": ("atif",),
        "ltr.data.importers.calling_trees": ("calling-trees",),
        "ltr.data.importers.csv": ("csv",),
        "ltr.data.importers.langfuse": ("langfuse",),
        "ltr.data.importers.langsmith": ("langsmith",),
        "ltr.data.importers.letor": ("letor",),
        "ltr.data.importers.recommended_lists": ("lists",),
        "ltr.data.importers.mlflow": ("mlflow",),
        "ltr.data.importers.otel": ("otel",),
        "ltr.data.importers.trec": ("trec",),
    },
)


def importer(
    name: str, *, title: str = "", looks_like: Callable[[Opening], bool] = lambda opening: False
) -> Callable[[Convert], Convert]:
    """A decorator that registers a function from files to Imported; its keyword-only parameters are its options."""

    def register(convert: Convert) -> Convert:
        IMPORTERS.add(name, Importer(convert, title or f"a {name} file", looks_like), made_of=convert)
        return convert

    return register
