"""Errors as lines on stderr."""

from ltr.errors import ConfigError, LtrError, ResumeError, UnknownFormatError
from ltr.reporting.escaping import visible


def error_text(error: LtrError) -> str:
    """The error as stderr shows it: `error:` before each problem, not before what it lists below, which is indented."""
    first, *lines = map(visible, lines_of(error))
    return "\n".join([f"error: {first}", *(line if line.startswith("  ") else f"error: {line}" for line in lines)])


def lines_of(error: LtrError) -> list[str]:
    """A line for each problem of a config, difference to what was begun, or file; else one, whatever names it holds."""
    return error.lines() if isinstance(error, ConfigError | ResumeError | UnknownFormatError) else [str(error)]
