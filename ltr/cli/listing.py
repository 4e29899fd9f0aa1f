"""ltr list: the plug-ins by name."""

import importlib
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.options import Code, Shown
from ltr.cli.output import listing, show

if TYPE_CHECKING:
    from ltr.registry import Registry


class Plugins(StrEnum):
    """What can be listed."""

    FEATURES = "features"
    ENCODERS = "encoders"
    METRICS = "metrics"
    TRAINERS = "trainers"
    RERANKERS = "rerankers"
    IMPORTERS = "importers"
    EXPORTERS = "exporters"


REGISTRIES = {
    Plugins.FEATURES: "features.registry:FEATURES",
    Plugins.ENCODERS: "encoders.registry:ENCODERS",
    Plugins.METRICS: "evaluation.metrics.registry:MEASURES",
    Plugins.TRAINERS: "training.registry:TRAINERS",
    Plugins.RERANKERS: "rerankers.registry:RERANKERS",
    Plugins.IMPORTERS: "data.importers.registry:IMPORTERS",
    Plugins.EXPORTERS: "data.exporters.registry:EXPORTERS",
}
FACTS = {Plugins.FEATURES: ["family"], Plugins.METRICS: ["range"], Plugins.IMPORTERS: ["options"]}  # attributes shown
# two columns that describe a plug-in, and the attributes they show; one below the other where people read them
DESCRIPTIONS = {
    Plugins.FEATURES: {"title": "title", "value": "summary"},
    Plugins.METRICS: {"rule": "rule", "formula": "formula"},
    Plugins.IMPORTERS: {"title": "title", "what": "summary"},
}


def list_plugins(
    kind: Annotated[Plugins, typer.Argument(metavar="WHAT", help="What to list.")],
    code: Code = None,
    shown: Shown = None,
) -> None:
    """List features, encoders, metrics, trainers and so on."""
    headers, rows = described(kind)
    show(
        shown,
        [dict(zip(headers, row, strict=True)) for row in rows],
        [headers, *rows],
        lambda: two_lines(headers, rows) if kind in DESCRIPTIONS else listing(headers, rows),
    )


def described(kind: Plugins) -> tuple[list[str], list[list[str]]]:
    """What is known of each plug-in of the kind: name, what it is, and where it comes from."""
    registry, about = _registry(kind), FACTS.get(kind, [])
    descriptions = DESCRIPTIONS.get(kind, {})
    headers = ["name", *about, "version", "source", *(descriptions or ["what"])]
    rows = []
    for name in registry.names():
        source, plugin = registry.source(name), registry[name]
        facts = [_fact(getattr(plugin, attribute)) for attribute in about]
        texts = [str(getattr(plugin, attribute)) for attribute in descriptions.values()] or [_what(plugin)]
        rows.append([name, *facts, source.version, source.name, *texts])
    return headers, rows


def two_lines(headers: list[str], rows: list[list[str]]) -> list[str]:
    """Each plug-in with the last column below the one before it."""
    pairs = [[row[:-1], [*("" for _ in row[:-2]), row[-1]]] for row in rows]
    return listing([*headers[:-2], ", ".join(headers[-2:])], [row for pair in pairs for row in pair])


def _registry(kind: Plugins) -> "Registry[Any]":
    """The registry of the kind."""
    module, name = REGISTRIES[kind].split(":")
    registry: Registry[Any] = getattr(importlib.import_module(f"ltr.{module}"), name)
    return registry


def _fact(value: Any) -> str:
    """A value in a cell; several names with commas."""
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _what(plugin: Any) -> str:
    """The summary of a plug-in, else the first line of its docstring."""
    from ltr.plugins import summary_of

    return str(plugin.summary) if hasattr(plugin, "summary") else summary_of(plugin)
