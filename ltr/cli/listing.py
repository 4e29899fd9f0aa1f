"""ltr list: the plug-ins by name."""

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ltr.cli.options import Code, Shown, run_code
from ltr.cli.terminal import Format, chosen_format, listing, say, show_json, show_tsv

if TYPE_CHECKING:
    from ltr.registry import Registry


class Plugins(StrEnum):
    """What can be listed."""

    FEATURES = "features"
    ENCODERS = "encoders"
    METRICS = "metrics"
    TRAINERS = "trainers"
    IMPORTERS = "importers"
    EXPORTERS = "exporters"


SAYS = {Plugins.FEATURES: "value", Plugins.METRICS: "rule"}


def list_plugins(
    kind: Annotated[Plugins, typer.Argument(help="What to list.")],
    code: Code = None,
    shown: Shown = None,
) -> None:
    """List features, encoders, metrics, trainers and so on."""
    run_code(code)
    headers, rows = described(kind)
    match chosen_format(shown):
        case Format.JSON:
            show_json([dict(zip(headers, row, strict=True)) for row in rows])
        case Format.TSV:
            show_tsv([headers, *rows])
        case Format.HUMAN:
            say(*listing(headers, rows))


def described(kind: Plugins) -> tuple[list[str], list[list[str]]]:
    """What is known of each plug-in of the kind: name, what it is, and where it comes from."""
    registry, about = _registry(kind)
    headers = ["name", *about, "version", "source", SAYS.get(kind, "what")]
    rows = []
    for name in registry.names():
        source, plugin = registry.source(name), registry[name]
        told = [getattr(plugin, attribute) for attribute in about]
        rows.append([name, *told, source.version, source.name, _what(plugin)])
    return headers, rows


def _registry(kind: Plugins) -> "tuple[Registry[Any], list[str]]":
    """The registry of the kind, and the attributes that its plug-ins have besides."""
    match kind:
        case Plugins.FEATURES:
            from ltr.features import FEATURES

            return FEATURES, ["family"]
        case Plugins.ENCODERS:
            from ltr.encoders import ENCODERS

            return ENCODERS, []
        case Plugins.METRICS:
            from ltr.metrics import MEASURES

            return MEASURES, []
        case Plugins.TRAINERS:
            from ltr.train import TRAINERS

            return TRAINERS, []
        case Plugins.IMPORTERS:
            from ltr.importers import IMPORTERS

            return IMPORTERS, []
        case Plugins.EXPORTERS:
            from ltr.exporters import EXPORTERS

            return EXPORTERS, []


def _what(plugin: Any) -> str:
    """What a plug-in says of itself: its summary or rule, else the first line of its docstring."""
    import inspect

    told = getattr(plugin, "summary", None) or getattr(plugin, "rule", None)
    return str(told or (inspect.getdoc(plugin) or "").partition("\n")[0])
