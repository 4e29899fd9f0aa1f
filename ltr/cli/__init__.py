"""The command line: parse, call, show. Only here are things printed, and only here exit codes are known."""

from typing import Annotated

import typer

from ltr import __version__

app = typer.Typer(
    name="ltr",
    help="Learn which tool, or which team of agents, should answer a query.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def show_version(wanted: bool) -> None:
    """Print the version and stop, when asked to."""
    if wanted:
        typer.echo(f"ltr {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show it.")] = False,
) -> None:
    """Learn which tool, or which team of agents, should answer a query."""


def main() -> None:
    """Run the command line."""
    app()
