"""The command line: parse, call, show. Only here are things printed, and only here exit codes are known."""

import errno
import io
import os
import signal
import sys
import warnings
from types import FrameType
from typing import Annotated, NoReturn

import typer

from ltr import __version__
from ltr.cli.commands import AllCommands
from ltr.cli.error_lines import error_text
from ltr.cli.exit_codes import EXIT_CODES, exit_code
from ltr.cli.output import full, note, warn
from ltr.errors import DiskError, EndedBySignal, FileError, LtrError, LtrWarning, RunError, UsageError, reason
from ltr.files.freed_memory import keep_freed_memory

TERMINATED = 143
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")  # long sums depend on how many threads share them
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
OUT_OF_REACH = {errno.ENAMETOOLONG, errno.EACCES, errno.EPERM}

app = typer.Typer(
    name="ltr",
    cls=AllCommands,
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
    version: Annotated[
        bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Learn which tool, or which team of agents, should answer a query."""


def main() -> None:
    """Run the command line and end the process; what a user can mend is one message and an exit code, no traceback."""
    signal.signal(signal.SIGTERM, terminate)
    for library in ONE_THREAD:  # before numpy is loaded
        os.environ.setdefault(library, "1")
    keep_freed_memory()
    sys.stdout, sys.stderr = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()  # the caller may have closed them
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # any text, whatever the locale
    warnings.showwarning = show_warning  # type: ignore[assignment]  # it takes any place, and looks at none
    try:
        for argument in sys.argv:
            if not argument.isascii() and argument.encode(errors="ignore").decode() != argument:
                raise UsageError(f"{argument}: not UTF-8; rename the file, or mend the text")
        code = run_app()
    except LtrError as error:
        note(error_text(error))
        code = exit_code(error)
    code = flushed(code)
    for number in (signal.SIGINT, signal.SIGTERM):  # the work is done: a signal while Python ends changes nothing
        signal.signal(number, signal.SIG_IGN)
    sys.exit(code)


def show_warning(message: Warning | str, category: type[Warning], *place: object) -> None:
    """A warning of ours on one line; those of libraries are for developers, and not shown."""
    if issubclass(category, LtrWarning):
        warn(str(message))


def run_app() -> int:
    """The exit code of the command."""
    stdout = sys.stdout
    try:
        app(prog_name="ltr")
    except SystemExit as done:
        if sys.stdout is not stdout:  # Typer wraps the streams when the reader of its help has left, and only then
            return 0
        return done.code if isinstance(done.code, int) else 1
    except MemoryError:
        raise RunError("there is not enough memory") from None
    except OSError as error:
        if error.errno in FULL:  # Typer writes its help without asking us
            raise full(error) from error
        if error.errno in OUT_OF_REACH and error.filename is not None:  # Path.exists raises it before Python 3.14
            raise FileError(str(error.filename), reason(error)) from error
        if error.errno == errno.ENOENT and error.filename is None:  # of os.getcwd
            raise UsageError("the working directory was removed; change to another") from error
        raise
    return 0


def flushed(code: int) -> int:
    """The code, once stdout has taken all of the result; another when it cannot."""
    try:
        sys.stdout.flush()
    except OSError as error:
        from ltr.files.broken_pipe import silence

        silence(sys.stdout)  # what is left would be tried again at exit
        if isinstance(error, BrokenPipeError) or code:
            return code  # the reader has all it wanted; or a message has been given
        note(f"error: {full(error)}")
        return EXIT_CODES[DiskError]
    return code


def terminate(number: int, frame: FrameType | None) -> NoReturn:
    """End as if the work had failed, so that what was begun is tidied up."""
    raise EndedBySignal(TERMINATED)
