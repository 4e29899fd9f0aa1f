"""How a process of the command line begins and ends: signals, streams, warnings, errors as lines, exit codes."""

import errno
import io
import os
import signal
import sys
import warnings
from types import FrameType
from typing import NoReturn

from ltr.cli.commands import app
from ltr.cli.output import full, note, warn
from ltr.errors import (
    ConfigError,
    DataError,
    DiskError,
    EndedBySignal,
    FileError,
    LtrError,
    LtrWarning,
    ResumeError,
    RunError,
    ThresholdError,
    UnknownFormatError,
    UsageError,
    reason,
)
from ltr.memory import keep_freed_memory
from ltr.report import visible

EXIT_CODES = {UsageError: 2, DataError: 3, ThresholdError: 4, ResumeError: 5, DiskError: 74}  # any other LtrError: 1
TERMINATED = 143
ONE_THREAD = ("OPENBLAS_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")  # long sums depend on how many threads share them
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
OUT_OF_REACH = {errno.ENAMETOOLONG, errno.EACCES, errno.EPERM}


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


def terminate(number: int, frame: FrameType | None) -> NoReturn:
    """End as if the work had failed, so that what was begun is tidied up."""
    raise EndedBySignal(TERMINATED)


def show_warning(message: Warning | str, category: type[Warning], *place: object) -> None:
    """Write a warning of ours on one line; those of libraries are for developers, and not shown."""
    if issubclass(category, LtrWarning):
        warn(str(message))


def run_app() -> int:
    """Return the exit code of the command."""
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


def error_text(error: LtrError) -> str:
    """Return the error as stderr shows it: `error:` before each problem, not before what it lists below, indented."""
    first, *lines = map(visible, error_lines(error))
    return "\n".join([f"error: {first}", *(line if line.startswith("  ") else f"error: {line}" for line in lines)])


def error_lines(error: LtrError) -> list[str]:
    """Return a line for each problem of a config, difference to what was begun, or file; else one, whatever it says."""
    return error.lines() if isinstance(error, ConfigError | ResumeError | UnknownFormatError) else [str(error)]


def exit_code(error: LtrError) -> int:
    """Return the documented code of the nearest class that has one."""
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), 1)


def flushed(code: int) -> int:
    """Return the code, once stdout has taken all of the result; another when it cannot."""
    try:
        sys.stdout.flush()
    except OSError as error:
        from ltr.streams import silence

        silence(sys.stdout)  # what is left would be tried again at exit
        if isinstance(error, BrokenPipeError) or code:
            return code  # the reader has all it wanted; or a message has been given
        note(f"error: {full(error)}")
        return EXIT_CODES[DiskError]
    return code
