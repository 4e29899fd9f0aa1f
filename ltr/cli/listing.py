"""ltr list: the plug-ins by name."""

from enum import StrEnum
from typing import Annotated, Any

import typer

from ltr.cli.options import Shown
from ltr.cli.terminal import Format, chosen_format, listing, say, show_json, show_tsv


class Plugins(StrEnum):
    """What can be listed."""

    FEATURES = "features"
    ENCODERS = "encoders"
    METRICS = "metrics"
    TRAINERS = "trainers"
    IMPORTERS = "importers"
    EXPORTERS = "exporters"


def list_plugins(
    kind: Annotated[Plugins, typer.Argument(help="What to list.")],
    shown: Shown = None,
) -> None:
    """List features, encoders, metrics, trainers and so on."""
    headers, rows = described(kind)
    match chosen_format(shown):
        case Format.JSON:
            show_json([dict(zip(headers, row, strict=True)) for row in rows])
        case Format.TSV:
            show_tsv([headers, *rows])
        case Format.HUMAN:
            say(*listing(headers, rows))


def described(kind: Plugins) -> tuple[list[str], list[list[str]]]:
    """What is known of each plug-in of the kind."""
    if kind is Plugins.FEATURES:
        from ltr.features import FEATURES

        features = [FEATURES[name] for name in FEATURES.names()]
        return ["name", "family", "value"], [[each.name, each.family, each.summary] for each in features]
    if kind is Plugins.METRICS:
        from ltr.metrics import MEASURES

        return ["name", "rule"], [[name, MEASURES[name].rule] for name in MEASURES.names()]
    return ["name", "what"], _summaries(kind)


def _summaries(kind: Plugins) -> list[list[str]]:
    import inspect

    from ltr.encoders import ENCODERS
    from ltr.exporters import EXPORTERS
    from ltr.importers import IMPORTERS
    from ltr.registry import Registry
    from ltr.train import TRAINERS

    registries: dict[Plugins, Registry[Any]] = {
        Plugins.ENCODERS: ENCODERS,
        Plugins.TRAINERS: TRAINERS,
        Plugins.IMPORTERS: IMPORTERS,
        Plugins.EXPORTERS: EXPORTERS,
    }
    registry = registries[kind]
    return [[name, (inspect.getdoc(registry[name]) or "").partition("\n")[0]] for name in registry.names()]
