"""ltr list: the plug-ins by name."""

from enum import StrEnum
from typing import Annotated

import typer

from ltr.cli.options import Shown
from ltr.cli.terminal import Format, chosen_format, listing, say, show_json, show_tsv


class Plugins(StrEnum):
    """What can be listed."""

    FEATURES = "features"
    ENCODERS = "encoders"
    METRICS = "metrics"
    TRAINERS = "trainers"


def list_plugins(
    kind: Annotated[Plugins, typer.Argument(help="What to list.")],
    shown: Shown = None,
) -> None:
    """List features, encoders, metrics or trainers."""
    headers, rows = described(kind)
    match chosen_format(shown):
        case Format.JSON:
            show_json([dict(zip(headers, row, strict=True)) for row in rows])
        case Format.TSV:
            show_tsv([headers, *rows])
        case Format.HUMAN:
            say(*(formula_lines(rows) if kind is Plugins.METRICS else listing(headers, rows)))


def described(kind: Plugins) -> tuple[list[str], list[list[str]]]:
    """What is known of each plug-in of the kind."""
    if kind is Plugins.FEATURES:
        from ltr.features import FEATURES

        features = [FEATURES[name] for name in FEATURES.names()]
        return ["name", "family", "value"], [[each.name, each.family, each.summary] for each in features]
    if kind is Plugins.METRICS:
        from ltr.metrics import MEASURES

        measures = [MEASURES[name] for name in MEASURES.names()]
        return ["name", "range", "rule", "formula"], [
            [each.name, each.range, each.rule, each.formula] for each in measures
        ]
    return ["name", "what"], _summaries(kind)


def formula_lines(rows: list[list[str]]) -> list[str]:
    """Each metric with its rule, the formula below it."""
    parts = [[[name, span, rule], ["", "", formula]] for name, span, rule, formula in rows]
    return listing(["name", "range", "rule, formula"], [row for pair in parts for row in pair])


def _summaries(kind: Plugins) -> list[list[str]]:
    import inspect

    from ltr.encoders import ENCODERS
    from ltr.train import TRAINERS

    registry = ENCODERS if kind is Plugins.ENCODERS else TRAINERS
    return [[name, (inspect.getdoc(registry[name]) or "").partition("\n")[0]] for name in registry.names()]
