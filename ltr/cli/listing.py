"""ltr list: the plug-ins by name."""

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
    registry, about = _registry(kind)
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


def _registry(kind: Plugins) -> "tuple[Registry[Any], list[str]]":
    """The registry of the kind, and the attributes that its plug-ins have besides."""
    match kind:
        case Plugins.FEATURES:
            from ltr.features.registry import FEATURES

            return FEATURES, ["family"]
        case Plugins.ENCODERS:
            from ltr.encoders.registry import ENCODERS

            return ENCODERS, []
        case Plugins.METRICS:
            from ltr.evaluation.metrics.registry import MEASURES

            return MEASURES, ["range"]
        case Plugins.TRAINERS:
            from ltr.training.registry import TRAINERS

            return TRAINERS, []
        case Plugins.RERANKERS:
            from ltr.rerankers.registry import RERANKERS

            return RERANKERS, []
        case Plugins.IMPORTERS:
            from ltr.data.importers.registry import IMPORTERS

            return IMPORTERS, ["options"]
        case Plugins.EXPORTERS:
            from ltr.data.exporters.registry import EXPORTERS

            return EXPORTERS, []


def _fact(value: Any) -> str:
    """A value in a cell; several names with commas."""
    return ", ".join(value) if isinstance(value, tuple) else str(value)


def _what(plugin: Any) -> str:
    """The summary of a plug-in, else the first line of its docstring."""
    from ltr.plugins import summary_of

    return str(plugin.summary) if hasattr(plugin, "summary") else summary_of(plugin)
