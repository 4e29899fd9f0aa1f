"""The command line: parse, call, show. Only here are things printed, and only here exit codes are known."""

import signal
import sys
from types import FrameType
from typing import Annotated, NoReturn

import typer

from ltr import __version__
from ltr.cli import config, environment, evaluate, featurize, init, listing, rank, run, train, validate
from ltr.cli.terminal import note, show_warnings, visible
from ltr.errors import DataError, DiskError, LtrError, ThresholdError, UsageError
from ltr.files import abandon

EXIT_CODES = {UsageError: 2, DataError: 3, ThresholdError: 4, DiskError: 74}  # any other LtrError: 1
TERMINATED = 143

app = typer.Typer(
    name="ltr",
    help="Learn which tool, or which team of agents, should answer a query.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("init")(init.init)
app.command("validate")(validate.validate)
app.command("train")(train.train)
app.command("evaluate")(evaluate.evaluate)
app.command("rank")(rank.rank)
app.command("run")(run.run)
app.command("featurize")(featurize.featurize)
app.command("list")(listing.list_plugins)
app.command("env")(environment.env)
app.add_typer(config.app, name="config")


def show_version(wanted: bool) -> None:
    """Print the version and stop, when asked to."""
    if wanted:
        typer.echo(f"ltr {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn which tool, or which team of agents, should answer a query."""


def main() -> None:
    """Run the command line; what a user can mend is one message and an exit code, never a traceback."""
    signal.signal(signal.SIGTERM, terminate)
    show_warnings()
    try:
        code = run_app()
    except LtrError as error:
        note("\n".join(f"error: {visible(line)}" for line in str(error).split("\n")))
        code = exit_code(error)
    sys.exit(flushed(code))


def run_app() -> int:
    """The exit code of the command."""
    try:
        app(prog_name="ltr")
    except SystemExit as done:
        return done.code if isinstance(done.code, int) else 1
    except BrokenPipeError:
        return 0  # the reader has all it wanted
    return 0


def flushed(code: int) -> int:
    """The code, once stdout has taken all of the result; another when it cannot."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        abandon(sys.stdout)
    except OSError as error:
        note(f"error: stdout: {(error.strerror or str(error)).lower()}")
        abandon(sys.stdout)
        return EXIT_CODES[DiskError]
    return code


def exit_code(error: LtrError) -> int:
    """The documented code of the nearest class that has one."""
    return next((EXIT_CODES[each] for each in type(error).__mro__ if each in EXIT_CODES), 1)


def terminate(number: int, frame: FrameType | None) -> NoReturn:
    """End as if the work had failed, so that what was begun is tidied up."""
    sys.exit(TERMINATED)
