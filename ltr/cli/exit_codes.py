"""Exit codes: what went wrong, for scripts."""

from ltr.errors import (
    ConfigError,
    DataError,
    DiskError,
    LtrError,
    ResumeError,
    ThresholdError,
    UnknownFormatError,
    UsageError,
)
from ltr.reporting.escaping import visible

EXIT_CODES = {UsageError: 2, DataError: 3, ThresholdError: 4, ResumeError: 5, DiskError: 74}  # any other LtrError: 1


def exit_code(error: LtrError) -> int:
    """The documented code of the nearest class that has one."""
    return next((EXIT_CODES[kind] for kind in type(error).__mro__ if kind in EXIT_CODES), 1)


def error_text(error: LtrError) -> str:
    """The error as stderr shows it: `error:` before each problem, not before what it lists below, which is indented."""
    first, *lines = map(visible, lines_of(error))
    return "\n".join([f"error: {first}", *(line if line.startswith("  ") else f"error: {line}" for line in lines)])


def lines_of(error: LtrError) -> list[str]:
    """A line for each problem of a config, difference to what was begun, or file; else one, whatever names it holds."""
    return error.lines() if isinstance(error, ConfigError | ResumeError | UnknownFormatError) else [str(error)]
