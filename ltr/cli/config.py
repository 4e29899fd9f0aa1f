"""ltr config: look at a config before it runs."""

from typing import Annotated

import typer

from ltr.cli.config_of_flags import configured, written
from ltr.cli.options import Code, Quiet, Sets
from ltr.cli.output import note, show_json, show_yaml
from ltr.cli.usage_errors import CommandGroup
from ltr.reporting.escaping import visible

app = typer.Typer(
    cls=CommandGroup,
    help="Check a config, show it whole, or show its schema.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

File = Annotated[str, typer.Argument(metavar="CONFIG", help="The config; - is stdin.")]


@app.command()
def check(config: File, sets: Sets = None, code: Code = None, quiet: Quiet = False) -> None:
    """Say everything that is wrong with a config."""
    from ltr.config.sweeps import expanded, refuse_missing_files

    document = written(config, sets, ())
    points = expanded(document, config)
    refuse_missing_files(document, points)
    if not quiet:
        note(f"{visible(config)}: good{f', {len(points)} runs' if len(points) > 1 else ''}")


@app.command("render")
def render_config(config: File, sets: Sets = None, code: Code = None) -> None:
    """Show it with every default; paths as seen from here."""
    from ltr.config.run import render as rendered

    show_yaml(rendered(configured(config, sets, ())))


@app.command("schema")
def show_schema(
    bench: Annotated[bool, typer.Option("--bench", help="Show the schema of a bench instead of a run.")] = False,
    code: Code = None,
) -> None:
    """Show the JSON Schema, for editors."""
    if bench:
        from ltr.benchmark.config import bench_schema as described
    else:
        from ltr.config.run import schema as described
    show_json(described())
