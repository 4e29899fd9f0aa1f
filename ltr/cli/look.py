"""ltr list, env, config and cache: the plug-ins, this machine, a config before it runs, and the vectors kept here."""

from enum import StrEnum
from importlib import import_module
from typing import Annotated, Any

from ltr.cli.options import Call, argument, flag, takes
from ltr.cli.output import Format, lines_of, show, show_json, show_yaml
from ltr.report import visible


class Plugins(StrEnum):
    """What can be listed."""

    FEATURES = "features"
    ENCODERS = "encoders"
    METRICS = "metrics"
    TRAINERS = "trainers"
    RERANKERS = "rerankers"
    IMPORTERS = "importers"
    EXPORTERS = "exporters"


# The registry of each kind, and the columns that only it has: attributes by heading, before version and source; and
# two that describe a plug-in, one below the other where people read them.
NO_COLUMNS = dict[str, str]()
LISTED = {
    Plugins.FEATURES: ("features:FEATURES", {"family": "family"}, {"title": "title", "value": "summary"}),
    Plugins.ENCODERS: ("encoders:ENCODERS", NO_COLUMNS, NO_COLUMNS),
    Plugins.METRICS: (
        "evaluation:MEASURES",
        {"range": "range"},
        {"rule": "rule", "formula": "formula"},
    ),
    Plugins.TRAINERS: ("training:TRAINERS", NO_COLUMNS, NO_COLUMNS),
    Plugins.RERANKERS: ("rerankers:RERANKERS", NO_COLUMNS, NO_COLUMNS),
    Plugins.IMPORTERS: ("importers:IMPORTERS", {"options": "options"}, {"title": "title", "what": "summary"}),
    Plugins.EXPORTERS: ("importers:EXPORTERS", NO_COLUMNS, NO_COLUMNS),
}


@takes("code shown")
def list_plugins(call: Call, kind: Annotated[Plugins, argument("WHAT", "What to list.")]) -> None:
    """List features, encoders, metrics, trainers and so on."""
    from ltr.plugins import summary_of
    from ltr.report import Table

    home, facts, described = LISTED[kind]
    module, _, name = home.partition(":")
    registry = getattr(import_module(f"ltr.{module}"), name)
    headers = ["name", *facts, "version", "source", *(described or ["what"])]
    rows = []
    for name in registry.names():
        source, plugin = registry.source(name), registry[name]
        values = [getattr(plugin, attribute) for attribute in facts.values()]
        texts = [str(getattr(plugin, attribute)) for attribute in described.values()]
        what = [] if texts else [str(plugin.summary) if hasattr(plugin, "summary") else summary_of(plugin)]
        cells = [", ".join(value) if isinstance(value, tuple) else str(value) for value in values]
        rows.append([name, *cells, source.version, source.name, *texts, *what])
    read, read_headers = rows, headers
    if described:
        read = [line for row in rows for line in (row[:-1], [*("" for _ in row[:-2]), row[-1]])]
        read_headers = [*headers[:-2], ", ".join(headers[-2:])]
    document = [dict(zip(headers, row, strict=True)) for row in rows]
    show(call.shown, document, [headers, *rows], lambda: lines_of(Table.of_texts(read_headers, read)))


@takes("shown")
def env(call: Call) -> None:
    """Show versions and hardware, for a bug report."""
    from ltr.report import Table
    from ltr.runs import machine

    facts = machine()
    rows = [(name, " ".join(value) if isinstance(value, list) else str(value)) for name, value in facts.items()]
    show(call.shown, facts, rows, lambda: lines_of(Table.of_texts(["", ""], rows)))


ConfigFile = Annotated[str, argument("CONFIG", "The config; - is stdin.")]


@takes("sets code quiet")
def check(call: Call, config: ConfigFile) -> None:
    """Say everything that is wrong with a config."""
    from ltr.config import runs

    number = len(runs(call.document(config), with_files=True))
    call.note(f"{visible(config)}: good{f', {number} runs' if number > 1 else ''}")


@takes("sets code")
def render(call: Call, config: ConfigFile) -> None:
    """Show it with every default; paths as seen from here."""
    from ltr.config import run_config, yaml_text

    show_yaml(yaml_text(run_config(call.document(config))))


@takes("code")
def schema(
    call: Call, bench: Annotated[bool, flag("--bench", "Show the schema of a bench instead of a run.")] = False
) -> None:
    """Show the JSON Schema, for editors."""
    if bench:
        from ltr.rerankers import bench_schema as described
    else:
        from ltr.config import run_schema as described
    show_json(described())


@takes("shown")
def info(call: Call) -> None:
    """Where it is, how much it holds."""
    from ltr.encoders import VectorCache
    from ltr.paths import cache_directory

    held = VectorCache(cache_directory()).info()
    facts = {"path": held.path.as_posix(), "vectors": held.vectors, "bytes": held.size, "limit": held.limit}
    limit = f"{megabytes(held.limit)}; beyond it the vectors that were stored first go"
    rows = {"vectors": f"{held.vectors:,}", "on disk": megabytes(held.size), "limit": limit}
    show_facts(facts, rows, call.shown)


@takes("shown")
def clear(call: Call) -> None:
    """Remove it; say how large it was."""
    from ltr.encoders import VectorCache
    from ltr.paths import cache_directory

    cache = VectorCache(cache_directory())
    size = cache.clear()
    show_facts({"path": cache.path.as_posix(), "bytes": size}, {"removed": megabytes(size)}, call.shown)


def show_facts(facts: dict[str, Any], rows: dict[str, str], shown: Format | None) -> None:
    """Show facts about the cache; `rows` say them to a person, below the path."""
    from ltr.report import Column, Kind, Table

    columns = (Column("what", "", Kind.WRITTEN), Column("value", ""))
    table = Table(columns, (("path", facts["path"]), *rows.items()))
    show(shown, facts, facts.items(), lambda: lines_of(table))


def megabytes(size: int) -> str:
    """Return a number of bytes, for a person."""
    return f"{size / 1e6:,.1f} MB"


CONFIG = {"check": check, "render": render, "schema": schema}
CACHE = {"info": info, "clear": clear}
